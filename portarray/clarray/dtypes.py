"""Dtypes: NumPy's dtype objects, their promotion, and their types in OpenCL C.

A dtype has a *storage* type in memory and a *compute* type in kernels: float16 and bfloat16 are
stored in 16 bits and computed as ``float``, so that no device needs 16-bit arithmetic; bool is a
byte, 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from portarray.clarray.errors import DTypeNotSupportedError

DType = np.dtype[Any]

bfloat16: DType = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True, slots=True)
class CLType:
    """A dtype's types and macros in OpenCL C."""

    storage: str
    compute: str
    load: str
    store: str
    needs_double: bool
    suffix: str


def _plain(name: str, suffix: str, *, double: bool = False) -> CLType:
    return CLType(name, name, "LOAD", "STORE", double, suffix)


_TYPES: dict[DType, CLType] = {
    np.dtype(np.bool_): CLType("uchar", "uchar", "LOAD", "STORE_BOOL", False, "b8"),
    np.dtype(np.int8): _plain("char", "i8"),
    np.dtype(np.int16): _plain("short", "i16"),
    np.dtype(np.int32): _plain("int", "i32"),
    np.dtype(np.int64): _plain("long", "i64"),
    np.dtype(np.uint8): _plain("uchar", "u8"),
    np.dtype(np.uint16): _plain("ushort", "u16"),
    np.dtype(np.uint32): _plain("uint", "u32"),
    np.dtype(np.uint64): _plain("ulong", "u64"),
    np.dtype(np.float16): CLType("ushort", "float", "LOAD_HALF", "STORE_HALF", False, "f16"),
    bfloat16: CLType("ushort", "float", "LOAD_BF16", "STORE_BF16", False, "bf16"),
    np.dtype(np.float32): _plain("float", "f32"),
    np.dtype(np.float64): _plain("double", "f64", double=True),
    np.dtype(np.complex64): _plain("float2", "c64"),
    np.dtype(np.complex128): _plain("double2", "c128", double=True),
}

ALL: tuple[DType, ...] = tuple(_TYPES)
"""Every dtype that some device has."""

_KINDS: dict[DType, str] = {
    dtype: {
        "b": "bool",
        "i": "signed",
        "u": "unsigned",
        "f": "real",
        "V": "real",  # bfloat16, which NumPy calls void
        "c": "complex",
    }[dtype.kind]
    for dtype in _TYPES
}
RANK = {"bool": 0, "signed": 1, "unsigned": 1, "real": 2, "complex": 3}
"""The order of kinds in promotion."""


def cl_type(dtype: DType) -> CLType:
    """Return a dtype's types in OpenCL C."""
    return _TYPES[dtype]


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
        raise DTypeNotSupportedError("None is no dtype")
    try:
        found: DType = np.dtype(dtype).newbyteorder("=")
    except TypeError as error:
        raise DTypeNotSupportedError(f"{dtype!r} is no dtype") from error
    if found not in _TYPES:
        raise DTypeNotSupportedError(
            f"clarray has no dtype {found}; it has {', '.join(str(one) for one in ALL)}"
        )
    return found


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
                f"no dtype holds all values of {first} and {second}; convert one with astype"
            )
        return np.dtype(f"i{max(signed.itemsize, 2 * unsigned.itemsize)}")
    if {first, second} == {bfloat16, np.dtype(np.float16)}:
        return np.dtype(np.float32)
    return first if first.itemsize > second.itemsize else second
