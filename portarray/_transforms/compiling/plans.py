"""Plans: the native calls of a pure function of arrays, replayed for calls of the same kind.

Unlike programs of ``pa.compile``, plans make the same native calls as the function, one by one.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Container, Mapping
from typing import Any

from portarray._array.array import Array
from portarray._array.indexing import is_basic
from portarray._transforms.compiling.codegen import replay
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.fast_path import OTHER, never
from portarray._transforms.compiling.graph import Node, refs
from portarray._transforms.compiling.program import Call, Program
from portarray._transforms.compiling.purity import code_parts, is_pure, is_transformed
from portarray._transforms.compiling.state import State
from portarray._transforms.compiling.state_reading import read_state
from portarray._transforms.compiling.traced_call import TracedCall
from portarray._transforms.shared_memory import parts
from portarray._transforms.tracer import Tracer
from portarray._trees import array_trees

__all__ = ["OTHER", "never", "plan"]

Function = Callable[..., Any]


def plan(
    transform: Callable[[Function], Function],
    function: Function,
    args: tuple[Any, ...],
    known: Container[str],
) -> Function:
    """Return a function that repeats the native calls of ``transform(function)(*args)``.

    The transform reads nothing that may change. The result is that of :func:`.fast_path`, which
    returns ``OTHER`` for other arguments; :func:`.never` if the function may have effects, reads
    values, or makes native calls that are not in ``known``.
    """
    name = getattr(function, "__name__", type(function).__name__)
    arrays = array_trees.leaves(args)
    if any(map(_is_traced, arrays)) or not is_pure(function):
        return never
    state = read_state(function, (), (), name)
    held = {id(x) for x in state.arrays}
    is_shared = any(id(x) in held for x in arrays)
    if state.compares_identity or is_shared or any(map(_is_traced, state.arrays)):
        return never
    traced = TracedCall(name, None)
    capture = traced.capture
    stand_ins = {id(x): capture.argument(x, is_state=True) for x in state.arrays}
    watched = State(name, constants=state.constants)
    call = Call(args, {}, arrays, [], ())
    traced.run(transform(_rebound(function, stand_ins)), call, watched)
    graph, outputs, build = traced.graph()
    state.checks += watched.checks
    if not all(node.name in known and _is_independent(node) for node in graph.nodes):
        return never
    if capture.read_state or not set(refs(graph.outputs)).isdisjoint(graph.inputs):
        return never
    used = [n for n, index in enumerate(capture.state) if index in graph.inputs]
    graph.inputs.sort(key=capture.state.__contains__)
    state.arrays = []
    explanation = Explanation(name, graph.devices(), "portarray", graph.calls)
    program = Program(
        replay(graph, graph.nodes), state, state.reader(0), used, [], traced.shared_containers,
        outputs, build, explanation,
    )  # fmt: skip
    return program.fast_path(args, {})


def _is_traced(x: Array) -> bool:
    return x._native.__class__ is Tracer or x.device._backend.is_traced(x._native)


def _is_independent(node: Node) -> bool:
    """Return whether a call has no arrays of indices, which may be out of bounds."""
    is_indexed = node.name in ("getitem", "setitem")
    return not is_indexed or is_basic(map(type, parts(node.args[1])))


def _rebound(function: Function, stand_ins: Mapping[int, Array]) -> Function:
    """Return a copy of a pure function that refers to other arrays, given by id."""
    copies: dict[int, Any] = {}

    def copied(x: Any) -> Any:
        kind = type(x)
        if kind is Array:
            return stand_ins.get(id(x), x)
        if kind in (list, tuple):
            return kind(map(copied, x))
        if kind is dict:
            return {key: copied(value) for key, value in x.items()}
        if kind is not types.FunctionType or not (is_users(x) or is_transformed(x)):
            return x
        if id(x) not in copies:
            cells = [types.CellType() for _ in x.__closure__ or ()]
            names = dict(x.__globals__)
            copies[id(x)] = types.FunctionType(x.__code__, names, x.__name__, None, tuple(cells))
            copies[id(x)].__defaults__ = copied(x.__defaults__)
            copies[id(x)].__kwdefaults__ = copied(x.__kwdefaults__)
            for cell, original in zip(cells, x.__closure__ or (), strict=True):
                cell.cell_contents = copied(original.cell_contents)
            if is_users(x):
                read = {key for code in code_parts(x.__code__) for key in code.co_names}
                names.update({key: copied(names[key]) for key in read if key in names})
        return copies[id(x)]

    def is_users(x: types.FunctionType) -> bool:
        return not x.__globals__.get("__name__", "").startswith("portarray.")

    return copied(function) if stand_ins else function
