"""Reading and writing parts of dpnp's arrays.

dpnp supports several index arrays only if they are adjacent and their integers promote to a signed
dtype; it does not treat an integer between them as an array, as NumPy does. Such keys are split in
two: a basic part, which gives a view, and the arrays, whose axes are moved to the front.
dpnp reads the nearest element for indices out of bounds. Here they raise IndexError: index arrays
are checked first, which waits for them.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray

from portarray._dtypes.promotion import Scalar
from portarray.backends.common.keys import (
    ALL,
    check_bounds,
    expand_ellipsis,
    split_key,
    without_leading_ones,
)
from portarray.backends.composed.indexing import check_within, take_axis
from portarray.backends.dpnp import transfer
from portarray.backends.dpnp.devices import wait_for_work
from portarray.backends.types import Rows

Key = tuple[Any, ...]

_INT64 = np.dtype(np.int64)

# For keys without arrays; dpnp raises for unsupported ones.
DIRECT: Rows = {"getitem": {"biufc": operator.getitem}}


def getitem(x: ndarray, key: Key, /) -> ndarray:
    """Return part of an array: a view where key holds no array."""
    check_bounds(x.shape, key, np.bool_, _check_within)
    if _is_plain(key):
        return x[key]
    parts = _split(x, key)
    return _moved(parts.view[parts.arrays], range(parts.count), parts.axis)


def setitem(x: ndarray, key: Key, value: Any, /) -> ndarray:
    """Write into part of an array, and return that array; errors as of :func:`getitem`."""
    check_bounds(x.shape, key, np.bool_, _check_within)
    if isinstance(value, ndarray):
        value = dpnp.astype(value, x.dtype, copy=False)
        value = dpnp.reshape(value, without_leading_ones(value.shape))
    if any(isinstance(part, ndarray) for part in key):
        key = tuple(_apart(part, x) for part in key)
        value = _apart(value, x)
    if _is_plain(key):
        x[key] = value
        return settle(x)
    parts = _split(x, key)
    if isinstance(value, ndarray) and value.ndim:
        value = dpnp.broadcast_to(value, parts.shape)
        value = _moved(value, range(parts.axis, parts.axis + parts.count), 0)
    parts.view[parts.arrays] = value
    return settle(x)


def _apart(part: Any, x: ndarray) -> Any:
    """Return an index or a value, copied if it overlaps x, which dpnp refuses with index arrays."""
    if not isinstance(part, ndarray):
        return part
    part_start, part_end = dpnp.byte_bounds(part)
    start, end = dpnp.byte_bounds(x)
    return dpnp.copy(part) if part_start < end and start < part_end else part


def _check_within(indices: ndarray, size: int, axis: int) -> None:
    # Read without a copy where the device uses host memory.
    copy = False if transfer.Transfer.on_host(indices.device) else None
    check_within(transfer.to_host(indices, copy=copy), size, axis)


def settle(x: ndarray) -> ndarray:
    """Return an array that was written; on CPUs, where NumPy may read it, wait for the write."""
    queue = x.sycl_queue
    if queue.sycl_device.is_cpu:
        wait_for_work(queue)
    return x


def _is_plain(key: Key) -> bool:
    """Return whether dpnp accepts a key: at most one array, and no integer next to it."""
    arrays = [part for part in key if isinstance(part, ndarray)]
    if not arrays:
        return True
    return (
        len(arrays) == 1 and arrays[0].ndim > 0 and not any(isinstance(part, int) for part in key)
    )


@dataclass(slots=True)
class _Parts:
    """A key in two steps: ``view[arrays]``, whose first `count` axes are to be moved to `axis`."""

    view: ndarray
    arrays: tuple[ndarray, ...]
    count: int
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what the key selects."""
        sliced = self.view.shape[len(self.arrays) :]
        return (*sliced[: self.axis], *self.arrays[0].shape, *sliced[self.axis :])


def _split(x: ndarray, key: Key) -> _Parts:
    key = expand_ellipsis(key, x.ndim, ndarray, np.bool_)
    named = tuple(index for index in key if index is not Ellipsis)
    basic, advanced = split_key(named, ndarray, np.bool_)
    indices: list[Any] = []
    axes: list[int] = []  # of the view, one for each index
    positions = [n for n, index in enumerate(advanced) if index is not ALL]
    axis = 0
    for index in advanced:
        parts = [] if index is ALL else _as_integers(index)
        indices += parts
        axes += range(axis, axis + len(parts))
        axis += len(parts) or 1
    # As in NumPy, arrays that something separates put their axes first.
    adjacent = len(named) == len(key) and positions[-1] - positions[0] == len(positions) - 1
    like = next(index for index in indices if isinstance(index, ndarray))
    arrays = [i if isinstance(i, ndarray) else dpnp.full_like(like, i) for i in indices]
    broadcast = dpnp.broadcast_arrays(*arrays) if len(arrays) > 1 else arrays
    view = _moved(x[tuple(basic)], axes, 0)
    return _Parts(view, tuple(broadcast), broadcast[0].ndim, axes[0] if adjacent else 0)


def _as_integers(index: Any) -> list[Any]:
    """Return the integers or integer arrays that an index stands for, one for each axis."""
    if not isinstance(index, ndarray):
        return [index]
    if index.dtype != np.bool_:
        return [dpnp.astype(index, _INT64, copy=False)]
    return list(dpnp.nonzero(index if index.ndim else dpnp.reshape(index, (1,))))


def _moved(x: ndarray, source: Any, destination: int) -> ndarray:
    source = tuple(source)
    target = tuple(range(destination, destination + len(source)))
    return x if source == target else dpnp.moveaxis(x, source, target)


def item(x: ndarray, /) -> Scalar:
    """Return the only element as Python scalar."""
    # dpnp's own function copies all memory that x is a view of:
    # https://github.com/IntelPython/dpctl/blob/0.20.2/dpctl/tensor/_copy_utils.py
    value: Scalar = transfer.to_host(x, copy=None).item()
    return value


def take(x: ndarray, indices: ndarray, /, *, axis: int | None = None) -> ndarray:
    """Return elements at indices along an axis, for one or more axes of indices."""
    axis = take_axis(x, axis)
    _check_within(indices, x.shape[axis], axis)
    return dpnp.take(x, indices, axis=axis)


def take_along_axis(x: ndarray, indices: ndarray, /, *, axis: int = -1) -> ndarray:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    _check_within(indices, x.shape[axis], axis)
    return dpnp.take_along_axis(x, indices, axis=axis)
