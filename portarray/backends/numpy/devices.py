"""NumPy's one device: the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from portarray.backends import machine
from portarray.backends.protocol import Description, MemoryFigures

__all__ = [
    "ARRAY_TYPE",
    "count",
    "describe",
    "dtypes",
    "is_out_of_memory",
    "locate",
    "memory",
    "native_device",
    "recognize",
    "version",
    "why_not",
]

ARRAY_TYPE = np.ndarray

_DTYPES = {
    np.dtype(name): np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}


_TOO_BIG = ("array is too big", "Maximum allowed dimension exceeded")


def version() -> str:
    """Return NumPy's version."""
    return np.__version__


def count(platform: str) -> int:
    """Return 1 for the CPU."""
    return int(platform == "cpu")


def why_not(platform: str) -> str:
    """Say that NumPy drives CPUs only."""
    return f"NumPy computes on the CPU only, not on {platform}"


def native_device(platform: str, index: int) -> str:
    """Return NumPy's own word for its device."""
    return "cpu"


def describe(platform: str, index: int) -> Description:
    """Return the processor's name."""
    return machine.processor()


def dtypes(platform: str, index: int) -> Mapping[np.dtype[Any], np.dtype[Any]]:
    """Return NumPy's dtypes; bfloat16 is none of them."""
    return _DTYPES


def recognize(device: object) -> tuple[str, int] | None:
    """Return None: NumPy's devices are strings, and those are device texts."""
    return None


def locate(x: np.ndarray[Any, Any]) -> tuple[str, int]:
    """Return the CPU."""
    return ("cpu", 0)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether NumPy could not allocate, or not even count the bytes."""
    return isinstance(error, MemoryError) or (
        isinstance(error, ValueError) and str(error).startswith(_TOO_BIG)
    )


def memory(device: str) -> MemoryFigures:
    """Return the machine's memory; NumPy does not count its own."""
    return machine.memory()
