"""``__array_namespace_info__``: inspection of the namespace."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray.arguments import default_dtype
from portarray.clarray.data_type import isdtype
from portarray.clarray.selection import default_device, device_of

DType = np.dtype[Any]

# float16 and bfloat16 are not dtypes of the standard.
_STANDARD: tuple[DType, ...] = tuple(
    np.dtype(name)
    for name in (
        "bool",
        *("int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64"),
        *("float32", "float64"),
        *("complex64", "complex128"),
    )
)


class NamespaceInfo:
    """Inspection of the namespace, as the standard defines it."""

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """Return what the namespace supports."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device that creation functions use without ``device=``."""
        return default_device()

    def default_dtypes(self, *, device: object = None) -> dict[str, DType]:
        """Return the default dtypes of a device: its widest."""
        where = device_of(device)
        return {
            "real floating": default_dtype(where, "real floating"),
            "complex floating": default_dtype(where, "complex floating"),
            "integral": default_dtype(where, "integral"),
            "indexing": default_dtype(where, "integral"),
        }

    def dtypes(
        self, *, device: object = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes that a device has."""
        where = device_of(device)
        return {
            dtype.name: dtype
            for dtype in _STANDARD
            if dtype in where.dtypes and (kind is None or isdtype(dtype, kind))
        }

    def devices(self) -> tuple[Device, ...]:
        """Return every functional device, best first."""
        return devices()


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807  (the standard's name)
    """Return the object that inspects the namespace."""
    return NamespaceInfo()
