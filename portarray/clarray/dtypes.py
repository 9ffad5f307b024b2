"""Dtypes: NumPy's dtype objects and their promotion."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.c_types import ALL as ALL
from portarray._opencl.c_types import bfloat16 as bfloat16
from portarray._opencl.c_types import cl_type as cl_type
from portarray.clarray.errors import DTypeNotSupportedError

DType = np.dtype[Any]

_KINDS: dict[DType, str] = {
    dtype: {
        "b": "bool",
        "i": "signed",
        "u": "unsigned",
        "f": "real",
        "V": "real",  # bfloat16, which NumPy calls void
        "c": "complex",
    }[dtype.kind]
    for dtype in ALL
}
RANK = {"bool": 0, "signed": 1, "unsigned": 1, "real": 2, "complex": 3}
"""The order of kinds in promotion."""


def kind_of(dtype: DType) -> str:
    """Return ``"bool"``, ``"signed"``, ``"unsigned"``, ``"real"`` or ``"complex"``."""
    return _KINDS[dtype]


def computed_dtype(dtype: DType) -> DType:
    """Return the dtype that kernels compute in: float32 for float16 and bfloat16."""
    halves = dtype.itemsize == 2 and _KINDS[dtype] == "real"
    return np.dtype(np.float32) if halves else dtype


def real_dtype_of(dtype: DType) -> DType:
    """Return the dtype of a complex dtype's parts; any other dtype as it is."""
    if dtype.kind != "c":
        return dtype
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


@cache
def dtype_of(dtype: Any) -> DType:
    """Return the dtype object of a dtype, a NumPy scalar type or a name."""
    if dtype is None:  # NumPy's name for float64
        raise DTypeNotSupportedError(
            "dtype must be a dtype, a NumPy scalar type or a name, got None"
        )
    try:
        native: DType = np.dtype(dtype).newbyteorder("=")
    except TypeError as error:
        raise DTypeNotSupportedError(f"{dtype!r} is not a dtype") from error
    if native not in ALL:
        raise DTypeNotSupportedError(
            f"unsupported dtype {native}; supported: {', '.join(map(str, ALL))}"
        )
    return native


@cache
def promote(first: DType, second: DType) -> DType:
    """Return the promoted dtype of two operands.

    Within a kind as in the standard. Between kinds (bool < integer < real < complex) the dtype of
    the higher kind, but complex128 for complex64 with float64.
    """
    if first == second:
        return first
    kinds = _KINDS[first], _KINDS[second]
    if RANK[kinds[0]] != RANK[kinds[1]]:
        low, high = (first, second) if RANK[kinds[0]] < RANK[kinds[1]] else (second, first)
        if high.kind == "c" and low == np.dtype(np.float64):
            return np.dtype(np.complex128)
        return high
    if set(kinds) == {"signed", "unsigned"}:
        signed, unsigned = (first, second) if kinds[0] == "signed" else (second, first)
        if unsigned.itemsize == 8:
            raise TypeError(
                f"no dtype holds all values of {first} and {second}\nHint: convert one with astype"
            )
        return np.dtype(f"i{max(signed.itemsize, 2 * unsigned.itemsize)}")
    if {first, second} == {bfloat16, np.dtype(np.float16)}:
        return np.dtype(np.float32)
    return first if first.itemsize > second.itemsize else second
