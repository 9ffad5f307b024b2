"""Reading and writing parts of dpnp's arrays.

dpnp takes arrays in a key only side by side and of integers that promote to a signed dtype; an
integer among them is a plain index to it, where NumPy counts it as an array. Such keys are split
in two: a basic part, which gives a view, and the arrays, whose axes are brought to its front.
It takes numbers out of bounds for the nearest element; elsewhere they are an IndexError, so index
arrays are looked at first, which waits for them.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray

from portarray._dtypes.promotion import Scalar
from portarray.backends.composed.indexing import check_within, integer_arrays
from portarray.backends.dpnp import transfer
from portarray.backends.dpnp.devices import wait_for_work
from portarray.backends.types import Rows

Key = tuple[Any, ...]

_ALL = slice(None)
_INT64 = np.dtype(np.int64)

# For keys without arrays; dpnp raises for those that it does not take.
PLAIN: Rows = {"getitem": {"biufc": operator.getitem}}


def getitem(x: ndarray, key: Key, /) -> ndarray:
    """Return part of an array: a view where key holds no array.

    Raises
    ------
    IndexError
        If an index array holds a number out of bounds.
    """
    _check_bounds(x.shape, key)
    if _is_plain(key):
        return x[key]
    parts = _split(x, key)
    found = parts.view[parts.arrays]
    return _moved(found, range(parts.count), parts.place)


def setitem(x: ndarray, key: Key, value: Any, /) -> ndarray:
    """Write into part of an array, and return that array; errors as of :func:`getitem`."""
    _check_bounds(x.shape, key)
    if isinstance(value, ndarray):
        value = _without_leading_ones(dpnp.astype(value, x.dtype, copy=False))
    if any(isinstance(part, ndarray) for part in key):
        key = tuple(_apart(part, x) for part in key)
        value = _apart(value, x)
    if _is_plain(key):
        x[key] = value
        return settle(x)
    parts = _split(x, key)
    if isinstance(value, ndarray) and value.ndim:
        value = dpnp.broadcast_to(value, parts.shape)
        value = _moved(value, range(parts.place, parts.place + parts.count), 0)
    parts.view[parts.arrays] = value
    return settle(x)


def _apart(part: Any, x: ndarray) -> Any:
    """Return a part of a key, or a value, that has no memory of x: through arrays dpnp refuses it.

    Without arrays in the key dpnp copies by itself.
    """
    if not isinstance(part, ndarray):
        return part
    first, last = dpnp.byte_bounds(part)
    begin, end = dpnp.byte_bounds(x)
    return dpnp.copy(part) if first < end and begin < last else part


def _check_bounds(shape: tuple[int, ...], key: Key) -> None:
    for axis, indices in integer_arrays(key, len(shape), np.bool_):
        _check_within(indices, shape[axis], axis)


def _check_within(indices: ndarray, size: int, axis: int) -> None:
    # Read on the spot where the memory is the host's.
    copy = False if transfer.Transfer.on_host(indices.device) else None
    check_within(transfer.to_host(indices, copy=copy), size, axis)


def _without_leading_ones(value: ndarray) -> ndarray:
    """Return a value as broadcasting sees it; dpnp refuses more axes than the key selects."""
    shape = value.shape
    count = next((n for n, size in enumerate(shape) if size != 1), len(shape))
    return dpnp.reshape(value, shape[count:]) if count else value


def settle(x: ndarray) -> ndarray:
    """Return an array that was written into; where NumPy may be reading it, when that is done."""
    queue = x.sycl_queue
    if queue.sycl_device.is_cpu:
        wait_for_work(queue)
    return x


def _is_plain(key: Key) -> bool:
    """Tell whether dpnp takes a key as it is: at most one array, and no integer beside it."""
    arrays = [part for part in key if isinstance(part, ndarray)]
    if not arrays:
        return True
    return (
        len(arrays) == 1 and arrays[0].ndim > 0 and not any(isinstance(part, int) for part in key)
    )


@dataclass(slots=True)
class _Parts:
    """A key in two steps: ``view[arrays]``, whose `count` axes of the arrays belong at `place`."""

    view: ndarray
    arrays: tuple[ndarray, ...]
    count: int
    place: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what the key selects."""
        rest = self.view.shape[len(self.arrays) :]
        return (*rest[: self.place], *self.arrays[0].shape, *rest[self.place :])


def _split(x: ndarray, key: Key) -> _Parts:
    basic: list[Any] = []
    arrays: list[Any] = []
    axes: list[int] = []  # of the basic part, one for each array
    places: list[int] = []  # of the arrays in the key
    for place, part in enumerate(_without_ellipsis(key, x.ndim)):
        if part is None or isinstance(part, slice):
            basic.append(part)
            continue
        places.append(place)
        for one in _as_integers(part):
            axes.append(len(basic))
            arrays.append(one)
            basic.append(None if isinstance(part, ndarray) and _is_flag(part) else _ALL)
    # As in NumPy, arrays with something between them put their axes first.
    together = places[-1] - places[0] == len(places) - 1 and not _ellipsis_between(key)
    view = _moved(x[tuple(basic)], axes, 0)
    like = next(one for one in arrays if isinstance(one, ndarray))
    given = [one if isinstance(one, ndarray) else dpnp.full_like(like, one) for one in arrays]
    spread = dpnp.broadcast_arrays(*given) if len(given) > 1 else given
    return _Parts(view, tuple(spread), spread[0].ndim, axes[0] if together else 0)


def _as_integers(part: Any) -> list[Any]:
    """Return the indices that one entry of a key stands for, for each of its axes."""
    if not isinstance(part, ndarray):
        return [part]
    if part.dtype.kind != "b":
        return [dpnp.astype(part, _INT64, copy=False)]
    return list(dpnp.nonzero(dpnp.reshape(part, (1,)) if _is_flag(part) else part))


def _is_flag(part: ndarray) -> bool:
    """Tell whether an index is a single truth value, which makes an axis of its own."""
    return bool(part.ndim == 0 and part.dtype.kind == "b")


def _without_ellipsis(key: Key, ndim: int) -> Key:
    places = [place for place, part in enumerate(key) if part is Ellipsis]
    taken = sum(_taken(part) for part in key)
    if not places:
        return (*key, *[_ALL] * (ndim - taken))
    return (*key[: places[0]], *[_ALL] * (ndim - taken), *key[places[0] + 1 :])


def _taken(part: Any) -> int:
    """Return how many axes an entry of a key takes."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, ndarray) and part.dtype.kind == "b" else 1


def _ellipsis_between(key: Key) -> bool:
    """Tell whether an ellipsis parts the arrays, which it does even where it stands for no axis."""
    places = [n for n, part in enumerate(key) if isinstance(part, (int, ndarray))]
    return any(key[place] is Ellipsis for place in range(places[0], places[-1]))


def _moved(x: ndarray, source: Any, destination: int) -> ndarray:
    source = tuple(source)
    target = tuple(range(destination, destination + len(source)))
    return x if source == target else dpnp.moveaxis(x, source, target)


def item(x: ndarray, /) -> Scalar:
    """Return the only element as Python scalar."""
    # dpnp's own copies the whole memory that x is a view of:
    # https://github.com/IntelPython/dpctl/blob/0.20.2/dpctl/tensor/_copy_utils.py
    value: Scalar = transfer.to_host(x, copy=None).item()
    return value


def take(x: ndarray, indices: ndarray, /, *, axis: int | None = None) -> ndarray:
    """Return elements at indices along an axis, for one or more axes of indices."""
    if axis is None and x.ndim != 1:
        raise ValueError(f"take needs an axis for an array of {x.ndim} axes")
    axis = 0 if axis is None else axis
    _check_within(indices, x.shape[axis], axis)
    return dpnp.take(x, indices, axis=axis)


def take_along_axis(x: ndarray, indices: ndarray, /, *, axis: int = -1) -> ndarray:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    _check_within(indices, x.shape[axis], axis)
    return dpnp.take_along_axis(x, indices, axis=axis)
