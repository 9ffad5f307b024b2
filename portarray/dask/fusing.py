"""Fuse tasks as Dask does, but only those of the same scope.

Dask drops the annotations of layers when it fuses the tasks of arrays; this module keeps them.
"""

from __future__ import annotations

from typing import Any

import dask
from dask._expr import _AnnotationsTombstone
from dask._task_spec import (
    Task,
    TaskRef,
    _execute_subgraph,
    convert_legacy_graph,
)
from dask.array.optimization import _optimize_slices
from dask.blockwise import fuse_roots, optimize_blockwise
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.utils import ensure_dict

from portarray.dask import owners
from portarray.dask.layers import Layers
from portarray.dask.scoped_tasks import Scoped, scoped
from portarray.dask.scopes import ANNOTATION

__all__ = ["is_annotated", "layered", "optimize", "output_keys", "planned"]

Notes = dict[Any, dict[str, Any]]


def is_annotated(dsk: Any) -> bool:
    """Return whether layers of a graph have annotations, or tasks are in a scope."""
    if isinstance(dsk, HighLevelGraph):
        return any(layer.annotations for layer in dsk.layers.values())
    return any(isinstance(node, Scoped) for node in dsk.values())


def optimize(dsk: Any, keys: Any) -> tuple[dict[Any, Any], Notes]:
    """Optimize a graph as Dask does and fuse tasks of equal annotations only; return those, too."""
    if not isinstance(dsk, HighLevelGraph):
        if is_annotated(dsk):
            graph = convert_legacy_graph(ensure_dict(dsk))
            scopes = {key: node.func for key, node in graph.items() if isinstance(node, Scoped)}
            return graph, {key: {ANNOTATION: within} for key, within in scopes.items()}
        dsk = HighLevelGraph.from_collections(id(dsk), dsk, dependencies=())
    outputs = output_keys(keys)
    plan = planned(dsk, keys)
    plan.warn()
    graph, notes = plan.graph, plan.notes
    if dask.config.get("optimization.fuse.active") is not False:
        graph = _optimize_slices(_fused(graph, notes, outputs))
    return graph, notes


def output_keys(keys: Any) -> set[Any]:
    """Return the keys that a computation asks for: nested lists of them, or one."""
    return set(flatten(list(keys) if isinstance(keys, (list, set)) else [keys]))


def planned(dsk: HighLevelGraph, keys: Any) -> owners.Plan:
    """Return the tasks of a graph on their devices, before they are fused, with their moves."""
    outputs = output_keys(keys)
    layers = Layers(dsk)
    dsk = optimize_blockwise(dsk, keys=list(outputs))
    is_scoped = is_annotated(dsk) or len(layers.devices()) > 1
    dsk = (dsk if is_scoped else fuse_roots(dsk, keys=list(outputs))).cull(outputs)
    notes: Notes = {}
    for layer in dsk.layers.values():
        if layer.annotations and any(map(callable, layer.annotations.values())):
            notes.update(_of_keys(layer))
        elif layer.annotations:
            notes.update(dict.fromkeys(layer, layer.annotations))
    graph = convert_legacy_graph(ensure_dict(dsk))
    notes.update(  # tasks that dask.optimize or dask.persist put into scopes
        (key, {ANNOTATION: node.func})
        for key, node in graph.items()
        if type(node) is Scoped and key not in notes
    )
    if len(layers.devices()) > 1:
        return owners.assign(graph, notes, layers)
    return owners.Plan(graph, notes, {}, (), layers.rule())


def _of_keys(layer: Any) -> Notes:
    """Return the annotations of keys; those of equal annotations have one dictionary."""
    notes: Notes = {}
    shared: dict[Any, tuple[dict[str, Any], list[Any]]] = {}  # keeps the values, and so their ids
    for key in layer:
        values = [value(key) if callable(value) else value for value in layer.annotations.values()]
        identity = tuple(map(id, values))
        if identity not in shared:
            # Arrays that become arguments of another collection have annotations for some keys.
            annotations = {
                name: value
                for name, value in zip(layer.annotations, values, strict=True)
                if value is not None and not isinstance(value, _AnnotationsTombstone)
            }
            shared[identity] = annotations, values
        if shared[identity][0]:
            notes[key] = shared[identity][0]
    return notes


def _fused(graph: dict[Any, Any], notes: Notes, outputs: set[Any]) -> dict[Any, Any]:
    """Return a graph with linear chains of tasks of equal annotations as one task each.

    It has the key of its last task. Dask renames it and adds an alias, which costs its scheduler as
    much as a task; its tasks that make data are recognized without that.
    """
    consumer_of: dict[Any, Any] = {}  # the one task that needs a task, None if several do
    for key, node in graph.items():
        for operand in node.dependencies:
            consumer_of[operand] = None if operand in consumer_of else key
    consumer_of = {
        operand: key
        for operand, key in consumer_of.items()
        if key is not None and operand in graph and len(graph[key].dependencies) == 1
    }
    operand_of = dict(zip(consumer_of.values(), consumer_of, strict=True))
    _join_scopes(graph, notes, consumer_of, operand_of)
    ends = set()  # of chains
    for key, node in graph.items():
        following = consumer_of.get(key)
        if (
            following is None
            or key in outputs
            or node.block_fusion
            or graph[following].block_fusion
            or _differ(notes.get(key), notes.get(following))
        ):
            ends.add(key)
    result = {}
    for key in graph:
        if key not in ends:
            continue
        chain = [key]
        while (operand := operand_of.get(chain[-1])) is not None and operand not in ends:
            chain.append(operand)
        last = graph[key]
        result[key] = last if len(chain) == 1 else _chained(graph, chain[::-1])
    return result


def _chained(graph: dict[Any, Any], chain: list[Any]) -> Task:
    """Return tasks, each the only operand of the next, as one task."""
    first = graph[chain[0]]
    operands = tuple(sorted(first.dependencies, key=hash))
    tasks = {key: graph[key] for key in chain}
    return Task(
        chain[-1],
        _execute_subgraph,
        tasks,
        chain[-1],
        operands,
        *map(TaskRef, operands),
        _data_producer=any(task.data_producer for task in tasks.values()),
    )


def _join_scopes(
    graph: dict[Any, Any], notes: Notes, consumer_of: dict[Any, Any], operand_of: dict[Any, Any]
) -> None:
    """Let unannotated tasks in a chain with a block with a chosen device join its scope."""
    free = [key for key in graph if ANNOTATION not in notes.get(key, ())]
    for key in free:
        for step in (operand_of, consumer_of):
            note = notes.get(step.get(key))
            if note and ANNOTATION in note and note[ANNOTATION].placed:
                _join(key, note, notes, consumer_of if step is operand_of else operand_of)


def _join(key: Any, note: dict[str, Any], notes: Notes, step: dict[Any, Any]) -> None:
    """Annotate a task, and those that follow it in a direction, until one is annotated."""
    while key is not None:
        previous = notes.get(key, {})
        if ANNOTATION in previous or {**previous, ANNOTATION: note[ANNOTATION]} != note:
            return
        notes[key] = note
        key = step.get(key)


def _differ(note: Any, second_note: Any) -> bool:
    # Tasks of a device share their notes.
    return note is not second_note and bool(note != second_note)


def _apart(
    graph: dict[Any, Any], notes: Notes
) -> list[tuple[dict[str, Any] | None, dict[Any, Any]]]:
    """Return the tasks of each set of annotations."""
    groups: list[tuple[dict[str, Any] | None, dict[Any, Any]]] = []
    by_identity: dict[int, dict[Any, Any]] = {}  # tasks of a device share their notes
    for key, node in graph.items():
        note = notes.get(key)
        tasks = by_identity.get(id(note))
        if tasks is None:
            same = [tasks for group_note, tasks in groups if group_note == note]
            tasks = same[0] if same else {}
            if not same:
                groups.append((note, tasks))
            by_identity[id(note)] = tasks
        tasks[key] = node
    return groups


def layered(graph: dict[Any, Any], notes: Notes) -> HighLevelGraph:
    """Return a graph with a layer for each set of annotations, its tasks in their scopes.

    Tasks that have their scope need no annotation, which `distributed` would send with each.
    """
    layers = {}
    for i, (note, tasks) in enumerate(_apart(graph, notes)):
        within = (note or {}).get(ANNOTATION)
        parts: dict[bool, dict[Any, Any]] = {True: {}, False: {}}
        for key, node in tasks.items():
            scoped_node = scoped(node, within)
            parts[type(scoped_node) is Scoped][key] = scoped_node
        without = {name: value for name, value in (note or {}).items() if name != ANNOTATION}
        for is_scoped, part in parts.items():
            if part:
                layers[f"portarray-{i}-{is_scoped}"] = MaterializedLayer(
                    part, annotations=without if is_scoped else note
                )
    return HighLevelGraph(layers, {name: set() for name in layers})
