"""A program on tiles as a graph of Dask.

Each task makes the next version of a tile, and nothing that Dask holds is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from dask._task_spec import List, Task, TaskRef

import portarray as pa
from portarray.dask import block_placement
from portarray.dask.linalg.programs import Step, Tile
from portarray.dask.registration import finished

__all__ = ["BuiltGraph", "Matrices", "build", "reference"]

FUSED = 4
"""Steps at most that one task takes on a tile, where nothing reads it between them.

Fewer tasks cost the scheduler less, and tiles that are not fused can be computed on sooner.
"""


class Matrices:
    """The matrices of a program: where tiles come from, on which devices they are, their sizes."""

    def __init__(self) -> None:
        self.sources: dict[Tile, Any] = {}
        self.devices: dict[Tile, str | None] = {}
        self.shapes: dict[Tile, tuple[int, ...]] = {}
        self.collections: list[Any] = []
        self.dtype: Any = None

    def add(self, name: str, x: Any) -> None:
        """Add a Dask array of portarray chunks."""
        self.collections.append(x)
        self.dtype = x.dtype
        devices = block_placement.block_devices(x)
        for i, rows in enumerate(x.chunks[0]):
            for j, columns in enumerate(x.chunks[1]):
                tile = (name, i, j)
                self.sources[tile] = TaskRef((x.name, i, j))
                self.devices[tile] = devices.get((i, j))
                self.shapes[tile] = (rows, columns)

    def new(self, name: str, i: int, j: int, shape: tuple[int, ...], like: Tile) -> None:
        """Add a tile that is not there before it is written, on the device of another."""
        self.devices[name, i, j] = self.devices[like]
        self.shapes[name, i, j] = shape


class BuiltGraph(NamedTuple):
    """Tasks, keys of the last versions of tiles, and devices by what follows the keys' names."""

    tasks: dict[Any, Task]
    keys: dict[Tile, Any]
    belongs: dict[tuple[int, ...], str | None]


def build(
    name: str, steps: tuple[Step, ...], matrices: Matrices, final: Mapping[Tile, Any]
) -> BuiltGraph:
    """Return the tasks of a program; ``final`` are the keys that last versions are to have."""
    graph = _Graph(name, matrices, final)
    graph.remaining.update(tile for step in steps for tile in step.writes)
    for step in steps:
        graph.add(step)
    for tile in tuple(graph.waiting):
        graph.flush(tile)
    return BuiltGraph(graph.tasks, graph.keys, graph.belongs)


def reference(tile: Tile, keys: Mapping[Tile, Any], matrices: Matrices) -> TaskRef:
    """Return the last version of a tile, for the arguments of a task."""
    return TaskRef(keys[tile]) if tile in keys else matrices.sources[tile]


class _Graph:
    """The tasks of steps that were added, and the steps that wait to be fused with others."""

    def __init__(self, name: str, matrices: Matrices, final: Mapping[Tile, Any]) -> None:
        self.name = name
        self.matrices = matrices
        self.final = final
        self.tasks: dict[Any, Task] = {}
        self.keys: dict[Tile, Any] = {}
        self.belongs: dict[tuple[int, ...], str | None] = {}
        self.waiting: dict[Tile, list[tuple[Step, list[Any]]]] = {}
        self.remaining: Counter[Tile] = Counter()
        self.copies: dict[Any, TaskRef] = {}

    def add(self, step: Step) -> None:
        """Add the next step of the serial program."""
        device = self.matrices.devices[step.writes[0]]
        reads = [self.on(tile, device) for tile in step.reads]
        if len(step.writes) == 1:
            tile = step.writes[0]
            queue = self.waiting.setdefault(tile, [])
            queue.append((step, reads))
            self.remaining.subtract(step.writes)
            if len(queue) == FUSED or not self.remaining[tile]:
                self.flush(tile)
            return
        key = self.new(step.function.__name__, device)
        writes = [self.on(tile, device) for tile in step.writes]
        self.remaining.subtract(step.writes)
        options = dict(step.options)
        self.tasks[key] = Task(key, _several, step.function, options, List(*writes), List(*reads))
        for slot, tile in enumerate(step.writes):
            there = self.matrices.devices[tile]
            part = self.new("part", there, tile)
            self.tasks[part] = Task(part, _part, TaskRef(key), slot, there)
            self.keys[tile] = part

    def flush(self, tile: Tile) -> None:
        """Make the task of the steps that wait for a tile."""
        queue = self.waiting.pop(tile, None)
        if queue is None:
            return
        device = self.matrices.devices[tile]
        previous = self.on(tile, device)
        calls = [(step.function, dict(step.options), len(reads)) for step, reads in queue]
        reads = List(*(x for _, inputs in queue for x in inputs))
        key = self.new(calls[-1][0].__name__, device, tile)
        self.tasks[key] = Task(key, _version, calls, previous, reads)
        self.keys[tile] = key

    def new(self, kind: str, device: str | None, tile: Tile | None = None) -> Any:
        """Return a key; that which is due where it is the last version of a tile."""
        if tile is not None and tile in self.final and not self.remaining[tile]:
            key = self.final[tile]
        else:
            key = (f"{self.name}-{kind}", len(self.tasks))
            self.tasks[key] = None  # counts
        self.belongs[key[1:]] = device
        return key

    def on(self, tile: Tile, device: str | None) -> Any:
        """Return the version of a tile that is due now, on a device; None where there is none."""
        self.flush(tile)
        if tile not in self.keys and tile not in self.matrices.sources:
            return None
        source = reference(tile, self.keys, self.matrices)
        if device is None or self.matrices.devices[tile] in (None, device):
            return source
        copy = self.copies.get((source.key, device))
        if copy is None:
            key = self.new("move", device)
            self.tasks[key] = Task(key, block_placement.move_block, source, device)
            copy = self.copies[source.key, device] = TaskRef(key)
        return copy


def _version(calls: list[tuple[Any, dict[str, Any], int]], tile: Any, reads: list[Any]) -> Any:
    """Return the next version of a tile, on its device. Runs on a worker."""
    there = (reads[0] if tile is None else tile).device
    position, owned = 0, False
    with there:
        for function, options, count in calls:
            operands = [_there(x, there) for x in reads[position : position + count]]
            tile = function(tile, *operands, **options, owned=owned)
            position, owned = position + count, True
    return finished(tile)


def _several(function: Any, options: dict[str, Any], writes: list[Any], reads: list[Any]) -> Any:
    """Return the next versions of tiles, on the device of one. Runs on a worker."""
    there = next(x for x in writes if x is not None).device
    operands = [_there(x, there) for x in (*writes, *reads)]
    with there:
        result = function(*operands, **options, owned=False)
    for x in result:
        finished(x)
    return result


def _there(x: Any, device: pa.Device) -> Any:
    return x if x is None or x.device is device else x.to_device(device)


def _part(outputs: tuple[pa.Array, ...], slot: int, device: str | None) -> pa.Array:
    return block_placement.move_block(outputs[slot], device)
