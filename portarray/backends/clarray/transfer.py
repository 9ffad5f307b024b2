"""Arrays in and out: host memory and DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.backends.base import Backend
from portarray.clarray import Array, Device, interop
from portarray.clarray.engine.transfer import (
    duplicate,
    from_numpy,
    share,
    to_numpy,
    why_not_borrowed,
)

__all__ = ["Transfer"]


class Transfer(Backend):
    """clarray's arrays in and out: host memory, other devices, DLPack."""

    def on_host(self, device: Device) -> bool:
        return device.host_memory

    def from_host(
        self,
        array: np.ndarray[Any, Any],
        device: Device,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> Array:
        """Make an array on a device from a NumPy array, in its memory where that can be shared.

        Read-only arrays are copied, because clarray arrays are always writable, and so are arrays
        of foreign byte order or in unaligned memory.

        Raises
        ------
        ValueError
            If ``copy=False`` and memory cannot be shared.
        """
        return from_numpy(array, device, copy=copy)

    def from_owned_host(
        self, array: np.ndarray[Any, Any], device: Device, *, non_blocking: bool = False
    ) -> Array:
        """Make an array in a NumPy array's memory: no function waits for its kernels."""
        return from_numpy(array, device, copy=None, shared=False)

    def why_copied_in(self, array: np.ndarray[Any, Any], device: Device) -> str:
        return why_not_borrowed(array, device)

    def to_host(self, x: Array, *, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return an array as NumPy array.

        Raises
        ------
        ValueError
            If ``copy=False`` and the device has separate memory.
        """
        if x.device.host_memory:
            return duplicate(x) if copy else share(x)
        if copy is False:
            raise ValueError(
                f"copy=False, but {x.device!r} has separate memory, which NumPy cannot read\n"
                f"Hint: pass copy=None or copy=True"
            )
        return to_numpy(x)

    def borrow_host_view(self, x: Array) -> np.ndarray[Any, Any]:
        """Return an array's memory for reading immediately, without marking it as shared."""
        return to_numpy(x)

    def move(
        self, x: Array, device: Device, *, copy: bool | None, non_blocking: bool = False
    ) -> Array:
        """Return an array on another OpenCL device, sharing memory if both compute in host memory.

        Raises
        ------
        ValueError
            If ``copy=False`` and memory cannot be shared.
        """
        return interop.moved(x, device, copy=copy)

    def why_copied(self, x: Array, device: Device) -> str:
        return interop.why_copied(x, device)

    def from_dlpack(self, x: Any, device: Device | None, *, copy: bool | None) -> Array:
        """Make an array on a device from an object with ``__dlpack__``; see clarray's function."""
        return interop.from_dlpack(x, device=device, copy=copy)

    def to_dlpack(
        self,
        x: Array,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule of an array's host memory; see clarray's function."""
        return interop.dlpack(
            x, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def dlpack_device(self, x: Array) -> tuple[int, int]:
        return interop.dlpack_device(x)
