"""Exchange with other libraries and devices: DLPack, ``numpy.asarray``, ``to_device``, pickling.

No library reads OpenCL memory through DLPack, but arrays on devices whose memory is host memory are
exported as CPU memory. The capsules are NumPy's, whose deleters work even after the interpreter
ends; bfloat16, which NumPy does not export, is passed as an integer of the same size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray import _dlpack
from portarray._opencl.device import Device
from portarray.clarray.dtypes import bfloat16
from portarray.clarray.engine.copy import copy as copied
from portarray.clarray.engine.transfer import (
    duplicate,
    from_numpy,
    share,
    to_numpy,
    why_not_borrowed,
)
from portarray.clarray.selection import device_of
from portarray.clarray.strided import Array

CPU = _dlpack.CPU
"""DLPack's kDLCPU."""

OPENCL = 4
"""DLPack's kDLOpenCL."""


def dlpack_device(x: Array) -> tuple[int, int]:
    """Return DLPack's device type and index: the CPU where the array is in host memory."""
    return CPU if x.device.host_memory else (OPENCL, x.device.index)


def dlpack(
    x: Array,
    *,
    stream: object = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule of an array."""
    if stream is not None:
        raise BufferError(
            f"stream={stream!r}: a clarray array is exported as host memory, which has no "
            f"streams\nHint: pass None"
        )
    on_host = x.device.host_memory
    requested = dlpack_device(x) if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if requested != CPU:
        raise BufferError(
            f"an array on {x.device} can be exported to the CPU only, not to DLPack device "
            f"{requested}\nHint: pass dl_device=(1, 0)"
        )
    if copy is False and not on_host:
        raise BufferError(f"copy=False, but {x.device} has separate memory\nHint: pass copy=None")
    # With copy=True the capsule copies the view immediately, so it need not be tracked.
    values = to_numpy(x) if copy else share(x)
    return _dlpack.host_capsule(values, max_version=max_version, copy=copy)


def array(x: Array, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return an array's elements for ``numpy.asarray``: a view of host memory."""
    if not x.device.host_memory:
        raise TypeError(
            f"NumPy cannot read the memory of {x.device}\nHint: copy the array to the host: "
            f"numpy.from_dlpack(x, device='cpu')"
        )
    target = x.dtype if dtype is None else np.dtype(dtype)
    if target == x.dtype:
        return duplicate(x) if copy else share(x)
    if copy is False:
        raise ValueError(
            f"copy=False, but converting {x.dtype} to {target} needs a copy\nHint: pass copy=None"
        )
    return to_numpy(x).astype(target)


def from_dlpack(x: Any, /, *, device: object = None, copy: bool | None = None) -> Array:
    """Return an array of the elements of any DLPack producer."""
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError(
            f"from_dlpack needs an object with __dlpack__ and __dlpack_device__, not "
            f"{type(x).__name__}\nHint: use clarray.asarray"
        )
    if isinstance(x, Array):
        return moved(x, x.device if device is None else device_of(device), copy=copy)
    where = device_of(device)
    if isinstance(x, np.ndarray):
        # NumPy's export refuses bfloat16, and read-only arrays for some consumers.
        return from_numpy(x, where, copy=copy)
    return from_numpy(_imported(x, copy), where, copy=copy)


class _Writable:
    """The memory of a read-only array as writable, for NumPy; keeps the array alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        interface = values.__array_interface__
        self.owner = values
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _imported(x: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """Return a producer's elements as a NumPy array, in its memory if that is host memory."""
    kind = int(x.__dlpack_device__()[0])
    shared = kind in _dlpack.HOST_KINDS
    if not shared and copy is False:
        raise ValueError(
            f"copy=False, but the data is on DLPack device type {kind} "
            f"({_dlpack.kind_name(kind)}), which is not host memory\n"
            f"Hint: pass copy=None or copy=True"
        )
    held = _dlpack.take(x, to_host=not shared)
    values = _dlpack.host_values(held)
    if copy is False and not held.versioned and values.size and not values.flags.writeable:
        # NumPy treats unversioned capsules as read-only, although they are not marked so.
        shown = values.view(np.uint16) if values.dtype == bfloat16 else values
        values = np.asarray(_Writable(shown)).view(values.dtype)
    return values


def to_device(x: Array, device: object, /, *, stream: object = None) -> Array:
    """Return an array on another clarray device; itself if it is there.

    Devices that compute in host memory share it: writes on one are visible on the other.
    """
    if stream is not None:
        raise ValueError(f"stream={stream!r}: clarray's devices have no streams\nHint: pass None")
    if device is None:
        raise TypeError("to_device: None is not a device\nHint: pass a device, or its index")
    return moved(x, device_of(device))


def moved(x: Array, device: Device, *, copy: bool | None = None) -> Array:
    """Return an array on a device of this library."""
    if device is x.device:
        return copied(x) if copy else x
    obstacle = "" if copy else why_copied(x, device)
    if copy is False and obstacle:
        raise ValueError(f"copy=False, but {obstacle}\nHint: pass copy=None or copy=True")
    if copy or obstacle:
        return from_numpy(to_numpy(x), device)
    return from_numpy(share(x), device, copy=False)


def why_copied(x: Array, device: Device) -> str:
    """Return why :func:`moved` copies an array; empty if it does not."""
    if device is x.device:
        return ""
    if not x.device.host_memory:
        return f"{x.device} has separate memory"
    return why_not_borrowed(to_numpy(x), device)


def reduce(x: Array) -> tuple[Any, ...]:
    """Return what pickle needs: the values, and the index of the device."""
    return restored, (duplicate(x), x.device.index)


def restored(values: np.ndarray[Any, Any], index: int) -> Array:
    """Return an unpickled array, on the device of that index."""
    return from_numpy(values, device_of(index))
