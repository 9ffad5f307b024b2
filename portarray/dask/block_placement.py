"""Placement of the blocks of a Dask array on devices."""

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
from portarray.dask import explaining, faults, registration, scoped_tasks, scopes
from portarray.dask.layers import Layers

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

    Devices = DeviceLike | Sequence[DeviceLike] | Callable[[tuple[int, ...]], DeviceLike] | None

__all__ = [
    "Block",
    "Placement",
    "assign",
    "block_devices",
    "collect",
    "move_block",
    "new_collection",
    "persist",
    "placement",
    "to_device",
    "to_numpy",
]


def assign(numblocks: tuple[int, ...], devices: Devices) -> scopes.Belongs:
    """Return the device name of each block; None is the default device of the worker."""
    positions = list(product(*map(range, numblocks)))
    if devices is None:
        return scopes.Belongs(dict.fromkeys(positions))
    if isinstance(devices, str) and devices == "all":
        names = [str(device) for device in pa.devices()]
    elif callable(devices):
        return scopes.Belongs(
            {position: str(pa.device(devices(position))) for position in positions}
        )
    elif isinstance(devices, (list, tuple)):
        if not devices:
            raise ValueError(
                "portarray.dask: devices is empty\nHint: pass at least one device, or None"
            )
        names = [str(pa.device(device)) for device in devices]
    else:
        single: Any = devices
        names = [str(pa.device(single))]
    return scopes.Belongs(
        {position: names[i % len(names)] for i, position in enumerate(positions)}, names
    )


def move_block(block: Any, device: str | None) -> pa.Array:
    """Return a block as a portarray array on a device. Runs on a worker."""
    if isinstance(block, pa.Array):
        inside = scoped_tasks.allowed()
        if device is None and inside and str(block.device) not in inside:
            device = inside[0]
        result = block if device is None else block.to_device(device)
        if device is not None:
            faults.MISPLACED.pop(id(result), None)  # its device was chosen
    else:
        result = pa.asarray(block, device=device)
    return registration.finished(result)


faults.register(move_block, misplaced=True)


def to_device(x: Any, devices: Devices) -> da.Array:
    """Return a Dask array whose blocks are on devices.

    Parameters
    ----------
    x : dask.array.Array
        Of any chunks; NumPy's become portarray's.
    devices : device-like, sequence, callable, "all" or None
        One device; several, which are assigned to the blocks cyclically; ``"all"`` for all that
        work here; or a function of a block's index, such as (0, 1). None leaves portarray chunks
        where they are and puts others on the default device of the worker.

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
        (name, *position): Task((name, *position), move_block, TaskRef((x.name, *position)), device)
        for position, device in belongs.items()
    }
    layer = MaterializedLayer(tasks, annotations=scopes.placed(belongs))
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[x])
    return new_collection(graph, name, x.chunks, x.dtype, belongs)


def new_collection(
    graph: HighLevelGraph,
    name: str,
    chunks: Any,
    dtype: Any,
    belongs: dict[tuple[int, ...], str | None],
) -> da.Array:
    """Return a collection of portarray chunks with known devices."""
    names = scopes.listed(belongs)
    # Arrays that list the same devices have metas on one device, since Dask joins metas.
    device = min(names) if len(names) > 1 else next(iter(belongs.values()), None)
    meta = pa.empty((0,) * len(chunks), dtype=dtype, device=device)
    result = da.Array(graph, name, chunks, meta=meta)
    block_devices(result, belongs)
    return result


def block_devices(
    x: Any, belongs: dict[tuple[int, ...], str | None] | None = None
) -> dict[tuple[int, ...], str | None]:
    """Return, or set, the intended devices of the blocks of a collection; empty if unset."""
    if belongs is not None:
        x.__dict__["_portarray_devices"] = belongs
        layer = x.dask.layers.get(x.name)
        if layer is not None and belongs:
            layer._portarray_belongs = belongs
            layer._portarray_listed = scopes.listed(belongs) or layer._portarray_listed
    assigned: dict[tuple[int, ...], str | None] = x.__dict__.get("_portarray_devices", {})
    return assigned


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
        The device of the result.

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
        Its graph holds the blocks; it keeps the intended devices of `x`.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.persist(pd.ones(4, chunks=2, devices="numpy") + 1)  # computed now, and once
    >>> pd.collect(x.sum()).tolist(), pd.collect(x.max()).tolist()
    (8.0, 2.0)
    """
    result: da.Array = x.persist()
    block_devices(result, block_devices(x))
    return result


class Block(NamedTuple):
    """Where a block is.

    Parameters
    ----------
    block : tuple of int
        Its index among the blocks.
    worker : str
        Address of the worker that has it; empty without ``distributed``.
    device : str
        The device, or the name of the chunk's type where it is not portarray's.
    nbytes : int
        Bytes of its values.
    target : str or None
        The device that it was put on; None if no device was chosen.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.persist(pd.ones((4, 2), chunks=2, dtype="float32", devices="numpy"))
    >>> last = pd.placement(x)[-1]
    >>> last.block, last.device, last.nbytes
    ((1, 0), 'numpy:cpu:0', 16)
    >>> last.device == last.target
    True
    """

    block: tuple[int, ...]
    worker: str
    device: str
    nbytes: int
    target: str | None


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
        """Raise if a block is not on its intended device.

        Returns
        -------
        Placement
            The table itself.

        Raises
        ------
        ValueError
            If a block is on another device than it was put on, or is not a portarray array.
        """
        wrong = [block for block in self if block.device != (block.target or block.device)]
        if wrong:
            lines = "; ".join(f"{b.block} is on {b.device}, not {b.target}" for b in wrong[:5])
            raise ValueError(
                f"verify: {len(wrong)} of {len(self)} blocks are on the wrong device: {lines}\n"
                f"Hint: move them with portarray.dask.to_device(x, devices)"
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
        Preferably a persisted one.

    Returns
    -------
    Placement
        A row for each block: its index, worker, device and bytes; ``verify()`` raises if a block
        is on the wrong device.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> x = pd.persist(pd.ones((2, 4), chunks=2, dtype="float32", devices="numpy"))
    >>> pd.placement(x)
    block   worker  device       bytes
    (0, 0)  -       numpy:cpu:0  16
    (0, 1)  -       numpy:cpu:0  16
    """
    positions = list(product(*map(range, x.numblocks)))
    name = f"placement-{tokenize(x)}"
    tasks = {
        (name, *position): Task((name, *position), _location, TaskRef((x.name, *position)))
        for position in positions
    }
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[x])
    meta = np.empty((0,) * x.ndim, dtype=object)
    rows = da.Array(graph, name, tuple((1,) * n for n in x.numblocks), meta=meta)
    belongs = block_devices(x)
    if not belongs and Layers(x.dask).devices():
        belongs = dict(explaining.explain(x).blocks)
    outcomes: Any = dask.compute(list(rows.to_delayed().flat))[0]
    return Placement(
        Block(position, worker, device, nbytes, belongs.get(position))
        for position, (worker, device, nbytes) in zip(positions, outcomes, strict=True)
    )


def _location(block: Any) -> tuple[str, str, int]:
    device = str(block.device) if isinstance(block, pa.Array) else type(block).__name__
    return _worker(), device, int(block.nbytes)


def _worker() -> str:
    """Return the address of the worker that runs this; empty where there is none."""
    worker = scoped_tasks.worker()
    return "" if worker is None else str(worker.address)
