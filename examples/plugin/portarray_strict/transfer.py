"""Host and DLPack, in and out of array-api-strict, whose arrays are NumPy's inside."""

from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np

__all__ = [
    "dlpack_device",
    "from_dlpack",
    "from_host",
    "move",
    "on_host",
    "to_dlpack",
    "to_host",
    "why_copied_in",
]


def on_host(device: strict.Device) -> bool:
    """Return True: all devices are names for the CPU."""
    return True


def from_host(
    array: np.ndarray[Any, Any],
    device: strict.Device,
    *,
    copy: bool | None,
    non_blocking: bool = False,
) -> Any:
    """Make an array over a NumPy array's memory, or over a copy.

    Raises
    ------
    ValueError
        If ``copy=False`` and the array is read-only.
    """
    obstacle = why_copied_in(array, device)
    if obstacle and copy is False:
        raise ValueError(f"copy=False, but {obstacle}; pass copy=None")
    return strict.asarray(array, device=device, copy=True if obstacle else copy)


def why_copied_in(array: np.ndarray[Any, Any], device: strict.Device) -> str:
    """Return why the library cannot use a NumPy array's memory; empty where it can."""
    return "" if array.flags.writeable else "the array is read-only, and array-api-strict writes"


def to_host(x: Any, *, copy: bool | None) -> np.ndarray[Any, Any]:
    """Return a NumPy array over an array's memory, or over a copy.

    The library lets NumPy read the arrays of its first device only; DLPack works on all.
    """
    return np.from_dlpack(x, copy=copy)


def move(x: Any, device: strict.Device, *, copy: bool | None, non_blocking: bool = False) -> Any:
    """Return an array on another device; the library copies, although all have one memory.

    Raises
    ------
    ValueError
        If ``copy=False`` and the device is another one.
    """
    if x.device == device:
        return strict.asarray(x, copy=True) if copy else x
    if copy is False:
        raise ValueError(
            f"copy=False, but moving from {x.device!r} to {device!r} copies; pass copy=None"
        )
    return x.to_device(device)


def from_dlpack(x: Any, device: strict.Device, *, copy: bool | None) -> Any:
    """Make an array over a DLPack producer's memory, or over a copy."""
    return from_host(np.from_dlpack(x), device, copy=copy)


def to_dlpack(
    x: Any,
    *,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a DLPack capsule."""
    return x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(x: Any) -> tuple[int, int]:
    """Return DLPack's device type and index."""
    kind, index = x.__dlpack_device__()
    return int(kind), index
