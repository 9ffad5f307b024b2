"""array-api-strict's devices: names for one CPU, whose arrays it refuses to mix.

It has two more, without float64 and without any 64-bit type. They are left out, for the library's
own functions fail there: what NumPy gives them as indices and sums has 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import array_api_strict as strict
import numpy as np

from portarray.backends import machine
from portarray.backends.types import Description, MemoryFigures

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

# The class is not public, and there is no other way to it.
ARRAY_TYPE: type = type(strict.zeros(0))

_DEVICES = (strict.Device("CPU_DEVICE"), strict.Device("device1"), strict.Device("device2"))

_DTYPES = {
    np.dtype(name): getattr(strict, name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64", "complex64", "complex128"),
    )
}


def version() -> str:
    """Return array-api-strict's version."""
    return str(strict.__version__)


def count(platform: str) -> int:
    """Return how many devices there are: all are the CPU."""
    return len(_DEVICES) if platform == "cpu" else 0


def why_not(platform: str) -> str:
    """Say that array-api-strict drives CPUs only."""
    return f"array-api-strict computes on the CPU only, not on {platform}"


def native_device(platform: str, index: int) -> strict.Device:
    """Return the library's device object."""
    return _DEVICES[index]


def describe(platform: str, index: int) -> Description:
    """Return the processor's name."""
    return machine.processor()


def dtypes(platform: str, index: int) -> Mapping[np.dtype[Any], Any]:
    """Return the standard's dtypes: float16 and bfloat16 are none of them."""
    return _DTYPES


def recognize(device: object) -> tuple[str, int] | None:
    """Return the index of one of the library's devices, None for all else."""
    if isinstance(device, strict.Device) and device in _DEVICES:
        return "cpu", _DEVICES.index(device)
    return None


def locate(x: Any) -> tuple[str, int]:
    """Return the index of the device that holds an array.

    Raises
    ------
    ValueError
        If it is one that portarray does not list.
    """
    if x.device not in _DEVICES:
        raise ValueError(
            f"the array is on {x.device!r}, which portarray does not list; "
            f"move it to {_DEVICES[0]!r} with x.to_device(...) first"
        )
    return "cpu", _DEVICES.index(x.device)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether NumPy, in which the arrays are, could not allocate."""
    return isinstance(error, MemoryError)


def memory(device: strict.Device) -> MemoryFigures:
    """Return the machine's memory."""
    return machine.memory()
