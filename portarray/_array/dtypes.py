"""The dtypes of portarray.

They are NumPy's on every device; :mod:`portarray._dtypes.promotion` has the promotion rules.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._dtypes.promotion import (
    KIND_ORDER,
    KINDS,
    Kind,
    float_limits,
    kind_of,
    limits,
    promote,
)
from portarray.errors import DTypeNotSupportedError

if TYPE_CHECKING:
    from portarray._devices.device import Device

__all__ = [
    "EXTRA",
    "KINDS",
    "KIND_ORDER",
    "NUMBERS",
    "PYTHON_SCALARS",
    "SCALARS",
    "STANDARD",
    "Kind",
    "bfloat16",
    "canonical",
    "float_limits",
    "kind_of",
    "limits",
    "missing",
    "name_of",
    "nearest",
    "promote",
]

DType = np.dtype[Any]
PYTHON_SCALARS: tuple[type, ...] = (bool, int, float, complex)
"""The scalar types; subclasses count as their base."""

SCALARS: tuple[type, ...] = (*PYTHON_SCALARS, np.generic)
"""Types that are treated as Python scalars, NumPy's scalars included."""

STANDARD: dict[str, DType] = {
    name: np.dtype(name)
    for name in (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float32",
        "float64",
        "complex64",
        "complex128",
    )
}
"""The standard's dtypes by name."""

NUMBERS = frozenset((*PYTHON_SCALARS, *(dtype.type for dtype in STANDARD.values())))
"""The types of Python's and NumPy's numbers that alone decide a dtype."""

EXTRA = ("float16", "bfloat16")
"""Dtypes outside the standard that exist where a device has them."""

# By dtype, by NumPy scalar type (np.float32), by name, which NumPy is slow to parse, and by
# Python's own types.
_SAME: dict[object, DType] = {
    key: dtype for name, dtype in STANDARD.items() for key in (dtype, dtype.type, name)
}
_SAME.update((kind, np.dtype(kind)) for kind in PYTHON_SCALARS)
_FLOAT16 = np.dtype("float16")
_NAMES = ", ".join((*STANDARD, *EXTRA))


@cache
def bfloat16() -> DType:
    """Return the bfloat16 dtype; imports ml_dtypes lazily."""
    import ml_dtypes

    dtype: DType = np.dtype(ml_dtypes.bfloat16)
    return dtype


@cache
def name_of(dtype: DType) -> str:
    """Return a dtype's name; cached, since NumPy builds it on each access."""
    return dtype.name


def canonical(dtype: object) -> DType:
    """Return the canonical dtype object for a dtype-like.

    Accepts NumPy dtypes and scalar types, Python's ``bool``, ``int``, ``float``, ``complex`` and
    names. Raises TypeError for anything else, strings and objects included.
    """
    if isinstance(dtype, (np.dtype, type, str)) and dtype in _SAME:
        return _SAME[dtype]
    if isinstance(dtype, str) and dtype == "bfloat16":
        return bfloat16()
    resolved = None
    # NumPy takes None for float64, and anything with a dtype for that.
    if dtype is not None and (isinstance(dtype, type) or not hasattr(dtype, "dtype")):
        # NumPy raises any of these for objects that it cannot interpret.
        with suppress(TypeError, ValueError, SyntaxError):
            resolved = np.dtype(dtype)  # type: ignore[call-overload]
    if resolved is not None:
        resolved = resolved.newbyteorder("=")
        if resolved.name in STANDARD:
            return STANDARD[resolved.name]
        if resolved.name in EXTRA:
            return _FLOAT16 if resolved.name == "float16" else bfloat16()
    raise TypeError(
        f"unsupported dtype {dtype!r}; supported: {_NAMES}\nHint: for example dtype=pa.float32"
    )


def nearest(dtype: DType, available: set[DType]) -> DType | None:
    """Return the dtype of the same kind closest to one that a device lacks.

    The narrowest that holds all its values, as float32 does bfloat16's, else the widest.
    """
    kind = kind_of(dtype)
    same = sorted((d for d in available if kind_of(d) == kind), key=lambda d: d.itemsize)
    holding = [d for d in same if np.can_cast(dtype, d)]
    return holding[0] if holding else same[-1] if same else None


def missing(
    dtype: DType, device: Device, available: set[DType], *, moving: bool = False
) -> Exception:
    """Return the error for a dtype that a device lacks."""
    near = nearest(dtype, available)
    return DTypeNotSupportedError(
        str(dtype),
        str(device),
        "" if near is None else str(near),
        moving=moving,
        setting=device._backend.setting_for(dtype),
    )
