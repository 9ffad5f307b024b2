"""Dask arrays of what a program on tiles computes, by a graph of tasks or in a region.

A region works in place, on copies of the tiles that it writes; on Dask it is one task.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

import dask.array as da
from dask._task_spec import List, Task, TaskRef
from dask.base import get_scheduler, tokenize
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

import portarray as pa
from portarray.dask import block_placement, faults, scopes
from portarray.dask.linalg import graph
from portarray.dask.linalg.graph import BuiltGraph, Matrices
from portarray.dask.linalg.programs import Step, Tile
from portarray.errors import LinAlgError
from portarray.tasks import In, InOut, Out, Region

__all__ = ["is_local", "lazily", "threads"]

Place = tuple[int, int]


def is_local(x: Any) -> bool:
    """Return whether Dask would compute a collection in threads of this process."""
    get = get_scheduler(collections=[x])
    return get is None or getattr(get, "__module__", "") in ("dask.threaded", "dask.local")


def threads() -> int:
    """Return how many threads of a device do not ask for more cores than there are.

    BLAS libraries read the same settings.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        setting = os.environ.get(name, "")
        if setting.isdigit() and int(setting):
            return max(1, (cores or 1) // int(setting))
    return 1


def lazily(
    operation: str,
    steps: Iterable[Step],
    matrices: Matrices,
    results: Mapping[str, tuple[Any, Mapping[Place, tuple[Any, ...]]]],
    *,
    local: bool,
) -> list[da.Array]:
    """Return Dask arrays of what a program computes.

    ``results`` has for each array its chunks, and for each block a function, or None, and the tiles
    that it takes at last.
    """
    steps = tuple(steps)
    token = tokenize(operation, [x.name for x in matrices.collections], sorted(results), local)
    names = {result: f"{operation}-{result}-{token}" for result in results}
    name = f"{operation}-tiles-{token}"
    final: dict[Tile, Any] = {}
    if len(results) == 1:  # the last versions of tiles are its blocks
        ((result, (_, blocks)),) = results.items()
        final = {block[1]: (names[result], *at) for at, block in blocks.items() if block[0] is None}
        name = names[result]
    built = (_one_task if local else graph.build)(name, steps, matrices, final)
    above: dict[str, dict[Any, Task]] = {}
    where: dict[str, dict[tuple[int, ...], str | None]] = {}
    for result, (_, blocks) in results.items():
        last = names[result]
        layer = built.tasks if last == name else above.setdefault(last, {})
        belongs = built.belongs if last == name else where.setdefault(last, {})
        for position, (function, *reads) in blocks.items():
            key = (last, *position)
            if key not in layer:
                arguments = [graph.reference(tile, built.keys, matrices) for tile in reads]
                layer[key] = Task(key, function or _same, *arguments)
            belongs[position] = None if local else matrices.devices[reads[0]]
    first = MaterializedLayer(built.tasks, annotations=scopes.placed(built.belongs))
    below = HighLevelGraph.from_collections(name, first, dependencies=matrices.collections)
    under = {name, *(x.name for x in matrices.collections)}
    arrays = []
    for result, (chunks, blocks) in results.items():
        last, whole = names[result], below
        if last in above:
            top = MaterializedLayer(above[last], annotations=scopes.placed(where[last]))
            whole = HighLevelGraph({**below.layers, last: top}, {**below.dependencies, last: under})
        devices: dict[tuple[int, ...], str | None] = {
            position: matrices.devices[block[1]] for position, block in blocks.items()
        }
        arrays.append(block_placement.new_collection(whole, last, chunks, matrices.dtype, devices))
    return arrays


def _same(x: pa.Array) -> pa.Array:
    return x


# --- in one process ------------------------------------------------------------------------------


def _one_task(
    name: str, steps: tuple[Step, ...], matrices: Matrices, final: Mapping[Tile, Any]
) -> BuiltGraph:
    """Return a task that runs a region, and one that takes each tile of its result."""
    written = dict.fromkeys(tile for step in steps for tile in step.writes)
    used = dict.fromkeys(tile for step in steps for tile in (*step.writes, *step.reads))
    inputs = [tile for tile in used if tile in matrices.sources]
    sources = List(*(matrices.sources[tile] for tile in inputs))
    whole = (f"{name}-region", 0)
    shapes = {tile: matrices.shapes[tile] for tile in written if tile not in matrices.sources}
    likes = {tile: matrices.devices[tile] for tile in shapes}
    tasks = {whole: Task(whole, _region, steps, inputs, sources, shapes, likes)}
    keys = {}
    for slot, tile in enumerate(written):
        key = keys[tile] = final.get(tile, (f"{name}-tile", slot))
        tasks[key] = Task(key, operator.getitem, TaskRef(whole), slot)
    return BuiltGraph(tasks, keys, {})


def _region(
    steps: tuple[Step, ...],
    inputs: list[Tile],
    sources: list[pa.Array],
    shapes: dict[Tile, tuple[int, ...]],
    devices: dict[Tile, str | None],
) -> tuple[pa.Array, ...]:
    """Run a program on copies of tiles, and return those that it writes."""
    return tuple(_run(steps, dict(zip(inputs, sources, strict=True)), shapes, devices).values())


faults.register(_region, misplaced=False)


def _run(
    steps: Iterable[Step],
    sources: Mapping[Tile, pa.Array],
    shapes: Mapping[Tile, tuple[int, ...]],
    devices: Mapping[Tile, Any],
) -> dict[Tile, pa.Array]:
    """Run a program in a region, and return the tiles that it writes; sources are unchanged.

    ``shapes`` and ``devices`` are those of tiles without a source.
    """
    tiles: dict[Tile, pa.Array] = {}
    whole = dict(sources)
    like = next(iter(whole.values()))
    try:
        with Region(workers=threads()) as region:
            for step in steps:
                for tile in step.writes:
                    if tile in tiles:
                        continue
                    source = whole.get(tile)
                    tiles[tile] = whole[tile] = _buffer(tile, source, shapes, devices, like)
                    if source is not None:
                        region.spawn(_copy, Out(tiles[tile]), In(source), name="copy")
                arguments: list[Any] = [InOut(whole[tile]) for tile in step.writes]
                arguments += [In(whole[tile]) for tile in step.reads]
                count = len(step.writes)
                region.spawn(
                    _in_place,
                    *(step.function, dict(step.options), count),
                    *arguments,
                    name=step.function.__name__,
                )
    except BaseExceptionGroup as group:
        errors: Any = group.subgroup(LinAlgError)
        while isinstance(errors, BaseExceptionGroup):
            errors = errors.exceptions[0]
        if errors is None:
            raise
        raise errors from None
    return tiles


def _buffer(
    tile: Tile,
    source: pa.Array | None,
    shapes: Mapping[Tile, tuple[int, ...]],
    devices: Mapping[Tile, Any],
    like: pa.Array,
) -> pa.Array:
    """Return the array that a tile is written into."""
    if source is not None:
        return pa.empty(source.shape, dtype=source.dtype, device=source.device)
    dtype = pa.int32 if tile[0] == "p" else like.dtype
    return pa.empty(shapes[tile], dtype=dtype, device=devices[tile] or like.device)


def _copy(out: pa.Array, x: pa.Array) -> None:
    out[...] = x


def _in_place(function: Any, options: dict[str, Any], count: int, *arrays: pa.Array) -> None:
    """Run a step on tiles whose memory is its own."""
    outputs = function(*arrays, **options, owned=True)
    for target, output in zip(
        arrays[:count], outputs if type(outputs) is tuple else (outputs,), strict=True
    ):
        if output is not target:
            target[...] = output
