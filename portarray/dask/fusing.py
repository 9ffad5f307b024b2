"""Fuse only tasks of the same scope.

Dask drops the annotations of layers when it fuses the tasks of arrays; this module keeps them.
"""

from __future__ import annotations

from typing import Any

import dask
from dask._expr import _AnnotationsTombstone
from dask._task_spec import (
    DependenciesMapping,
    Task,
    _execute_subgraph,
    convert_legacy_graph,
    fuse_linear_task_spec,
)
from dask.array.optimization import _optimize_slices
from dask.blockwise import optimize_blockwise
from dask.core import flatten, reverse_dict
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from dask.utils import ensure_dict

from portarray.dask import owners
from portarray.dask.layers import Layers
from portarray.dask.scopes import ANNOTATION, Scoped, scoped

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
        graph = convert_legacy_graph(ensure_dict(dsk))
        return graph, {
            key: {ANNOTATION: node.func} for key, node in graph.items() if isinstance(node, Scoped)
        }
    outputs = output_keys(keys)
    plan = planned(dsk, keys)
    plan.warn()
    graph, notes = plan.graph, plan.notes
    if dask.config.get("optimization.fuse.active") is not False:
        if _is_one_device(notes):
            graph = fuse_linear_task_spec(graph, outputs)
        else:
            unfused = outputs | _borders(graph, notes)
            parts = [fuse_linear_task_spec(tasks, unfused) for _, tasks in _apart(graph, notes)]
            graph = {key: node for part in parts for key, node in part.items()}
        graph = _optimize_slices(graph)
    for key, node in graph.items():
        if key not in notes and isinstance(node, Task) and node.func is _execute_subgraph:
            inner = [notes[name] for name in node.args[0] if name in notes]
            if inner:
                notes[key] = inner[0]
    return graph, notes


def output_keys(keys: Any) -> set[Any]:
    """Return the keys that a computation asks for: nested lists of them, or one."""
    return set(flatten(list(keys) if isinstance(keys, (list, set)) else [keys]))


def planned(dsk: HighLevelGraph, keys: Any) -> owners.Plan:
    """Return the tasks of a graph on their devices, before they are fused, with their moves."""
    outputs = output_keys(keys)
    layers = Layers(dsk)
    dsk = optimize_blockwise(dsk, keys=list(outputs)).cull(outputs)
    notes: Notes = {}
    for layer in dsk.layers.values():
        if layer.annotations and any(map(callable, layer.annotations.values())):
            notes.update(
                (key, annotations) for key in layer if (annotations := _of_key(layer, key))
            )
        elif layer.annotations:
            notes.update(dict.fromkeys(layer, layer.annotations))
    graph = convert_legacy_graph(ensure_dict(dsk))
    if len(layers.devices()) > 1:
        return owners.assign(graph, notes, layers)
    return owners.Plan(graph, notes, {}, (), layers.rule())


def _of_key(layer: Any, key: Any) -> dict[str, Any]:
    annotations = {
        name: value(key) if callable(value) else value for name, value in layer.annotations.items()
    }
    # Arrays that become arguments of another collection have annotations for some keys only.
    return {
        name: value
        for name, value in annotations.items()
        if value is not None and not isinstance(value, _AnnotationsTombstone)
    }


def _is_one_device(notes: Notes) -> bool:
    """Return whether all annotations put blocks on the same device."""
    kinds = list({id(note): note for note in notes.values()}.values())
    return all(
        note.keys() == {ANNOTATION} and note[ANNOTATION].placed and note == kinds[0]
        for note in kinds
    )


def _borders(graph: dict[Any, Any], notes: Notes) -> set[Any]:
    """Return the tasks that must not be fused with what needs them.

    Unannotated tasks next to a block with a chosen device join its scope.
    """
    needs = DependenciesMapping(graph)
    needed = reverse_dict(needs)
    for key, note in list(notes.items()):
        if key in graph and ANNOTATION in note and note[ANNOTATION].placed:
            for forward, backward in ((needed, needs), (needs, needed)):
                step = key
                while len(forward[step]) == 1:
                    (step,) = forward[step]
                    previous = notes.get(step, {})
                    if ANNOTATION in previous or step not in graph or len(backward[step]) != 1:
                        break
                    if {**previous, ANNOTATION: note[ANNOTATION]} != note:
                        break
                    notes[step] = note
    return {
        key
        for key in graph
        if any(_differ(notes.get(key), notes.get(other)) for other in needed.get(key, ()))
    }


def _differ(note: Any, other: Any) -> bool:
    return note is not other and bool(note != other)  # tasks of a device share their notes


def _apart(
    graph: dict[Any, Any], notes: Notes
) -> list[tuple[dict[str, Any] | None, dict[Any, Any]]]:
    """Return the tasks of each set of annotations."""
    groups: list[tuple[dict[str, Any] | None, dict[Any, Any]]] = []
    by_identity: dict[Any, dict[Any, Any]] = {}  # notes of several keys often share their values
    for key, node in graph.items():
        note = notes.get(key)
        identity = None if note is None else tuple((k, id(v)) for k, v in note.items())
        tasks = by_identity.get(identity)
        if tasks is None:
            same = [tasks for group_note, tasks in groups if group_note == note]
            tasks = same[0] if same else {}
            if not same:
                groups.append((note, tasks))
            by_identity[identity] = tasks
        tasks[key] = node
    return groups


def layered(graph: dict[Any, Any], notes: Notes) -> HighLevelGraph:
    """Return a graph with a layer for each set of annotations, its tasks in their scopes."""
    layers = {}
    for i, (note, tasks) in enumerate(_apart(graph, notes)):
        within = (note or {}).get(ANNOTATION)
        scoped_tasks = {key: scoped(node, within) for key, node in tasks.items()}
        layers[f"portarray-{i}"] = MaterializedLayer(scoped_tasks, annotations=note)
    return HighLevelGraph(layers, {name: set() for name in layers})
