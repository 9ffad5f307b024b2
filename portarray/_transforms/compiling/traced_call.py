"""A call of a function that is traced, and the program that is compiled from it."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._array.results import wrapped
from portarray._config import config
from portarray._devices.selection import watch_default
from portarray._namespace import pa
from portarray._transforms import tracing
from portarray._transforms.compiling.codegen import builder
from portarray._transforms.compiling.graph import Capture, Graph
from portarray._transforms.compiling.program import Call, Output, Program, containers
from portarray._transforms.compiling.signatures import frozen, is_value, repeats
from portarray._transforms.compiling.state import State, traced_state
from portarray._transforms.compiling.state_reading import check_constant
from portarray._transforms.gradient_arguments import parameter
from portarray._transforms.tracer import Tracer, lowered
from portarray._trees import array_trees
from portarray._trees.node_types import node_type
from portarray.errors import TracedArrayError

if TYPE_CHECKING:
    from portarray._transforms.compiling.lowering import Sized

__all__ = ["TracedCall"]

Function = Callable[..., Any]


class TracedCall:
    """A call of a function that is traced."""

    def __init__(self, name: str, precision: str | None) -> None:
        self._name = name
        self._narrow = precision if precision in ("float16", "bfloat16") else None
        self.capture = Capture(precision)
        self._arguments: list[Array] = []  # the traced ones
        self._widest: list[Any] = []
        self._copies_of_arguments: list[tuple[Array, Any]] = []  # in 16 bits

    def run(self, function: Function, call: Call, state: State) -> None:
        """Call the function with traced arrays; raise if it changes what it is given."""
        of_state = {} if self._narrow else {id(x): index for index, x in enumerate(state.arrays)}
        self.aliases = [
            (n, of_state[id(x)]) for n, x in enumerate(call.arrays) if id(x) in of_state
        ]
        self.state = state
        self.capture.uncopied = set(map(id, state.uncopied))
        traced: dict[int, Array] = {}

        def trace(x: Any) -> Any:
            if type(x) is not Array:
                return x
            argument = self.capture.argument(x)
            self._arguments.append(argument)
            if id(x) in of_state:
                return x  # it is traced in its place
            if id(x) not in traced:
                traced[id(x)] = self._narrowed(x, argument)
            return traced[id(x)]

        args, named = self._copied((tuple(call.args), dict(call.named)), trace)
        natives = [x._native for x in self._arguments]
        contents = _contents(function, args, named)
        try:
            settings = config.values
            with watch_default() as devices, traced_state(state, self.capture):
                output = function(*args, **named)
                if self._widest:
                    wide = max(self._widest, key=lambda dtype: dtype.itemsize)
                    output = array_trees.mapped(lambda x: _widened(x, wide), output)
                self._keep(output, call, state)
        finally:
            self.capture.ended = (
                f"{self._name}: an array traced by pa.compile is used after the function has "
                f"returned\nHint: return it from the function"
            )
        self.changed: dict[int, Tracer] = {}
        for n, (x, native) in enumerate(zip(self._arguments, natives, strict=True)):
            if n in call.inplace and x._native.__class__ is Tracer:
                if x._native.is_stale:
                    raise TracedArrayError(
                        f"{self._name}: an argument is changed through a view of it\n"
                        f"Hint: assign to the argument itself, as in x[0, :] = y, and pass kernels "
                        f"the whole array"
                    )
                if x._native is not native:
                    self.changed[n] = x._native
                continue
            if x._native is not native or native.is_stale:
                raise TracedArrayError(
                    f"{self._name}: a compiled function cannot change an argument in place\n"
                    f"Hint: change a copy, x.copy(), and return it; or name its position in "
                    f"inplace_argnums"
                )
        if any(
            x._native is not native or native.is_stale for x, native in self._copies_of_arguments
        ):
            raise TracedArrayError(
                f"{self._name}: an argument is changed in place with precision {self._narrow!r}, "
                f"which passes copies of arguments\nHint: return the new values"
            )
        after = _contents(function, args, named)
        for old, new in itertools.zip_longest(contents, after, fillvalue=("", None, None)):
            if old[:2] != new[:2]:
                raise state.refuse_change(min(old[0], new[0], key=len) or old[0] or new[0])
        if config.values is not settings:
            raise state.refuse_change("pa.config")
        if len(devices) > 1:
            raise state.refuse_change("the default device")
        for device in devices:
            state.check_default(device)
        arrays = state.reader(len(call.objects))(*call.objects)
        if type(arrays) is not list:
            raise state.refuse_change(arrays)
        for x, y, path in zip(arrays, state.arrays, state.paths, strict=True):
            if x is not y:
                raise state.refuse_change(path)

    def _copied(self, arguments: tuple[Any, Any], trace: Function) -> Any:
        """Return the arguments with traced arrays; a container that is there twice still is."""
        # With the originals, and kept while the output is read: ids of freed objects come again.
        self._copies: dict[int, tuple[Any, Any]] = {}
        self._containers: dict[int, int] = {}  # by the ids of copies
        self.shared_containers = repeats(containers(arguments))
        count = itertools.count()

        def copied(x: Any) -> Any:
            node = None if type(x) is Array else node_type(x)
            if node is None:
                return trace(x)
            index = next(count)
            children, aux = node.flatten(x)
            children = [copied(child) for child in children]
            if id(x) not in self._copies:
                copy = node.unflatten(x, children, aux)
                self._copies[id(x)] = x, copy
                self._containers[id(copy)] = index
            return self._copies[id(x)][1]

        return copied(arguments)

    def _narrowed(self, x: Array, argument: Array) -> Array:
        if self._narrow is not None and x._dispatch.kind == "f" and x.dtype.itemsize > 2:
            self._widest.append(x.dtype)
            narrowed: Array = pa.astype(argument, self._narrow)
            self._copies_of_arguments.append((narrowed, narrowed._native))
            return narrowed
        return argument

    def _keep(self, output: Any, call: Call, state: State) -> None:
        """Note where the leaves of the output come from, while the state is traced."""
        self._sources: list[tuple[str, int, Any]] = []
        arguments = {id(x): n for n, x in enumerate(self._arguments)}
        of_state = {id(x): n for n, x in enumerate(state.arrays)}
        objects = {id(x): n for n, x in enumerate(call.objects)}

        leaves: dict[int, int] = {}

        def source(x: Any) -> Any:
            if type(x) is Array:
                if id(x) in leaves:
                    self._sources.append(("leaf", leaves[id(x)], None))
                    return _LEAF
                leaves[id(x)] = len(self._sources)
                if id(x) in arguments or id(x) in of_state:
                    where = "argument" if id(x) in arguments else "state"
                    self._sources.append((where, (arguments | of_state)[id(x)], None))
                elif x._native.__class__ is Tracer and x._native.trace is self.capture:
                    self._sources.append(("run", 0, (x._native, table_of(x))))
                else:
                    values = self.capture.snapshot(lowered(x._native), x.device)
                    self._sources.append(("constant", 0, (values, table_of(x))))
                return _LEAF
            if id(x) in objects:
                self._sources.append(("object", objects[id(x)], None))
                return _LEAF
            if not is_value(x) and not isinstance(x, type):
                if state.check_identity(x):
                    self._sources.append(("same", 0, x))
                    return _LEAF
                check_constant(x, self._name)
                self._sources.append(("constant", 0, (x, None)))
                return _LEAF
            return x

        def template(x: Any) -> Any:
            """Return a copy of the output with the sources of its leaves noted."""
            node = None if type(x) is Array else node_type(x)
            if node is None:
                return None if x is None else source(x)
            if id(x) in self._containers:
                self._sources.append(("container", self._containers[id(x)], None))
                return _LEAF
            if state.check_identity(x):
                self._sources.append(("same", 0, x))
                return _LEAF
            children, aux = node.flatten(x)
            return node.unflatten(x, [template(child) for child in children], aux)

        self._template = template(output)

    def graph(self) -> tuple[Graph, list[Output], Function]:
        """Return the graph of the calls, the sources of the output's leaves, and its builder."""
        tracers = [data[0] for where, _, data in self._sources if where == "run"]
        graph = self.capture.graph(tracers, self.changed)
        shared = iter(self.capture.shared_outputs(tracers, graph.outputs[: len(tracers)]))
        outputs = [
            _output(where, index, data, where == "run" and next(shared))
            for where, index, data in self._sources
        ]
        return graph, outputs, builder(self._template, lambda x: x is _LEAF)

    def program(self, call: Call, optimize: str, sized: Sized | None) -> Program:
        """Compile what the function called."""
        from portarray._transforms.compiling import lowering  # plans of calls need none

        capture, state = self.capture, self.state
        graph, outputs, build = self.graph()
        used = [n for n, index in enumerate(capture.state) if index in set(graph.inputs)]
        natives = [x._native for x in (*call.arrays, *[state.arrays[n] for n in used])]
        run, explanation = lowering.program(
            graph, self._name, natives, optimize=optimize, sized=sized
        )
        for n, index in enumerate(capture.state):
            if index in capture.read_state:
                state.check_values(n)
        read = state.reader(len(call.objects))
        return Program(
            run, state, read, used, self.aliases, self.shared_containers, outputs, build,
            explanation, tuple(self.changed),
        )  # fmt: skip


def _output(where: Any, index: int, data: Any, is_shared: bool) -> Output:
    if where == "same":
        return Output("constant", make=lambda: data)
    if where == "constant" and data[1] is None:
        return Output(where, make=functools.partial(copy.deepcopy, data[0]))
    if where in ("run", "constant"):
        native, table = data
        backend = table.device._backend
        asarray = dispatch.functions_of(table.device).namespace.asarray
        copied = functools.partial(asarray, copy=True)
        if where == "run":
            copies = is_shared and not backend.immutable
            return Output(where, table=table, copy=copied if copies else None)
        if backend.immutable:
            return Output(where, make=lambda: wrapped(native, table))
        return Output(where, make=lambda: wrapped(copied(native), table))
    return Output(where, index)


def _contents(
    function: Function, args: tuple[Any, ...], named: Mapping[str, Any]
) -> list[tuple[str, Any, Any]]:
    """Return the paths of arguments and of what is in them, with what tells them apart."""

    def contents(tree: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
        node = None if type(tree) is Array else node_type(tree)
        if node is None:
            yield path, frozen(tree) if is_value(tree) else id(tree), tree
            return
        children, aux = node.flatten(tree)
        yield path, (type(tree), len(children), frozen(node.structure(tree, aux))), tree
        for n, child in enumerate(children):
            yield from contents(child, path + node.entry(tree, aux, n))

    parts = [contents(x, parameter(function, n)) for n, x in enumerate(args)]
    parts += [contents(x, name) for name, x in named.items()]
    return list(itertools.chain.from_iterable(parts))


def _widened(x: Any, dtype: Any) -> Any:
    """Return a 16-bit floating-point array in the dtype of the arguments."""
    if type(x) is Array and x._dispatch.kind == "f" and x.dtype.itemsize == 2:
        return pa.astype(x, dtype)
    return x


_LEAF: Any = type("Leaf", (), {"__repr__": lambda _: "<array>"})()


def table_of(x: Array) -> Any:
    """Return the dispatch table of an array, untraced."""
    if x._native.__class__ is Tracer:
        return tracing.untraced(lowered(x._native), x._native.home)._dispatch
    return x._dispatch
