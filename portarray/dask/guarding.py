"""Tasks that keep chunks on their devices.

Dask tells a *plugin* of each array that it makes. Arrays whose chunks are portarray's, and arrays
made of those, get an optimization that makes each task a :class:`Guarded` one: NumPy operands that
Dask put into the graph go to the device of the chunk beside them, and what would read a chunk into
NumPy unasked is an error that names the operation.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import dask
import dask.array
import numpy as np

# Private: no public way gives a task a class of its own. pyproject.toml bounds Dask's release.
from dask._task_spec import (
    Dict,
    GraphNode,
    List,
    Task,
    TaskRef,
    Tuple,
    _execute_subgraph,
    convert_legacy_graph,
)
from dask.array.optimization import optimize as plain_optimize
from dask.array.utils import scipy_linalg_safe
from dask.core import flatten
from dask.highlevelgraph import MaterializedLayer
from dask.utils import ensure_dict, funcname

import portarray as pa
from portarray._array import host_access, pickling
from portarray._array.array import Array
from portarray.dask import compatibility, faults, fusing, metas, scopes, spilling
from portarray.dask.narrowing import lacks, narrowed
from portarray.dask.registration import finished
from portarray.dask.replaced import by_scipy, instead_of
from portarray.errors import HostAccessError, OutOfMemoryError

__all__ = ["Checked", "Guarded", "begin", "computed", "kind_of", "mark", "optimize"]

_state = threading.local()

_RULE = (
    "portarray.dask keeps chunks on their devices; portarray.dask.to_numpy(x) gives NumPy chunks"
)


class Guarded(Task):  # type: ignore[misc]
    """A task in which no chunk becomes a NumPy array unasked."""

    __slots__ = ()

    def __call__(self, values: Any = ()) -> Any:
        """Compute the task, again if its device ran out of memory and room could be made."""
        while True:
            try:
                return self._computed(values)
            except OutOfMemoryError as error:
                if not spilling.made_room(error, values):
                    raise

    def _computed(self, values: Any) -> Any:
        arguments = [_evaluated(one, values) for one in self.args]
        options = {name: _evaluated(one, values) for name, one in self.kwargs.items()}
        function = self.func
        before = getattr(_state, "task", None)
        _state.task = self
        try:
            if function is _execute_subgraph:
                return function(*arguments, **options)
            if faults.STRAYED and function not in faults.MOVES:
                faults.refuse_strayed(_chunks((arguments, options)))
            return computed(function, arguments, options)
        except Exception as error:
            on = [str(one.device) for one in _chunks((arguments, options))]
            faults.note(error, name_of(self), on)
            raise
        finally:
            _state.task = before


class Checked(Guarded):
    """The task of a block of a collection whose meta says that its chunks are portarray's."""

    __slots__ = ()

    def __call__(self, values: Any = ()) -> Any:
        """Compute the task, and refuse chunks of another type."""
        result = super().__call__(values)
        if not isinstance(result, Array):
            raise TypeError(
                f"{name_of(self)} made a chunk of {type(result).__name__}, and the collection's "
                f"meta says portarray.Array. Move NumPy blocks that meet portarray's by "
                f"portarray.dask.to_device first; to map_blocks, pass the meta of what the "
                f"function makes, such as meta=numpy.empty(0)"
            )
        return result


def computed(function: Any, arguments: Any, options: dict[str, Any]) -> Any:
    """Call a function of a graph; beside chunks, NumPy operands go to their device."""
    other, replaced = instead_of(function)
    found = _Operands()
    found.visit(arguments)
    found.visit(options)
    if found.chunk is None and isinstance(other, partial):
        found.visit(other.args)
        found.visit(other.keywords)
    chunk = found.chunk
    if chunk is None:
        other = function
    else:
        if found.ndarrays and not replaced:
            arguments, options = _beside((arguments, options), chunk)
        if lacks(chunk.device):
            other, options = narrowed(other, options, chunk.device)
    result = other(*arguments, **options)
    if isinstance(result, Array):
        finished(result)
    elif isinstance(result, (list, tuple, dict)):
        for one in _chunks(result):
            finished(one)
    return result


def name_of(task: Task) -> str:
    """Return the operation of a task, as Dask names the layer."""
    key = task.key[0] if isinstance(task.key, tuple) else task.key
    name = str(key).rpartition("-")[0] or str(key) if key is not None else ""
    function = funcname(task.func)
    return f"{name} ({function})" if name else function


def _evaluated(node: Any, values: Any) -> Any:
    if isinstance(node, GraphNode):
        return node({key: values[key] for key in node.dependencies})
    return values[node.key] if isinstance(node, TaskRef) else node


class _Operands:
    """The first chunk among arguments, and whether there are NumPy arrays."""

    __slots__ = ("chunk", "ndarrays")

    def __init__(self) -> None:
        self.chunk: Array | None = None
        self.ndarrays = False

    def visit(self, value: Any) -> None:
        kind = type(value)
        if kind is Array:
            if self.chunk is None:
                self.chunk = value
        elif kind is list or kind is tuple:
            for one in value:
                self.visit(one)
        elif kind is dict:
            for one in value.values():
                self.visit(one)
        elif isinstance(value, np.ndarray):
            self.ndarrays = True


def _chunks(value: Any) -> Iterator[Array]:
    """Yield the portarray arrays among arguments or results."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _chunks(one)
    elif type(value) is dict:
        for one in value.values():
            yield from _chunks(one)


def _beside(value: Any, chunk: Array) -> Any:
    """Return arguments with NumPy's arrays of numbers on the chunk's device."""
    if isinstance(value, np.ndarray):
        # A masked array would lose its mask; the operation refuses it.
        if value.dtype.kind not in "biufc" or isinstance(value, np.ma.MaskedArray):
            return value
        there = pa.asarray(value, device=chunk.device, narrow=True)
        if there.dtype != value.dtype:
            warnings.warn(
                f"a NumPy operand of {value.dtype} is {there.dtype} on {chunk.device}, which has "
                f"no {value.dtype}; pass it in a dtype that the device has",
                RuntimeWarning,
                stacklevel=2,
            )
        return there
    if type(value) in (list, tuple):
        return type(value)(_beside(one, chunk) for one in value)
    if type(value) is dict:
        return {name: _beside(one, chunk) for name, one in value.items()}
    return value


def _listen(transfer: host_access.Transfer) -> None:
    task = getattr(_state, "task", None)
    if task is not None and transfer.kind in host_access.REFUSED:
        what = f"{transfer.kind} in Dask's {name_of(task)}"
        raise HostAccessError(what, str(transfer.device), "", _RULE)


def _guarded(node: Any, layers: Any) -> Any:
    """Return a node of a graph with its tasks guarded; ``layers`` are those it comes from."""
    kind = type(node)
    if kind is Task:
        args = node.args
        if node.func is _execute_subgraph:
            inner, *rest = args
            args = ({key: _guarded(one, layers) for key, one in dict(inner).items()}, *rest)
        made = Guarded(
            node.key,
            _there(node, layers),
            *[_guarded(one, layers) if isinstance(one, GraphNode) else one for one in args],
            _data_producer=node.data_producer,
            **{name: _guarded(one, layers) for name, one in node.kwargs.items()},
        )
        made._dependencies = node._dependencies
        return made
    if kind in (List, Tuple):
        return kind(*(_guarded(one, layers) for one in node.args))
    if kind is Dict:
        made = object.__new__(kind)
        made.__setstate__(node.__getstate__())
        made.args = tuple(_guarded(one, layers) for one in node.args)
        return made
    return node


def _there(task: Task, layers: Any) -> Any:
    """Return a task's function; empty halves of triangles are made on the device of the meta."""
    if task.func is not np.zeros or len(task.args) != 1 or task.kwargs:
        return task.func
    layer: Any = layers.get(task.key[0]) if isinstance(task.key, tuple) else None
    if kind_of(layer) in ("", "other"):
        return task.func
    return partial(pa.zeros, dtype=layer._portarray_dtype, device=kind_of(layer))


def optimize(dsk: Any, keys: Any, **options: Any) -> Any:
    """Optimize a graph as Dask does, and guard its tasks."""
    compatibility.check_default()
    checked = _checked_names(dsk, keys)
    notes: dict[Any, Any] = {}
    if fusing.is_annotated(dsk):
        graph, notes = fusing.optimize(dsk, keys)
    else:
        graph = convert_legacy_graph(ensure_dict(plain_optimize(dsk, keys, **options)))
    found = {}
    for key, node in graph.items():
        made = _guarded(node, getattr(dsk, "layers", {}))
        if isinstance(made, Guarded) and any(name in checked for name in _names(made, key)):
            made = _as_checked(made)
        found[key] = made
    return fusing.layered(found, notes) if notes else found


def _names(task: Guarded, key: Any) -> list[Any]:
    """Return the names of the collections that a task makes a block of: fusing renames tasks."""
    keys = [key, task.args[1]] if task.func is _execute_subgraph else [key]
    return [one[0] for one in keys if isinstance(one, tuple)]


def _as_checked(task: Guarded) -> Checked:
    made = Checked.__new__(Checked)
    made.__setstate__(task.__getstate__())
    return made


def _checked_names(dsk: Any, keys: Any) -> set[Any]:
    """Return the names of the collections that are asked for, if they say that they are ours."""
    layers = getattr(dsk, "layers", {})
    names = {key[0] if isinstance(key, tuple) else key for key in flatten(_listed(keys))}
    for name in tuple(names):
        if not kind_of(layers.get(name)):  # such as what joins the blocks
            names.update(getattr(dsk, "dependencies", {}).get(name, ()))
    return {
        name
        for name in names
        if kind_of(layers.get(name)) not in ("", "other")
        and not str(name).startswith("store-map-")  # has no chunks: it writes them elsewhere
    }


def _listed(keys: Any) -> list[Any]:
    return list(keys) if isinstance(keys, (list, set)) else [keys]


# --- which collections are guarded ---------------------------------------------------------------


def kind_of(layer: Any) -> str:
    """Return what a layer's collection is.

    The text of the meta's device where that is portarray's, "other" where the collection only
    reads such ones, and "" else.
    """
    return str(getattr(layer, "_portarray", ""))


def mark(layer: Any, kind: str, dtype: str) -> None:
    """Note the kind of a layer's collection, and the dtype of its meta."""
    layer._portarray, layer._portarray_dtype = kind, dtype


def _plugin(x: dask.array.Array) -> None:
    """Guard a new collection that has chunks of portarray, or is made of one that has."""
    graph = x.dask
    layer = graph.layers.get(x.name)
    kind = str(x._meta.device) if isinstance(x._meta, Array) else ""
    if not kind:
        read = graph.dependencies.get(x.name, graph.layers)
        kinds = [kind_of(graph.layers.get(name)) for name in read]
        if any(kinds):
            kind = "other"
            # A graph of Dask's own, such as those of masks and histograms, whose meta it takes to
            # be NumPy's whatever the chunks are; of blockwise graphs it finds out.
            own = type(layer) is MaterializedLayer and not {"", "other"} & set(kinds)
            if own and x._meta.dtype.kind in "biufc":
                x._meta = metas.like(x._meta, kinds[0])
    if not kind and layer is not None and scopes.ANNOTATION in (layer.annotations or ()):
        kind = "other"
    if not kind:
        return
    if layer is not None and not kind_of(layer):
        mark(layer, kind, str(x.dtype))
    x.__dict__["__dask_optimize__"] = optimize


def begin() -> None:
    """Have Dask tell of each array that it makes, and portarray of each copy to the host."""
    host_access.LISTENERS.append(_listen)
    pickling.ELSEWHERE.append(faults.strayed)
    plugins = tuple(dask.config.get("array_plugins", ()))
    dask.config.set(array_plugins=(*plugins, _plugin))
    metas.begin(computed)
    metas.stand_in(scipy_linalg_safe, by_scipy)
