"""OpenCL C types of NumPy's dtypes.

A dtype has a *storage* type in memory and a *compute* type in kernels: float16 and bfloat16 are
stored in 16 bits and computed as ``float``, so no device needs 16-bit arithmetic; bool is a byte,
0 or 1. ``types.cl`` defines the macros that load and store elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

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
"""Every supported dtype; float64 and complex128 need a device with double precision."""


def cl_type(dtype: DType) -> CLType:
    """Return a dtype's types in OpenCL C."""
    return _TYPES[dtype]
