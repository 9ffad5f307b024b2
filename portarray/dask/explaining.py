"""What moves between devices when a Dask array is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from dask.core import flatten

from portarray.dask import fusing
from portarray.dask.layers import Layers
from portarray.dask.owners import Move

__all__ = ["MovePlan", "explain"]


class MovePlan(NamedTuple):
    """Devices and moves of an array's tasks, as :func:`explain` returns them; ``str`` lists them.

    Parameters
    ----------
    blocks : mapping
        The device of each block, by its index; None if it is known only when it is computed.
    tasks : mapping
        How many tasks each device computes, before they are fused.
    moves : sequence of Move
        The values that move, sorted by their ``name``, ``block``, ``source``, ``target`` and
        ``nbytes``.
    bytes_moved : int
        Their bytes. Values whose shapes Dask does not know, such as selections by a mask, are not
        counted.
    bytes_gathered : int
        Bytes of the blocks that ``compute()`` also moves to the first block's device.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", count=2) as gpus:
    ...     x = pd.ones((4, 2), chunks=2, dtype="float32", devices=gpus)
    ...     print(pd.explain(x.T @ x))
    1 block: 1 on virtual:cuda:0
    5 tasks: 3 on virtual:cuda:0, 2 on virtual:cuda:1
    virtual:cuda:1 to virtual:cuda:0: 1 value, 16 bytes
    compute() gathers 0 bytes
    """

    blocks: Mapping[tuple[int, ...], str | None]
    tasks: Mapping[str, int]
    moves: tuple[Move, ...]
    bytes_moved: int
    bytes_gathered: int

    def __str__(self) -> str:
        lines = [
            _counted(
                Counter(text or "an unknown device" for text in self.blocks.values()), "block"
            ),
            _counted(self.tasks, "task"),
        ]
        routes: dict[tuple[str, str], list[int]] = {}
        for move in self.moves:
            routes.setdefault((move.source, move.target), []).append(move.nbytes)
        lines += [
            f"{source} to {target}: {_several(len(sizes), 'value')}, {sum(sizes)} bytes"
            for (source, target), sizes in routes.items()
        ]
        return "\n".join([*lines, f"compute() gathers {self.bytes_gathered} bytes"])


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _counted(counts: Mapping[str, int], noun: str) -> str:
    shares = ", ".join(f"{count} on {device}" for device, count in sorted(counts.items()))
    return f"{_several(sum(counts.values()), noun)}{f': {shares}' if shares else ''}"


def explain(x: Any) -> MovePlan:
    """Return where the blocks of a Dask array will be, and what moves; computes nothing.

    Parameters
    ----------
    x : dask.array.Array
        Its operands may be on several devices.

    Returns
    -------
    MovePlan
        Devices of the blocks, tasks of each device, moves and their bytes.

    Examples
    --------
    >>> import portarray.dask as pd
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", count=2) as gpus:
    ...     x = pd.ones((4, 2), chunks=2, dtype="float32", devices=gpus)
    ...     plan = pd.explain(x.mean(axis=0))  # a sum and a count from the second block
    >>> plan.blocks, plan.bytes_moved
    ({(0,): 'virtual:cuda:0'}, 16)
    >>> [(move.source, move.target) for move in plan.moves]
    [('virtual:cuda:1', 'virtual:cuda:0')]
    """
    keys = list(flatten(x.__dask_keys__()))
    layers = Layers(x.dask)
    plan = fusing.planned(x.dask, keys)
    devices = layers.devices()
    only = next(iter(devices)) if len(devices) == 1 else None
    blocks: dict[tuple[int, ...], str | None] = {
        key[1:]: plan.devices.get(key)
        or layers.device(key)
        or (only if devices else layers.made_on(key))
        for key in keys
    }
    first = blocks[keys[0][1:]] if keys else None
    return MovePlan(
        blocks,
        Counter(device for key, device in plan.devices.items() if plan.notes.get(key)),
        tuple(sorted(plan.moves)),
        sum(move.nbytes for move in plan.moves),
        sum(
            size.nbytes()
            for key in keys
            if blocks[key[1:]] not in (first, None) and (size := layers.size(key))
        ),
    )
