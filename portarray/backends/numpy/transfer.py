"""Host and DLPack, in and out of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "dlpack_device",
    "from_dlpack",
    "from_host",
    "move",
    "on_host",
    "to_dlpack",
    "to_host",
]

Array = np.ndarray[Any, Any]


def on_host(device: str) -> bool:
    """Return True: NumPy's memory is host memory."""
    return True


def from_host(array: Array, device: str, *, copy: bool | None, non_blocking: bool = False) -> Array:
    """Return the array, or a copy where one is asked for.

    Memory that is not to be written, such as another library's that never changes, is shared like
    any other: an assignment to the array copies it first (``setitem``).
    """
    return array.copy() if copy else array


def to_host(x: Array, *, copy: bool | None) -> Array:
    """Return the array, or a copy where one is asked for."""
    return x.copy() if copy else x


def move(x: Array, device: str, *, copy: bool | None, non_blocking: bool = False) -> Array:
    """Return the array, or a copy where one is asked for: there is one device."""
    return x.copy() if copy else x


def from_dlpack(x: Any, device: str, *, copy: bool | None) -> Array:
    """Return an array over a DLPack producer's memory."""
    return np.from_dlpack(x, copy=copy)


def to_dlpack(
    x: Array,
    *,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a DLPack capsule."""
    return x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(x: Array) -> tuple[int, int]:
    """Return DLPack's device type and index."""
    return x.__dlpack_device__()
