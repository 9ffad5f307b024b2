"""Dask arrays whose blocks are made on devices."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate, product
from typing import TYPE_CHECKING, Any, NamedTuple

import dask.array as da
import numpy as np
from dask._task_spec import Task  # private; keys are looked for in plain tuples' arguments
from dask.array.core import normalize_chunks
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

import portarray as pa
from portarray.dask import block_placement, registration, scopes
from portarray.dask.garbage import without_collections

if TYPE_CHECKING:
    from portarray.dask.block_placement import Devices
    from portarray.typing import DTypeLike

__all__ = ["Layout", "arange", "empty", "eye", "from_array", "full", "linspace", "ones", "zeros"]


def from_array(x: Any, chunks: Any = "auto", devices: Devices = None) -> da.Array:
    """Return a Dask array of an array's values.

    Parameters
    ----------
    x : array-like
        Anything that :func:`dask.array.from_array` takes: an array, a file's dataset.
    chunks : int, tuple or str, default: "auto"
        Sizes of blocks, as for :func:`dask.array.from_array`.
    devices : device-like, sequence, callable, "all" or None
        Where the blocks are, as for :func:`to_device`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray.dask as pd
    >>> x = pd.from_array(np.arange(6.0), chunks=3, devices="numpy")
    >>> x.chunks
    ((3, 3),)
    >>> type(x.blocks[0].compute()).__name__, pd.collect(x.sum()).tolist()
    ('Array', 15.0)
    """
    return block_placement.to_device(da.from_array(x, chunks=chunks, asarray=False), devices)


def ones(
    shape: Any, *, dtype: DTypeLike | None = None, chunks: Any = "auto", devices: Devices = None
) -> da.Array:
    """Return a Dask array of ones.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the whole array.
    dtype : dtype-like, optional
        float64 by default, the device's default dtype where it lacks that.
    chunks : int, tuple or str, default: "auto"
        Sizes of blocks.
    devices : device-like, sequence, callable, "all" or None
        Where the blocks are made, as for :func:`to_device`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", count=2) as gpus:
    ...     x = pd.ones((4, 2), chunks=2, devices=gpus)  # made there, in turn
    ...     [block.device for block in pd.placement(x)]
    ['virtual:cuda:0', 'virtual:cuda:1']
    """
    return _filled("ones", pa.ones, (), shape, dtype, chunks, devices)


def zeros(
    shape: Any, *, dtype: DTypeLike | None = None, chunks: Any = "auto", devices: Devices = None
) -> da.Array:
    """Return a Dask array of zeros; parameters as for :func:`ones`.

    Parameters
    ----------
    shape, dtype, chunks, devices
        As for :func:`ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.zeros((2, 3), chunks=2, dtype="int32", devices="numpy")
    >>> x.chunks, pd.collect(x).tolist()
    (((2,), (2, 1)), [[0, 0, 0], [0, 0, 0]])
    """
    return _filled("zeros", pa.zeros, (), shape, dtype, chunks, devices)


def empty(
    shape: Any, *, dtype: DTypeLike | None = None, chunks: Any = "auto", devices: Devices = None
) -> da.Array:
    """Return a Dask array of any values; parameters as for :func:`ones`.

    Parameters
    ----------
    shape, dtype, chunks, devices
        As for :func:`ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.empty((1000, 1000), chunks=500, dtype="float32", devices="numpy")
    >>> x.numblocks, x.nbytes  # nothing is allocated before it is computed
    ((2, 2), 4000000)
    """
    return _filled("empty", pa.empty, (), shape, dtype, chunks, devices)


def full(
    shape: Any,
    fill_value: Any,
    *,
    dtype: DTypeLike | None = None,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of one value.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the whole array.
    fill_value : bool, int, float or complex
        The value.
    dtype : dtype-like, optional
        That of the value by default.
    chunks, devices
        As for :func:`ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.full(4, 7, chunks=2, dtype="int16", devices="numpy")
    >>> pd.collect(x)
    Array([7, 7, 7, 7], dtype=int16, device='numpy:cpu:0')
    """
    dtype = np.asarray(fill_value).dtype if dtype is None else dtype
    return _filled("full", pa.full, (fill_value,), shape, dtype, chunks, devices)


def _filled(
    name: str,
    make: Callable[..., pa.Array],
    values: tuple[Any, ...],
    shape: Any,
    dtype: Any,
    chunks: Any,
    devices: Devices,
) -> da.Array:
    layout = Layout.of(shape, chunks, dtype or np.float64, devices, exact=dtype is not None)
    return layout.build(name, lambda start, size: (make, size, *values), make, values)


class Layout(NamedTuple):
    """Blocks that are to be made: their sizes along each axis, their dtype, and where they belong.

    A block is made by a function of its own arguments, with a dtype and a device.
    """

    sizes: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    devices: dict[tuple[int, ...], str | None]

    @classmethod
    def of(cls, shape: Any, chunks: Any, dtype: Any, devices: Devices, *, exact: bool) -> Layout:
        """Return a layout; a dtype that is not asked for exactly is one that the device has."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        kind = np.dtype(dtype)
        sizes = normalize_chunks(chunks, shape, dtype=kind)
        belongs = block_placement.assign(tuple(map(len, sizes)), devices)
        if not exact:
            names: list[str | None] = [*sorted(scopes.listed(belongs))]
            for text in names or [None]:
                kind = registration.near(kind, text)
        return cls(sizes, kind, belongs)

    @without_collections()
    def build(
        self,
        name: str,
        call: Callable[[tuple[int, ...], tuple[int, ...]], tuple[Any, ...]],
        *token: Any,
    ) -> da.Array:
        """Return the array whose blocks are made by what ``call`` returns for a start and a shape.

        That is a function and its arguments; ``token`` is what the values depend on.
        """
        dtype = str(self.dtype)
        name = f"{name}-{tokenize(token, self.sizes, dtype, str(sorted(self.devices.items())))}"
        starts = product(*(tuple(accumulate(sizes[:-1], initial=0)) for sizes in self.sizes))
        shapes = product(*self.sizes)
        tasks = {}
        for (position, device), start, size in zip(
            self.devices.items(), starts, shapes, strict=True
        ):
            key = (name, *position)
            tasks[key] = Task(key, _block, dtype, device, *call(start, size), _data_producer=True)
        layer = MaterializedLayer(tasks, annotations=scopes.placed(self.devices))
        graph = HighLevelGraph.from_collections(name, layer, dependencies=())
        return block_placement.new_collection(graph, name, self.sizes, self.dtype, self.devices)


def _block(dtype: str, device: str | None, make: Any, *values: Any) -> pa.Array:
    return registration.finished(make(*values, dtype=dtype, device=device))


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: DTypeLike | None = None,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of evenly spaced values.

    Parameters
    ----------
    start, stop, step
        As for :func:`dask.array.arange`.
    dtype : dtype-like, optional
        As for :func:`dask.array.arange`; the device's default dtype where it lacks that.
    chunks, devices
        As for :func:`ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.arange(1, 10, 2, chunks=3, devices="numpy")
    >>> x.chunks, pd.collect(x).tolist()
    (((3, 2),), [1, 3, 5, 7, 9])
    """
    first, last = (0, start) if stop is None else (start, stop)
    count = max(0, math.ceil((last - first) / step))
    kind = np.arange(first, first + step, step).dtype if dtype is None else dtype
    layout = Layout.of(count, chunks, kind, devices, exact=dtype is not None)
    return layout.build(
        "arange",
        lambda offsets, size: (_spaced, first + offsets[0] * step, step, *size),
        first,
        step,
    )


def _spaced(start: Any, step: Any, count: int, *, dtype: Any, device: Any) -> pa.Array:
    """Return values from a start on; ranges of floating-point numbers may have one too many."""
    if np.dtype(dtype).kind in "iu" and isinstance(start, int) and isinstance(step, int):
        return pa.arange(start, start + count * step, step, dtype=dtype, device=device)
    spaced: pa.Array = pa.arange(count, dtype=dtype, device=device) * step + start
    return spaced


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    *,
    dtype: DTypeLike | None = None,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array of `num` evenly spaced values.

    Parameters
    ----------
    start, stop, num
        As for :func:`dask.array.linspace`.
    dtype : dtype-like, optional
        float64 by default, the device's default dtype where it lacks that.
    chunks, devices
        As for :func:`ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.linspace(0, 1, 5, chunks=2, devices="numpy")
    >>> pd.collect(x).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    step = (stop - start) / max(num - 1, 1)
    layout = Layout.of(num, chunks, dtype or np.float64, devices, exact=dtype is not None)

    def call(offsets: tuple[int, ...], size: tuple[int, ...]) -> tuple[Any, ...]:
        first, count = offsets[0], size[0]
        last = first + count - 1
        end = stop if last == num - 1 and num > 1 else start + last * step
        return pa.linspace, start + first * step, end, count

    return layout.build("linspace", call, start, stop)


def eye(
    n: int,
    *,
    dtype: DTypeLike | None = None,
    chunks: Any = "auto",
    devices: Devices = None,
) -> da.Array:
    """Return a Dask array with ones on the diagonal.

    Parameters
    ----------
    n : int
        Rows and columns.
    dtype : dtype-like, optional
        float64 by default, the device's default dtype where it lacks that.
    chunks, devices
        As for :func:`ones`.

    Returns
    -------
    dask.array.Array
        With portarray chunks.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.eye(3, chunks=2, dtype="int32", devices="numpy")
    >>> pd.collect(x).tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    layout = Layout.of((n, n), chunks, dtype or np.float64, devices, exact=dtype is not None)
    return layout.build("eye", lambda offsets, size: (_diagonal, *size, offsets[0] - offsets[1]))


def _diagonal(rows: int, columns: int, k: int, *, dtype: Any, device: Any) -> pa.Array:
    return pa.eye(rows, columns, k=k, dtype=dtype, device=device)
