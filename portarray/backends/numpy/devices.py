"""NumPy's one device: the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from portarray.backends.base import Backend
from portarray.backends.common import machine
from portarray.backends.types import Description, MemoryFigures

__all__ = ["Devices"]

_DTYPES = {
    np.dtype(name): np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}

_TOO_BIG = ("array is too big", "Maximum allowed dimension exceeded")


class Devices(Backend):
    """Devices of NumPy: dtypes, memory and errors."""

    array_type = np.ndarray

    def version(self) -> str:
        return np.__version__

    def count(self, platform: str) -> int:
        return int(platform == "cpu")

    def reason_unsupported(self, platform: str) -> str:
        return f"NumPy computes on the CPU only, not on {platform}"

    def native_device(self, platform: str, index: int) -> str:
        return "cpu"

    def describe(self, platform: str, index: int) -> Description:
        return machine.processor()

    def dtypes(self, platform: str, index: int) -> Mapping[np.dtype[Any], np.dtype[Any]]:
        return _DTYPES

    def device_of_native(self, device: object) -> tuple[str, int] | None:
        """Return None: NumPy's devices are strings, which are parsed like other device strings."""
        return None

    def device_of_array(self, x: np.ndarray[Any, Any]) -> tuple[str, int]:
        return ("cpu", 0)

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether NumPy could not allocate, or the size overflowed."""
        return isinstance(error, MemoryError) or (
            isinstance(error, ValueError) and str(error).startswith(_TOO_BIG)
        )

    def memory(self, device: str) -> MemoryFigures:
        return machine.memory()
