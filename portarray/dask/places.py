"""Which block of an array is on which device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from dask._task_spec import Task, TaskRef
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

import portarray as pa
from portarray.dask import faults, registration, scopes

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

    Devices = DeviceLike | Sequence[DeviceLike] | Callable[[tuple[int, ...]], DeviceLike] | None

__all__ = [
    "Block",
    "Placement",
    "assign",
    "collect",
    "persist",
    "placement",
    "to_device",
    "to_numpy",
    "wanted",
]


def assign(numblocks: tuple[int, ...], devices: Devices) -> dict[tuple[int, ...], str | None]:
    """Return the text of the device of each block; None is the default device of the worker."""
    places = list(product(*map(range, numblocks)))
    if devices is None:
        return dict.fromkeys(places)
    if isinstance(devices, str) and devices == "all":
        texts = [str(one) for one in pa.devices()]
    elif callable(devices):
        return {place: str(pa.device(devices(place))) for place in places}
    elif isinstance(devices, (list, tuple)):
        if not devices:
            raise ValueError("devices=[] does not name a device; pass one at least, or None")
        texts = [str(pa.device(each)) for each in devices]
    else:
        one: Any = devices
        texts = [str(pa.device(one))]
    return {place: texts[i % len(texts)] for i, place in enumerate(places)}


def moved(block: Any, device: str | None) -> pa.Array:
    """Return a block on a device; NumPy's become portarray's. Runs on a worker."""
    if isinstance(block, pa.Array):
        inside = scopes.allowed()
        if device is None and inside and str(block.device) not in inside:
            device = inside[0]
        result = block if device is None else block.to_device(device)
        if device is not None:
            faults.STRAYED.pop(id(result), None)  # where it is wanted now
    else:
        result = pa.asarray(block, device=device)
    return registration.finished(result)


faults.MOVES.add(moved)


def to_device(x: Any, devices: Devices) -> da.Array:
    """Return a Dask array whose blocks are on devices.

    Parameters
    ----------
    x : dask.array.Array
        Of any chunks; NumPy's become portarray's.
    devices : device-like, sequence, callable, "all" or None
        One device; several, which the blocks take in turn, ``"all"`` being all that function here;
        or a function of a block's place, such as (0, 1). None leaves portarray chunks where they
        are and puts others on the default device of the worker.

    Returns
    -------
    dask.array.Array
        Of the same shape, chunks and dtype.

    Examples
    --------
    >>> import dask.array as da
    >>> import portarray.dask as pd
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", count=2) as gpus:
    ...     x = pd.to_device(da.arange(4, chunks=1), gpus)  # in turn
    ...     print([block.device for block in pd.placement(x)])
    ...     y = pd.to_device(x, lambda place: gpus[place[0] // 2])  # halves
    ...     print([block.device for block in pd.placement(y)])
    ['virtual:cuda:0', 'virtual:cuda:1', 'virtual:cuda:0', 'virtual:cuda:1']
    ['virtual:cuda:0', 'virtual:cuda:0', 'virtual:cuda:1', 'virtual:cuda:1']
    """
    belongs = assign(x.numblocks, devices)
    name = f"to_device-{tokenize(x, sorted(belongs.items()))}"
    tasks = {
        (name, *place): Task((name, *place), moved, TaskRef((x.name, *place)), device)
        for place, device in belongs.items()
    }
    layer = MaterializedLayer(tasks, annotations=scopes.placed(belongs))
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[x])
    return placed(graph, name, x.chunks, x.dtype, belongs)


def placed(
    graph: HighLevelGraph,
    name: str,
    chunks: Any,
    dtype: Any,
    belongs: dict[tuple[int, ...], str | None],
) -> da.Array:
    """Make a collection of portarray chunks whose devices are known."""
    first = next(iter(belongs.values()), None)
    meta = pa.empty((0,) * len(chunks), dtype=dtype, device=first)
    result = da.Array(graph, name, chunks, meta=meta)
    wanted(result, belongs)
    return result


def wanted(
    x: Any, belongs: dict[tuple[int, ...], str | None] | None = None
) -> dict[tuple[int, ...], str | None]:
    """Return, or note, where the blocks of a collection belong; empty where nobody said."""
    if belongs is not None:
        x.__dict__["_portarray_devices"] = belongs
    found: dict[tuple[int, ...], str | None] = x.__dict__.get("_portarray_devices", {})
    return found


def to_numpy(x: Any) -> da.Array:
    """Return a Dask array with NumPy chunks.

    Parameters
    ----------
    x : dask.array.Array
        Of portarray chunks.

    Returns
    -------
    dask.array.Array
        Of the same shape, chunks and dtype.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.ones(4, chunks=2, devices="numpy")
    >>> pd.to_numpy(x).compute()
    array([1., 1., 1., 1.])
    """
    result: da.Array = x.map_blocks(
        registration.as_numpy, dtype=x.dtype, meta=np.empty((0,) * x.ndim, x.dtype)
    )
    return result


def collect(x: Any, device: DeviceLike = "cpu") -> pa.Array:
    """Compute a Dask array and return it as one array on a device.

    Parameters
    ----------
    x : dask.array.Array
        Its chunks may be on several devices.
    device : device-like, default: "cpu"
        Where the array is wanted.

    Returns
    -------
    Array
        Of the shape of `x`.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", count=2) as gpus:
    ...     x = pd.arange(4, chunks=2, devices=gpus)
    ...     pd.collect(x * x, "numpy")
    Array([0, 1, 4, 9], dtype=int64, device='numpy:cpu:0')
    """
    result: pa.Array = to_device(x, device).compute()
    return result


def persist(x: Any) -> da.Array:
    """Compute a Dask array and keep its blocks where they are.

    Parameters
    ----------
    x : dask.array.Array
        Of any chunks.

    Returns
    -------
    dask.array.Array
        Whose graph holds the blocks, and which knows where they belong if `x` did.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.persist(pd.ones(4, chunks=2, devices="numpy") + 1)  # computed now, and once
    >>> pd.collect(x.sum()).tolist(), pd.collect(x.max()).tolist()
    (8.0, 2.0)
    """
    result: da.Array = x.persist()
    wanted(result, wanted(x))
    return result


class Block(NamedTuple):
    """Where a block is.

    Parameters
    ----------
    block : tuple of int
        Its place among the blocks.
    worker : str
        Address of the worker that has it; empty without ``distributed``.
    device : str
        The device, or the name of the chunk's type where it is not portarray's.
    nbytes : int
        Bytes of its values.
    wanted : str or None
        The device that it was put on; None where nobody said.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.persist(pd.ones((4, 2), chunks=2, dtype="float32", devices="numpy"))
    >>> last = pd.placement(x)[-1]
    >>> last.block, last.device, last.nbytes
    ((1, 0), 'numpy:cpu:0', 16)
    >>> last.device == last.wanted
    True
    """

    block: tuple[int, ...]
    worker: str
    device: str
    nbytes: int
    wanted: str | None


class Placement(tuple[Block, ...]):
    """A table of blocks, as :func:`placement` returns it; printed as one.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda") as (gpu,):
    ...     x = pd.persist(pd.ones(4, chunks=2, dtype="float32", devices=["numpy", gpu]))
    ...     table = pd.placement(x)
    >>> table.verify()
    block  worker  device          bytes
    (0,)   -       numpy:cpu:0     8
    (1,)   -       virtual:cuda:0  8
    >>> sum(block.nbytes for block in table if block.device == "numpy:cpu:0")
    8
    """

    __slots__ = ()

    def verify(self) -> Placement:
        """Raise if a block is not where it belongs.

        Returns
        -------
        Placement
            The table itself.

        Raises
        ------
        ValueError
            If a block is on another device than it was put on, or is no portarray array.
        """
        wrong = [one for one in self if one.device != (one.wanted or one.device)]
        if wrong:
            lines = "; ".join(f"{b.block} is on {b.device}, not {b.wanted}" for b in wrong[:5])
            raise ValueError(
                f"{len(wrong)} of {len(self)} blocks are not where they belong: {lines}. "
                f"portarray.dask.to_device(x, devices) moves them"
            )
        return self

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(_line(row, widths) for row in rows)

    def _repr_html_(self) -> str:
        from portarray import _html  # only notebooks need it

        head, *rows = self._rows()
        return _html.table(rows, caption=f"Placement of {len(self)} blocks", head=head)

    def _rows(self) -> list[tuple[str, ...]]:
        blocks = ((str(b.block), b.worker or "-", b.device, str(b.nbytes)) for b in self)
        return [("block", "worker", "device", "bytes"), *blocks]


def _line(row: Iterable[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip()


def placement(x: Any) -> Placement:
    """Return where the blocks of a Dask array are; computes those that are not computed yet.

    Parameters
    ----------
    x : dask.array.Array
        Best one that is persisted.

    Returns
    -------
    Placement
        A row for each block: its place, the worker, the device, bytes; ``verify()`` raises where
        one is not where it belongs.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.persist(pd.ones((2, 4), chunks=2, dtype="float32", devices="numpy"))
    >>> pd.placement(x)
    block   worker  device       bytes
    (0, 0)  -       numpy:cpu:0  16
    (0, 1)  -       numpy:cpu:0  16
    """
    places = list(product(*map(range, x.numblocks)))
    name = f"placement-{tokenize(x)}"
    tasks = {
        (name, *place): Task((name, *place), _place, TaskRef((x.name, *place))) for place in places
    }
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[x])
    meta = np.empty((0,) * x.ndim, dtype=object)
    rows = da.Array(graph, name, tuple((1,) * n for n in x.numblocks), meta=meta)
    belongs = wanted(x)
    found: Any = dask.compute(list(rows.to_delayed().flat))[0]
    return Placement(
        Block(place, worker, device, nbytes, belongs.get(place))
        for place, (worker, device, nbytes) in zip(places, found, strict=True)
    )


def _place(block: Any) -> tuple[str, str, int]:
    device = str(block.device) if isinstance(block, pa.Array) else type(block).__name__
    return _worker(), device, int(block.nbytes)


def _worker() -> str:
    """Return the address of the worker that runs this; empty where there is none."""
    worker = scopes.worker()
    return "" if worker is None else str(worker.address)
