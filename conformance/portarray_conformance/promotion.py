"""The standard's dtypes by kind and its promotion table, written out independently of NumPy."""

from __future__ import annotations

from portarray_conformance.target import STANDARD_DTYPES

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
COMPLEXES = ("complex64", "complex128")
FLOATING = FLOATS + COMPLEXES
REAL = INTEGERS + FLOATS
NUMERIC = REAL + COMPLEXES
BOOL = ("bool",)
BOOL_AND_INTEGERS = BOOL + INTEGERS
ALL = STANDARD_DTYPES

_MIXED_INTEGERS = {
    ("int8", "uint8"): "int16",
    ("int8", "uint16"): "int32",
    ("int8", "uint32"): "int64",
    ("int16", "uint8"): "int16",
    ("int16", "uint16"): "int32",
    ("int16", "uint32"): "int64",
    ("int32", "uint8"): "int32",
    ("int32", "uint16"): "int32",
    ("int32", "uint32"): "int64",
    ("int64", "uint8"): "int64",
    ("int64", "uint16"): "int64",
    ("int64", "uint32"): "int64",
}
_MIXED_FLOATING = {
    ("float32", "complex64"): "complex64",
    ("float32", "complex128"): "complex128",
    ("float64", "complex64"): "complex128",
    ("float64", "complex128"): "complex128",
}
REAL_PART = {"complex64": "float32", "complex128": "float64"}
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


def promote(first: str, second: str) -> str | None:
    """Return the dtype that two dtypes promote to, or None where the standard does not say."""
    if first == second:
        return first
    for family in (SIGNED, UNSIGNED, FLOATS, COMPLEXES):
        if first in family and second in family:
            return family[max(family.index(first), family.index(second))]
    mixed = {**_MIXED_INTEGERS, **_MIXED_FLOATING}
    return mixed.get((first, second)) or mixed.get((second, first))


PAIRS: tuple[tuple[str, str, str], ...] = tuple(
    (first, second, result)
    for first in ALL
    for second in ALL
    if (result := promote(first, second)) is not None
)
"""Every pair of dtypes that the standard promotes, with the result."""


KINDS: dict[str, tuple[str, ...]] = {
    "bool": BOOL,
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGERS,
    "real floating": FLOATS,
    "complex floating": COMPLEXES,
    "numeric": NUMERIC,
}
"""The dtypes of each kind of the standard's ``isdtype``."""
