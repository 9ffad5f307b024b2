"""``pa.compile``: trace a function once for each signature and run the compiled program."""

from __future__ import annotations

import copy
import functools
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, overload

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._array.results import wrapped
from portarray._config import config
from portarray._devices.device import Device
from portarray._devices.selection import watch_default
from portarray._kernel_language.arguments import hashable
from portarray._kernel_language.launch_cache import put
from portarray._namespace import pa
from portarray._transforms import precision as precisions
from portarray._transforms import tracing
from portarray._transforms.compiling import lowering
from portarray._transforms.compiling.codegen import OTHER, builder
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.compiling.lowering import Sized
from portarray._transforms.compiling.program import Call, Output, Program, containers
from portarray._transforms.compiling.signatures import frozen, is_value, repeats, signature
from portarray._transforms.compiling.state import State, traced_state
from portarray._transforms.compiling.state_reading import check_constant, read_state
from portarray._transforms.gradient_arguments import parameter
from portarray._transforms.precision import Precision
from portarray._transforms.tracer import Tracer, lowered
from portarray._trees import array_trees
from portarray._trees.node_types import node_type
from portarray._verification.functions import check_close, check_finite
from portarray.errors import TracedArrayError

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["Compiled", "compile"]

Function = Callable[..., Any]

MOST_PROGRAMS = 256
"""Signatures that a compiled function caches."""

MOST_STATES = 8
"""Programs that it caches for one signature: what it reads elsewhere had as many values."""


class Compiled:
    """A function that is traced and compiled when it is called; see :func:`compile`."""

    def __init__(
        self,
        function: Function,
        device: Device | None,
        precision: str | None,
        *,
        optimize: str,
        verify: bool,
        dynamic: bool,
    ) -> None:
        self._function = function
        self._device = device
        self._precision = precision
        self._optimize = optimize
        self._verify = verify
        self._sized = Sized() if dynamic else None
        self._programs: dict[Any, tuple[Program, ...]] = {}
        self._recent: tuple[Function, int] = (_never, -1)
        self._lock = threading.RLock()
        functools.update_wrapper(self, function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __repr__(self) -> str:
        return f"<compiled {getattr(self, '__qualname__', self.__name__)}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return a method, as functions do."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function."""
        # Fast path: only arrays, with the signature of the previous call.
        recent, count = self._recent
        if len(args) == count and not named and precisions.now() is None:
            fast_output = recent(*args)
            if fast_output is not OTHER:
                return fast_output
        call = self._call_of(args, named)
        program, state = self._cached(call)
        if program is not None:
            self._set_fast_path(call, program)
            return self._checked(program(call, state))
        if any(x._native.__class__ is Tracer for x in call.arrays):
            return self._function(*call.args, **call.named)  # the outer trace records its calls
        program, state = self._program(call)
        if program is None:
            return self._function(*call.args, **call.named)
        output = program(call, state)
        if self._verify:
            calls = program.explanation.calls
            check_close(self.__name__, self._function, call.args, call.named, output, calls)
        return self._checked(output)

    def _checked(self, output: Any) -> Any:
        if self._verify:
            check_finite(self.__name__, output)
        return output

    def _call_of(self, args: Any, named: Any) -> Call:
        """Return the arguments of a call, what they contain and the key of the programs."""
        if self._device is not None:
            device: Any = self._device
            args, named = array_trees.mapped(
                lambda x: x.to_device(device) if type(x) is Array else x, (args, named)
            )
        arrays: list[Array] = []
        objects: list[Any] = []
        parts: list[Any] = [config.values, self._precision or precisions.now()]
        try:
            for x in args:
                signature(x, arrays, parts, objects)
            if named:
                signature(named, arrays, parts, objects)
        except RecursionError:
            raise TypeError(
                f"{self.__name__}: an argument contains itself, or is nested too deep\n"
                f"Hint: pass the arrays that the function needs"
            ) from None
        if len(arrays) > 1:
            parts.append(repeats(arrays))
        if len(objects) > 1:
            parts.append(repeats(objects))
        key = tuple(parts)
        if not hashable(key):
            raise self._unhashable(parts)
        return Call(args, named, arrays, objects, key)

    def _cached(self, call: Call) -> tuple[Program | None, list[Array]]:
        """Return the program for a call and the arrays that it reads elsewhere."""
        for program in self._programs.get(call.key, ()):
            state = program.state_arrays(call)
            if state is not None:
                return program, state
        return None, []

    def _program(self, call: Call) -> tuple[Program | None, list[Array]]:
        """Return a cached or new program; None if an outer trace records the calls."""
        with ExitStack() as tracing_now:
            tracing_now.enter_context(_tracing)
            with self._lock:
                program, state = self._cached(call)
                if program is not None:
                    return program, state
                started = time.perf_counter()
                while True:
                    reading = read_state(
                        self._function, call.objects, [call.args, call.named], self.__name__
                    )
                    if any(x._native.__class__ is Tracer for x in reading.arrays):
                        return None, []
                    traced = _Traced(self.__name__, self._precision or precisions.now())
                    traced.run(self._function, call, reading)
                    if traced.capture.borrowed:
                        return None, []
                    if not reading.has_imported():
                        break
                tracing_now.close()  # other functions may be traced while this one is compiled
                program = traced.program(call, self._optimize, self._sized)
                program.explanation.seconds = time.perf_counter() - started
                state, reading.arrays = reading.arrays, []
                reading.objects.clear()
                programs = self._programs.get(call.key, ())[: MOST_STATES - 1]
                put(self._programs, call.key, (program, *programs), MOST_PROGRAMS)
                return program, state

    def _set_fast_path(self, call: Call, program: Program) -> None:
        """Use a program's fast path for calls like this one, if all arguments are arrays."""
        plain = not call.named and self._device is None and not self._verify
        plain = plain and self._precision is None and precisions.now() is None
        if plain and all(
            x.__class__ is Array and x._dispatch.known_type is not None for x in call.args
        ):
            self._recent = program.fast_path(call.args), len(call.args)

    def explain(self, *args: Any, **named: Any) -> Explanation:
        """Explain what a call runs, compiling the function if necessary.

        Parameters
        ----------
        *args, **named
            As in a call.

        Returns
        -------
        Explanation
            The calls, the fused kernels, what was not fused and why, and the compilation time.
            ``print`` shows it.
        """
        program, _ = self._program(self._call_of(args, named))
        if program is None:
            raise TracedArrayError(
                f"{self.__name__}: explain cannot be called with traced arrays\n"
                f"Hint: call it outside functions that are compiled or differentiated"
            )
        return program.explanation

    def _unhashable(self, parts: Sequence[Any]) -> TypeError:
        wrong = next((x for x in parts if not hashable(x)), None)
        type_name = type(wrong[1]).__name__ if isinstance(wrong, tuple) else type(wrong).__name__
        return TypeError(
            f"{self.__name__}: an argument of a compiled function is {type_name}, neither an array "
            f"nor a hashable constant\nHint: convert it with pa.asarray, or pass a number, a "
            f"string or a tuple"
        )


_tracing = threading.RLock()
"""Held while a function is traced: tracing changes arrays that other functions may read, too.

It is acquired before the lock of a compiled function, whose trace may call other ones.
"""


class _Traced:
    """A call of a function that is traced."""

    def __init__(self, name: str, precision: str | None) -> None:
        self._name = name
        self._narrow = precision if precision in ("float16", "bfloat16") else None
        self.capture = Capture(precision)
        self._arguments: list[Array] = []  # the traced ones
        self._widest: list[Any] = []

    def run(self, function: Function, call: Call, state: State) -> None:
        """Call the function with traced arrays; raise if it changes what it is given."""
        of_state = {} if self._narrow else {id(x): index for index, x in enumerate(state.arrays)}
        self.aliases = [
            (n, of_state[id(x)]) for n, x in enumerate(call.arrays) if id(x) in of_state
        ]
        self.state = state
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
        before = _contents(function, args, named)
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
        for x, native in zip(self._arguments, natives, strict=True):
            if x._native is not native or native.is_stale:
                raise TracedArrayError(
                    f"{self._name}: a compiled function cannot change an argument in place\n"
                    f"Hint: change a copy, x.copy(), and return it"
                )
        after = _contents(function, args, named)
        for old, new in itertools.zip_longest(before, after, fillvalue=("", None, None)):
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

        if not array_trees.leaves(output):
            raise TypeError(
                f"{self._name}: a compiled function must return arrays; it returned "
                f"{type(output).__name__}"
            )
        self._template = template(output)

    def program(self, call: Call, optimize: str, sized: Sized | None) -> Program:
        """Compile what the function called."""
        capture, state = self.capture, self.state
        tracers = [data[0] for where, _, data in self._sources if where == "run"]
        graph = capture.graph(tracers)
        shared = iter(capture.shared_outputs(tracers, graph.outputs))
        outputs = [
            _output(where, index, data, where == "run" and next(shared))
            for where, index, data in self._sources
        ]
        used = [n for n, index in enumerate(capture.state) if index in set(graph.inputs)]
        natives = [x._native for x in (*call.arrays, *[state.arrays[n] for n in used])]
        run, explanation = lowering.program(
            graph, self._name, natives, optimize=optimize, sized=sized
        )
        for n, index in enumerate(capture.state):
            if index in capture.read_state:
                state.check_values(n)
        read = state.reader(len(call.objects))
        build = builder(self._template, lambda x: x is _LEAF)
        return Program(
            run, state, read, used, self.aliases, self.shared_containers, outputs, build,
            explanation,
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


def _never(*_: Any) -> Any:
    return OTHER


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


@overload
def compile(
    function: Function,
    /,
    *,
    device: DeviceLike | None = None,
    precision: Precision | None = None,
    optimize: Literal["default", "aggressive"] = "default",
    verify: bool = False,
    dynamic: bool = False,
) -> Compiled: ...
@overload
def compile(
    *,
    device: DeviceLike | None = None,
    precision: Precision | None = None,
    optimize: Literal["default", "aggressive"] = "default",
    verify: bool = False,
    dynamic: bool = False,
) -> Callable[[Function], Compiled]: ...
def compile(
    function: Function | None = None,
    /,
    *,
    device: DeviceLike | None = None,
    precision: Precision | None = None,
    optimize: Literal["default", "aggressive"] = "default",
    verify: bool = False,
    dynamic: bool = False,
) -> Compiled | Callable[[Function], Compiled]:
    """Compile a function: trace it once for each signature, then run the compiled program.

    The first call with arguments of some shapes and dtypes traces the function and compiles the
    graph of its calls: with ``jax.jit``, ``mx.compile`` or PyTorch's Inductor on their devices;
    elsewhere portarray fuses calls into kernels. Later calls run the program.

    Parameters
    ----------
    function : callable
        Takes and returns arrays, and trees of them. Each new value of another argument compiles
        again. So does each new value that the function reads in its scope and from attributes of
        objects; arrays there are inputs. Without a function, a decorator is returned.
    device : device, optional
        The device that arguments are moved to first; by default they are not moved.
    precision : {"float16", "bfloat16", "mixed"}, optional
        The precision of the computation: floating-point arguments are converted, and results
        converted back. ``"mixed"`` rounds only the operands of matrix products, to bfloat16, or to
        scaled float16 on devices without it; sums are in float32. The default is the precision
        of an enclosing :class:`precision` block, else the dtypes of the arguments.
    optimize : {"default", "aggressive"}, default: "default"
        ``"aggressive"`` replaces some calls by faster ones with different rounding: see the notes.
    verify : bool, default: False
        Whether to compare the first result for each signature with that of the function in float64
        on NumPy, and to require every result to be finite.
    dynamic : bool, default: False
        Whether to compile for arrays of several sizes. The function is still traced for each, but
        portarray's kernels take sizes as arguments, and PyTorch compiles again only if the calls
        differ in more than the sizes of arrays. JAX compiles for each shape.

    Returns
    -------
    callable
        The compiled function. Its ``explain(*args)`` returns what a call runs.

    Raises
    ------
    TracedArrayError
        If the function reads values of arguments, creates an array whose shape depends on them,
        or changes what is not local: an argument or array in place, a container, an attribute.
    ValueError
        If `precision` or `optimize` is invalid.
    TypeError
        If it returns no arrays, an argument is neither an array nor hashable, or the function
        reads an iterator or generator.
    VerificationError
        If a result is wrong, with `verify`.

    See Also
    --------
    cond, while_loop, scan : Control flow that depends on values.

    Notes
    -----
    The function runs only while it is traced, so it prints once. The gradient of a compiled
    function is not compiled; write ``pa.compile(pa.grad(f))``. Results may differ from those of
    the calls by rounding.

    ``optimize="aggressive"`` rewrites real floating-point arithmetic on every device. The errors of
    the new calls are bounded in units of rounding, ``eps = finfo(dtype).eps``:

    - ``n`` scalar factors and divisors become one factor: ``n`` eps of the result, 2 for one
      divisor
    - ``n`` scalar terms become one: ``n`` eps of the sum of absolute values
    - powers up to 8 become products: as many eps of the result as the exponent
    - a division by one number per row, or fewer, becomes a product: 2 eps of the result
    - matrix products are computed in the cheaper order: as many eps as both sums have terms, of
      the product of the absolute values of the matrices
    - sums of sums and means of means become one: as many eps as there are terms, of the sum or mean
      of absolute values

    The bounds exclude intermediate overflow and subnormal numbers, and infinities and NaN in
    matrix products. ``explain`` lists what was rewritten. The options of the libraries' own
    compilers, which have no such bounds, do not change; neither do functions such as ``exp``.

    Examples
    --------
    >>> import portarray as pa
    >>> @pa.compile
    ... def normalized(x):
    ...     return (x - pa.mean(x)) / pa.std(x)
    >>> normalized(pa.asarray([1.0, 2.0, 3.0]))
    Array([-1.22474487,  0.        ,  1.22474487], dtype=float64, device='numpy:cpu:0')
    >>> normalized.explain(pa.asarray([1.0, 2.0, 3.0])).calls
    4
    """
    if function is None:
        return functools.partial(
            compile, device=device, precision=precision, optimize=optimize, verify=verify,
            dynamic=dynamic,
        )  # fmt: skip
    if not callable(function):
        raise TypeError(f"compile: {type(function).__name__} is not a function")
    if optimize not in ("default", "aggressive"):
        raise ValueError(f"compile: optimize={optimize!r} is not 'default' or 'aggressive'")
    where = None if device is None else pa.device(device)
    checked_precision = precisions.checked(precision)
    return Compiled(
        function, where, checked_precision, optimize=optimize, verify=verify, dynamic=dynamic
    )
