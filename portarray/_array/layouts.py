"""Values of arrays without their memory, for other processes, and how they lie in one memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from portarray._array import base, dtypes, extents, native_arrays, pickling
from portarray._devices.device import Device
from portarray._movement import array_moves

__all__ = ["Image", "Layout", "Values", "layout_of"]


class Layout(NamedTuple):
    """Where elements lie: the address of the first, strides in bytes; and what they are."""

    start: int
    strides: tuple[int, ...]
    shape: tuple[int, ...]
    itemsize: int
    dtype: str

    def span(self) -> tuple[int, int]:
        """Return the first address and the one behind the last."""
        ends = [step * (length - 1) for step, length in zip(self.strides, self.shape, strict=True)]
        low, high = (sum(end for end in ends if (end < 0) == down) for down in (True, False))
        return self.start + low, self.start + high + self.itemsize


def layout_of(x: Any) -> Layout | None:
    """Return the memory layout of an array; None if its memory cannot change.

    That is so in immutable libraries, for arrays without elements, and where a library does not
    tell addresses.
    """
    x = _as_array(x)
    memory_extent = x._dispatch.device._backend.extent(x._native)
    if memory_extent is None or not x.size:
        return None
    _, start, strides = memory_extent
    if start < 0:
        return None
    shape, itemsize = x.shape, x._dispatch.dtype.itemsize
    if strides is None:
        strides = tuple(itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape)))
    return Layout(start, strides, shape, itemsize, dtypes.name_of(x._dispatch.dtype))


def _as_array(x: Any) -> Any:
    """Return an Array of a native array's values, or the Array itself."""
    if not extents.is_native(x):
        return x
    device = native_arrays.device_of(x)
    assert device is not None  # asked before
    return native_arrays.from_native(x, device, copy=None)


class Values:
    """The values of an array, on a device or on their way, in host memory."""

    __slots__ = ("_array", "_host")

    def __init__(self, array: Any, host: tuple[np.ndarray[Any, Any], str] | None = None) -> None:
        self._array = array
        self._host = host

    @staticmethod
    def of(x: Any) -> Values:
        """Return the values of an array, portarray's or a native one, which shares them."""
        x = _as_array(x)
        extents.evaluate(x)
        return Values(x)

    def on(self, device: Device, *, copy: bool) -> Any:
        """Return an array on a device; it shares values unless ``copy``."""
        if self._host is not None:
            host, dtype = self._host
            return pickling.restored(host.copy() if copy else host, dtype, str(device))
        return array_moves.moved(self._array, device, copy=copy or None)

    def host(self) -> np.ndarray[Any, Any]:
        """Return contiguous values in host memory; what they are of does not matter."""
        host: np.ndarray[Any, Any] = self.__reduce_ex__(5)[1][1][0]
        return np.ascontiguousarray(host).reshape(host.shape)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        host_values = self._host
        if host_values is None:
            host, dtype, _ = pickling.reduce(self._array, protocol)[1]
            host_values = host, dtype
        return Values, (None, host_values)

    def __sizeof__(self) -> int:
        return 64 + int((self._host[0] if self._host else self._array).nbytes)


class Image:
    """A piece of a memory, which arrays that lie in it share.

    Parameters
    ----------
    layouts : sequence of Layout
        What has to be in it.
    """

    def __init__(self, layouts: Sequence[Layout]) -> None:
        spans = [layout.span() for layout in layouts]
        self._start = min(start for start, _ in spans)
        self._bytes = np.empty(max(end for _, end in spans) - self._start, np.uint8)

    def _view(self, layout: Layout) -> np.ndarray[Any, Any]:
        low, high = layout.span()
        first = layout.start - self._start
        assert low >= self._start
        assert high <= self._start + self._bytes.size
        return np.ndarray(
            layout.shape, f"V{layout.itemsize}", self._bytes, first, strides=layout.strides
        )

    def put(self, layout: Layout, values: Values) -> None:
        """Write values where they lie."""
        low, high = layout.span()
        start, end = self._start, self._start + self._bytes.size
        host = values.host().view(f"V{layout.itemsize}").reshape(layout.shape)
        if start <= low and high <= end:
            self._view(layout)[...] = host
            return
        around = Image([layout])  # of which only a part is in this one
        inside = slice(max(start - low, 0), end - low)
        mine = slice(max(low - start, 0), max(low - start, 0) + min(high, end) - max(low, start))
        around._bytes[inside] = self._bytes[mine]
        around._view(layout)[...] = host
        self._bytes[mine] = around._bytes[inside]

    def get(self, layout: Layout, device: Device, *, share: bool) -> Any:
        """Return an array on a device from these bytes."""
        values = self._view(layout).view(dtypes.canonical(layout.dtype))
        if not share:
            values = values.copy()
        return base.NAMESPACE[0].asarray(values, device=device, copy=False if share else None)
