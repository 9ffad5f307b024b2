"""Arrays in and out: host memory and DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray import Array, Device, interop
from portarray.clarray.engine.transfer import (
    duplicate,
    from_numpy,
    share,
    to_numpy,
    why_not_borrowed,
)

__all__ = [
    "dlpack_device",
    "from_dlpack",
    "from_host",
    "keep",
    "lend",
    "move",
    "on_host",
    "to_dlpack",
    "to_host",
    "why_copied",
    "why_copied_in",
    "why_copied_out",
]


def on_host(device: Device) -> bool:
    """Tell whether a device computes in host memory, as CPUs do."""
    return device.host_memory


def from_host(
    array: np.ndarray[Any, Any], device: Device, *, copy: bool | None, non_blocking: bool = False
) -> Array:
    """Make an array on a device from a NumPy array, in its memory where that can be shared.

    A read-only array is copied, for a clarray array has no such mark and would write into it; so
    is one of foreign byte order or in unaligned memory.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory cannot be shared.
    """
    return from_numpy(array, device, copy=copy)


def keep(array: np.ndarray[Any, Any], device: Device, *, non_blocking: bool = False) -> Array:
    """Make an array from a NumPy array that nobody else has: no function waits for its kernels."""
    return from_numpy(array, device, copy=None, shared=False)


def why_copied_in(array: np.ndarray[Any, Any], device: Device) -> str:
    """Return why kernels cannot work in a NumPy array's memory; empty where they can."""
    return why_not_borrowed(array, device)


def why_copied_out(x: Array) -> str:
    """Return why NumPy cannot use an array's memory; empty where it can."""
    return "" if x.device.host_memory else f"{x.device} has memory of its own"


def to_host(x: Array, *, copy: bool | None) -> np.ndarray[Any, Any]:
    """Return an array as NumPy array.

    Raises
    ------
    ValueError
        If ``copy=False`` and the device has memory of its own.
    """
    if x.device.host_memory:
        return duplicate(x) if copy else share(x)
    if copy is False:
        raise ValueError(
            f"copy=False, but {x.device!r} has memory of its own, which NumPy cannot read; "
            f"pass copy=None or copy=True"
        )
    return to_numpy(x)


def lend(x: Array) -> np.ndarray[Any, Any]:
    """Return an array's memory to read on the spot, without the mark that it is shared."""
    return to_numpy(x)


def move(x: Array, device: Device, *, copy: bool | None, non_blocking: bool = False) -> Array:
    """Return an array on another OpenCL device, in its memory where both compute in the host's.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory cannot be shared.
    """
    return interop.moved(x, device, copy=copy)


def why_copied(x: Array, device: Device) -> str:
    """Return why an array is copied to another OpenCL device; empty where memory is shared."""
    return interop.why_copied(x, device)


def from_dlpack(x: Any, device: Device | None, *, copy: bool | None) -> Array:
    """Make an array on a device from an object with ``__dlpack__``; see clarray's function."""
    return interop.from_dlpack(x, device=device, copy=copy)


def to_dlpack(
    x: Array,
    *,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a DLPack capsule of an array's host memory; see clarray's function."""
    return interop.dlpack(x, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(x: Array) -> tuple[int, int]:
    """Return DLPack's device type and index of an array."""
    return interop.dlpack_device(x)
