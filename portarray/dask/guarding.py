"""Tasks that keep chunks on their devices.

Dask calls a *plugin* for each array that it creates. For arrays with portarray chunks, and arrays
derived from them, the plugin sets an optimization that makes each task a :class:`Guarded` one. It
moves NumPy operands that Dask put into the graph to the device of the chunks, and raises an error
for an implicit copy of a chunk to NumPy.
"""

from __future__ import annotations

import operator
import threading
import warnings
from collections.abc import Iterable, Iterator
from functools import partial, wraps
from typing import Any

import dask
import dask.array
import numpy as np

# Private: no public way gives a task a class of its own. pyproject.toml bounds Dask's release.
from dask._task_spec import (
    Alias,
    Dict,
    GraphNode,
    List,
    Task,
    TaskRef,
    Tuple,
    _execute_subgraph,
    convert_legacy_task,
)
from dask.array.core import finalize
from dask.array.rechunk import rechunk
from dask.array.utils import scipy_linalg_safe
from dask.highlevelgraph import MaterializedLayer
from dask.utils import funcname

import portarray as pa
from portarray._array import host_access, pickling
from portarray._array.array import Array
from portarray.dask import (
    compatibility,
    faults,
    fusing,
    metas,
    owners,
    scoped_tasks,
    scopes,
    spilling,
)
from portarray.dask.garbage import without_collections
from portarray.dask.layers import mark_layer
from portarray.dask.narrowing import lacks, narrowed
from portarray.dask.random_methods import is_choice
from portarray.dask.registration import finished
from portarray.dask.replaced import by_scipy, instead_of
from portarray.errors import HostAccessError, OutOfMemoryError

__all__ = ["Checked", "Guarded", "computed", "install_hooks", "kind_of", "mark", "optimize"]

_state = threading.local()

_RULE = (
    "portarray.dask keeps chunks on their devices; portarray.dask.to_numpy(x) gives NumPy chunks"
)


class Guarded(Task):  # type: ignore[misc]
    """A task that raises an error if a chunk is implicitly converted to NumPy."""

    __slots__ = ()

    def __call__(self, values: Any = ()) -> Any:
        """Compute the task; retry after freeing device memory."""
        while True:
            try:
                return self._computed(values)
            except OutOfMemoryError as error:
                if not spilling.made_room(error, values):
                    raise

    def _computed(self, values: Any) -> Any:
        arguments = [_evaluated(node, values) for node in self.args]
        options = {name: _evaluated(node, values) for name, node in self.kwargs.items()}
        function = self.func
        previous = getattr(_state, "task", None)
        _state.task = self
        try:
            if function is _execute_subgraph:
                return function(*arguments, **options)
            is_unplaced = scoped_tasks.owner() == ""
            if faults.MISPLACED and not is_unplaced and not faults.accepts_misplaced(function):
                faults.refuse_misplaced(_chunks((arguments, options)))
            return computed(function, arguments, options)
        except Exception as error:
            on = [str(node.device) for node in _chunks((arguments, options))]
            faults.note(error, name_of(self), on)
            raise
        finally:
            _state.task = previous


class Checked(Guarded):
    """The task of a block of a collection with a portarray meta."""

    __slots__ = ()

    def __call__(self, values: Any = ()) -> Any:
        """Compute the task, and raise if the chunk has another type."""
        result = super().__call__(values)
        if not isinstance(result, Array):
            raise TypeError(
                f"{name_of(self)}: a block is a {type(result).__name__}, but the collection's meta "
                f"is a portarray.Array\nHint: move NumPy blocks with portarray.dask.to_device "
                f"before you "
                f"combine them with portarray blocks; in map_blocks, pass the meta of the "
                f"function's "
                f"result, for example meta=numpy.empty(0)"
            )
        return result


def computed(function: Any, arguments: Any, options: dict[str, Any]) -> Any:
    """Call a function of a graph; move NumPy operands to the device of the chunks."""
    implementation, replaced = instead_of(function)
    operands = _Operands()
    operands.visit(arguments)
    operands.visit(options)
    if operands.chunk is None and isinstance(implementation, partial):
        operands.visit(implementation.args)
        operands.visit(implementation.keywords)
    chunk = operands.chunk
    if chunk is None:
        implementation = function
    else:
        owner = scoped_tasks.owner()
        if owner == "" and function is finalize:  # as explain tells where devices are known
            owner = str(chunk.device)
        if operands.mixed and owner is not None and not faults.accepts_mixed(function):
            arguments, options = owners.brought(
                (arguments, options), _chunks((arguments, options)), owner
            )
            chunk = next(_chunks((arguments, options)))
        if operands.ndarrays and not replaced:
            arguments, options = _to_device_of((arguments, options), chunk.device)
        if lacks(chunk.device):
            implementation, options = narrowed(implementation, options, chunk.device)
    result = implementation(*arguments, **options)
    if isinstance(result, Array):
        finished(result)
    elif isinstance(result, (list, tuple, dict)):
        for part in _chunks(result):
            finished(part)
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
    """The first chunk among arguments, whether others are elsewhere, and NumPy arrays."""

    __slots__ = ("chunk", "mixed", "ndarrays")

    def __init__(self) -> None:
        self.chunk: Array | None = None
        self.mixed = False
        self.ndarrays = False

    def visit(self, value: Any) -> None:
        kind = type(value)
        if kind is Array:
            if self.chunk is None:
                self.chunk = value
            elif value.device is not self.chunk.device:
                self.mixed = True
        elif kind is list or kind is tuple:
            for item in value:
                self.visit(item)
        elif kind is dict:
            for item in value.values():
                self.visit(item)
        elif isinstance(value, np.ndarray):
            self.ndarrays = True


def _chunks(value: Any) -> Iterator[Array]:
    """Yield the portarray arrays among arguments or results."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _chunks(item)
    elif type(value) is dict:
        for item in value.values():
            yield from _chunks(item)


def move_joined(block: Any, device: str) -> Any:
    """Return a block, if it is NumPy's on the device of the blocks that it is joined with."""
    return _to_device_of(block, pa.device(device))


faults.register(move_joined, misplaced=True)


def _to_device_of(value: Any, device: pa.Device) -> Any:
    """Return arguments with NumPy's arrays of numbers on a device."""
    if isinstance(value, np.ndarray):
        # A masked array would lose its mask; the operation refuses it.
        if value.dtype.kind not in "biufc" or isinstance(value, np.ma.MaskedArray):
            return value
        there = pa.asarray(value, device=device, narrow=True)
        if there.dtype != value.dtype:
            warnings.warn(
                f"to_device: {device} does not support {value.dtype}; a NumPy operand was "
                f"converted to {there.dtype}\nHint: pass the operand in a dtype that the device "
                f"supports",
                RuntimeWarning,
                stacklevel=2,
            )
        return there
    if type(value) in (list, tuple):
        return type(value)(_to_device_of(item, device) for item in value)
    if type(value) is dict:
        return {name: _to_device_of(item, device) for name, item in value.items()}
    return value


def _listen(transfer: host_access.Transfer) -> None:
    task = getattr(_state, "task", None)
    if task is not None and transfer.kind in host_access.REFUSED:
        operation = f"{transfer.kind} in Dask's {name_of(task)}"
        raise HostAccessError(operation, str(transfer.device), "", _RULE)


def _guarded(node: Any, layers: Any) -> Any:
    """Return a node of a graph with its tasks guarded; ``layers`` are those it comes from."""
    kind = type(node)
    if kind is Task:
        args, kwargs = node.args, node.kwargs
        if node.func is _execute_subgraph:
            inner, *remaining = args
            args = ({key: _guarded(child, layers) for key, child in inner.items()}, *remaining)
        else:
            args = _all_guarded(args, layers)
        if kwargs:
            kwargs = dict(zip(kwargs, _all_guarded(kwargs.values(), layers), strict=True))
        function = node.func if node.func is not np.zeros else _there(node, layers)
        return scoped_tasks.copied(Guarded, node, function, args, kwargs)
    if kind in (List, Tuple, Dict):
        args = _all_guarded(node.args, layers)
        if all(map(operator.is_, args, node.args)):  # only references
            return node
        guarded = object.__new__(kind)
        guarded.__setstate__(node.__getstate__())
        guarded.args = args
        return guarded
    return node


def _all_guarded(children: Iterable[Any], layers: Any) -> tuple[Any, ...]:
    return tuple(
        [_guarded(child, layers) if isinstance(child, Task) else child for child in children]
    )


def _there(task: Task, layers: Any) -> Any:
    """Return the function of zeros of triangular results, which use the device of the meta."""
    if len(task.args) != 1 or task.kwargs:
        return task.func
    layer: Any = layers.get(task.key[0]) if isinstance(task.key, tuple) else None
    if kind_of(layer) in ("", "other"):
        return task.func
    return partial(pa.zeros, dtype=layer._portarray_dtype, device=kind_of(layer))


@without_collections()
def optimize(dsk: Any, keys: Any, **_: Any) -> Any:
    """Optimize a graph as Dask does, and guard its tasks; for a cluster on its scheduler."""
    checked = _checked_names(dsk, keys)
    graph, notes = fusing.optimize(dsk, keys)
    layers = getattr(dsk, "layers", {})
    guarded = {}
    for key, node in graph.items():
        guarded[key] = guarded_node = _guarded(node, layers)
        if type(guarded_node) is Guarded and not checked.isdisjoint(_names(guarded_node, key)):
            guarded[key] = _as_checked(guarded_node)
    return fusing.layered(guarded, notes) if notes else guarded


def _names(task: Guarded, key: Any) -> list[Any]:
    """Return the names of the collections that a task makes a block of: fusing renames tasks."""
    keys = [key, task.args[1]] if task.func is _execute_subgraph else [key]
    return [name[0] for name in keys if isinstance(name, tuple)]


def _as_checked(task: Guarded) -> Checked:
    checked: Checked = scoped_tasks.copied(Checked, task, task.func, task.args, task.kwargs)
    return checked


def _checked_names(dsk: Any, keys: Any) -> set[Any]:
    """Return the names of the requested collections that have portarray chunks."""
    layers = getattr(dsk, "layers", {})
    names = {key[0] if isinstance(key, tuple) else key for key in fusing.output_keys(keys)}
    for name in tuple(names):
        if not kind_of(layers.get(name)):  # such as what joins the blocks
            names.update(getattr(dsk, "dependencies", {}).get(name, ()))
    return {
        name
        for name in names
        if kind_of(layers.get(name)) not in ("", "other")
        and not str(name).startswith("store-map-")  # has no chunks: it writes them elsewhere
    }


# --- which collections are guarded ---------------------------------------------------------------


def kind_of(layer: Any) -> str:
    """Return the kind of a layer's collection.

    The kind is the device of a portarray meta, "other" if the collection only reads portarray
    chunks, and "" otherwise.
    """
    return str(getattr(layer, "_portarray", ""))


def mark(layer: Any, kind: str, dtype: str) -> None:
    """Set the kind of a layer's collection and the dtype of its meta."""
    layer._portarray, layer._portarray_dtype = kind, dtype


def _plugin(x: dask.array.Array) -> None:
    """Guard a new collection that has portarray chunks or reads them."""
    graph = x.dask
    layer = graph.layers.get(x.name)
    kind = str(x._meta.device) if isinstance(x._meta, Array) else ""
    if not kind:
        read = graph.dependencies.get(x.name, graph.layers)
        # Dask computes arrays that are arguments, such as a histogram's range, in such layers.
        named = [name for name in read if not str(name).startswith("finalize-")]
        kinds = [kind_of(graph.layers.get(name)) for name in named]
        if any(kinds):
            kind = "other"
            # Dask assumes a NumPy meta for its own graphs, such as masks and histograms; for
            # blockwise graphs it computes the meta.
            is_materialized = type(layer) is MaterializedLayer and not {"", "other"} & set(kinds)
            if is_materialized and x._meta.dtype.kind in "biufc":
                x._meta = metas.like(x._meta, kinds[0])
        elif _reads_chunks(graph, named):
            kind = "other"
    elif str(x.name).startswith("load_chunk-"):  # what `da.store` reads from its target
        x._meta, kind = np.empty((0,) * x.ndim, x.dtype), "other"
    elif type(layer) is MaterializedLayer and not kind_of(layer):
        _move_joined(x, layer, kind)
    if not kind and is_choice(layer) and x._meta.dtype.kind in "biufc":
        kind = str(pa.empty(0).device)
        x._meta = metas.like(x._meta, kind)
    if not kind and layer is not None and scopes.ANNOTATION in (layer.annotations or ()):
        kind = "other"
    if not kind:
        if layer is not None:
            mark(layer, "", str(x.dtype))
        return
    if layer is not None and not kind_of(layer):
        mark(layer, kind, str(x.dtype))
        mark_layer(graph, x.name)
    x.__dict__["__dask_optimize__"] = optimize
    # what Dask calls before it sends the collection to a cluster; it returns no expressions
    x.__dict__["__dask_exprs__"] = compatibility.check_default


def _reads_chunks(graph: Any, names: Iterable[Any]) -> bool:
    """Return whether layers of no collection, such as those of xarray, read portarray chunks."""
    stack, seen = [*names], set()
    while stack:
        name = stack.pop()
        layer = graph.layers.get(name)
        if kind_of(layer):
            return True
        if layer is not None and name not in seen and not hasattr(layer, "_portarray"):
            seen.add(name)
            stack += graph.dependencies.get(name, ())
    return False


def _move_joined(x: dask.array.Array, layer: Any, device: str) -> None:
    """Move blocks that are NumPy's, such as those of a padding, to the device of the others."""
    graph = x.dask
    read = graph.dependencies.get(x.name, ())
    on_host = {name for name in read if kind_of(graph.layers.get(name)) in ("", "other")}
    if not on_host or on_host == read:
        return
    blocks = {key for name in read for key in graph.layers[name]}
    for key, value in layer.mapping.items():
        node = convert_legacy_task(key, value, blocks)
        if node.dependencies and {block[0] for block in node.dependencies} <= on_host:
            operand = TaskRef(node.target) if isinstance(node, Alias) else node
            layer.mapping[key] = Task(key, move_joined, operand, device)


@wraps(rechunk)
def _rechunk(
    x: Any,
    chunks: Any = "auto",
    threshold: Any = None,
    block_size_limit: Any = None,
    balance: bool = False,
    method: str | None = None,
) -> Any:
    if kind_of(x.dask.layers.get(x.name)):
        method = "tasks"  # "p2p" passes the bytes of chunks through workers' host memory and disks
    return rechunk(x, chunks, threshold, block_size_limit, balance, method)


def install_hooks() -> None:
    """Install the array plugin of Dask and the listener for copies to the host."""
    host_access.LISTENERS.append(_listen)
    pickling.ELSEWHERE.append(faults.note_misplaced)
    plugins = tuple(dask.config.get("array_plugins", ()))
    dask.config.set(array_plugins=(*plugins, _plugin))
    metas.install_hooks(computed)
    metas.stand_in(scipy_linalg_safe, by_scipy)
    metas.stand_in(rechunk, _rechunk)
