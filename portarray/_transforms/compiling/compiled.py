"""``pa.compile``: functions whose calls are recorded once, and run as programs."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from portarray._array import base
from portarray._array.array import Array
from portarray._array.results import reraise, wrapped
from portarray._config import config
from portarray._devices.device import Device
from portarray._kernel_language import source
from portarray._kernel_language.arguments import hashable
from portarray._kernel_language.remembered import remember
from portarray._transforms import precision as precisions
from portarray._transforms import tracing, trees
from portarray._transforms.compiling import programs
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.compiling.signatures import builder, setting, signature
from portarray._transforms.precision import Precision
from portarray._transforms.standard import pa
from portarray._transforms.tracing import Tracer
from portarray._transforms.verification import check_close, check_finite
from portarray.errors import TracedArrayError

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["Compiled", "compile"]

Function = Callable[..., Any]

MOST_PROGRAMS = 256
"""Programs that a compiled function remembers."""


class _Program:
    """A function compiled for arguments of one signature."""

    def __init__(self, run: Function, tables: list[Any], build: Function, told: Explanation):
        self._run = run
        self._tables = tables  # of the outputs
        self._build = build
        self._caller: Function | None = None
        self.told = told

    def __call__(self, arrays: Sequence[Array]) -> Any:
        """Return the output for the arrays of a call."""
        try:
            natives = self._run(*[x._native for x in arrays])
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            reraise(error, self.told.name, *self.told.devices)
        pairs = zip(natives, self._tables, strict=True)
        return self._build([wrapped(native, table) for native, table in pairs])

    def caller(self, arrays: Sequence[Array]) -> Function:
        """Return a function of arguments that are arrays alone, or ``None`` for other ones.

        It returns the output where the program is for them, and :data:`_OTHER` where it is not.
        """
        if self._caller is None:
            self._caller = self._made_caller(arrays)
        return self._caller

    def _made_caller(self, arrays: Sequence[Array]) -> Function:
        names = [f"x{n}" for n in range(len(arrays))]
        told: dict[str, Any] = {
            "Array": Array, "config": config, "new": base.new_uninitialized, "run": self._run,
            "reraise": reraise, "wrapped": wrapped, "build": self._build, "OTHER": _OTHER,
            "name": self.told.name, "devices": self.told.devices, "setting": setting(),
        }  # fmt: skip
        tests = ["(config._tuned_kernels, config._check_linalg) == setting"]
        for n, x in enumerate(arrays):
            told |= {f"t{n}": x._table, f"s{n}": x._native.shape}
            tests.append(f"x{n}.__class__ is Array and x{n}._table is t{n}")
            tests.append(f"x{n}._native.shape == s{n}")
        outs = []
        wraps = ""
        for n, table in enumerate(self._tables):
            told |= {f"o{n}": table, f"c{n}": table.array_type}
            outs.append(f"y{n}")
            wraps += (
                f"    if v{n}.__class__ is c{n}:\n"
                f"        y{n} = new()\n        y{n}._native = v{n}\n        y{n}._table = o{n}\n"
                f"    else:\n        y{n} = wrapped(v{n}, o{n})\n"
            )
        text = (
            f"def call({', '.join(names)}):\n"
            f"    if not ({' and '.join(tests)}):\n        return OTHER\n"
            f"    try:\n"
            f"        {''.join(f'v{n}, ' for n in range(len(outs)))}= "
            f"run({', '.join(f'{name}._native' for name in names)})\n"
            f"    except Exception as error:\n        reraise(error, name, *devices)\n"
            f"{wraps}"
            f"    return build(({', '.join(outs)},))\n"
        )
        return source.generated(text, "call", told)


_OTHER: Any = object()


class Compiled:
    """A function that is traced and compiled when it is called; made by :func:`compile`.

    Parameters
    ----------
    function : callable
        The function.
    device : Device or None
        Where arguments are moved first.
    precision : {"float16", "bfloat16", "mixed"} or None
        What it computes in.
    verify : bool
        Whether results are compared with those of float64 on NumPy.
    """

    def __init__(
        self,
        function: Function,
        device: Device | None,
        precision: str | None,
        *,
        verify: bool,
    ) -> None:
        self._function = function
        self._device = device
        self._precision = precision
        self._verify = verify
        self._programs: dict[Any, _Program] = {}
        self._recent: tuple[Function, int] = (_never, -1)
        self._making = threading.RLock()
        functools.update_wrapper(self, function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __repr__(self) -> str:
        return f"<compiled {getattr(self, '__qualname__', self.__name__)}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return a method, as functions do."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function."""
        # Most calls take arrays alone, and are like one before.
        recent, count = self._recent
        if len(args) == count and not named and precisions.now() is None:
            found = recent(*args)
            if found is not _OTHER:
                return found
        args, named, arrays, key = self._asked(args, named)
        program = self._programs.get(key)
        if program is not None:
            self._shorten(args, named, program)
            return self._checked(program(arrays))
        if any(x._native.__class__ is Tracer for x in arrays):
            return self._function(*args, **named)  # the trace around records its calls
        program = self._made(args, named, arrays, key)
        output = program(arrays)
        if self._verify:
            calls = program.told.calls
            check_close(self.__name__, self._function, args, named, output, calls)
        return self._checked(output)

    def _checked(self, output: Any) -> Any:
        if self._verify:
            check_finite(self.__name__, output)
        return output

    def _asked(self, args: Any, named: Any) -> tuple[Any, Any, list[Array], tuple[Any, ...]]:
        """Return the arguments of a call, their arrays, and what the program depends on."""
        if self._device is not None:
            args, named = self._moved((args, named))
        arrays: list[Array] = []
        parts: list[Any] = [setting(), self._precision or precisions.now()]
        for x in args:
            signature(x, arrays, parts)
        if named:
            signature(named, arrays, parts)
        key = tuple(parts)
        if not hashable(key):
            raise self._unhashable(parts)
        return args, named, arrays, key

    def _made(
        self, args: Any, named: Any, arrays: Sequence[Array], key: tuple[Any, ...]
    ) -> _Program:
        with self._making:
            program = self._programs.get(key)
            if program is None:
                program = self._make(args, named, arrays, self._precision or precisions.now())
                remember(self._programs, key, program, MOST_PROGRAMS)
        return program

    def _shorten(self, args: Sequence[Any], named: Any, program: _Program) -> None:
        """Remember a program for calls with arrays alone like this one."""
        plain = not named and self._device is None and not self._verify
        plain = plain and self._precision is None and precisions.now() is None
        if plain and all(x.__class__ is Array and x._table.known_type is not None for x in args):
            self._recent = program.caller(args), len(args)

    def explain(self, *args: Any, **named: Any) -> Explanation:
        """Say what a call runs; the function is compiled if it is not.

        Parameters
        ----------
        *args, **named
            As in a call.

        Returns
        -------
        Explanation
            The calls, the kernels that they became, what was not fused and why, and how long
            compiling took. ``print`` shows it.
        """
        args, named, arrays, key = self._asked(args, named)
        return self._made(args, named, arrays, key).told

    def _moved(self, tree: Any) -> Any:
        device: Any = self._device
        return trees.mapped(lambda x: x.to_device(device) if type(x) is Array else x, tree)

    def _unhashable(self, parts: Sequence[Any]) -> TypeError:
        wrong = next((x for x in parts if not hashable(x)), None)
        told = type(wrong[1]).__name__ if isinstance(wrong, tuple) else type(wrong).__name__
        return TypeError(
            f"{self.__name__} got {told}, of which a compiled function can depend neither as an "
            f"array nor as a constant: make an array of it with pa.asarray, or pass a hashable "
            f"value such as a number, a string or a tuple"
        )

    def _make(
        self, args: Any, named: Any, arrays: Sequence[Array], precision: str | None
    ) -> _Program:
        """Trace the function and compile what it calls."""
        begin = time.perf_counter()
        capture = Capture(precision)
        narrow = precision if precision in ("float16", "bfloat16") else None
        followed: list[Array] = []
        before: list[Any] = []
        widest: list[Any] = []

        def follow(x: Any) -> Any:
            if type(x) is not Array:
                return x
            made = capture.argument(x)
            followed.append(made)
            before.append(made._native)
            if narrow is not None and x._table.kind == "f" and x.dtype.itemsize > 2:
                widest.append(x.dtype)
                return pa.astype(made, narrow)
            return made

        given, options = trees.mapped(follow, (tuple(args), named))
        try:
            output = self._function(*given, **options)
            if widest:
                wide = max(widest, key=lambda dtype: dtype.itemsize)
                output = trees.mapped(lambda x: _widened(x, wide), output)
        finally:
            capture.ended = (
                f"an array that pa.compile traced in {self.__name__} is used after it has "
                f"returned: return it from the function instead of keeping it"
            )
        for x, native in zip(followed, before, strict=True):
            if x._native is not native:
                raise TracedArrayError(
                    f"{self.__name__} changes an argument in place, which a compiled function "
                    f"cannot do: return the changed array, and change a copy, x.copy()"
                )
        leaves = trees.leaves(output)
        if not leaves:
            raise TypeError(
                f"{self.__name__} returns no arrays, so that there is nothing to compile; it "
                f"returned {type(output).__name__}"
            )
        graph = capture.graph([x._native for x in leaves])
        tables = [_table(x) for x in leaves]
        natives = [x._native for x in arrays]
        run, told = programs.program(graph, self.__name__, natives)
        told.seconds = time.perf_counter() - begin
        template = trees.mapped(lambda x: _LEAF if type(x) is Array else x, output)
        return _Program(run, tables, builder(template, lambda x: x is _LEAF), told)


def _never(*_: Any) -> Any:
    return _OTHER


def _widened(x: Any, dtype: Any) -> Any:
    """Return an array of halves in the dtype of the arguments."""
    if type(x) is Array and x._table.kind == "f" and x.dtype.itemsize == 2:
        return pa.astype(x, dtype)
    return x


_LEAF: Any = type("Leaf", (), {"__repr__": lambda _: "<array>"})()


def _table(x: Array) -> Any:
    """Return the table of an array, of its own device if it is traced."""
    if x._native.__class__ is Tracer:
        return tracing.untraced(tracing.lowered(x._native), x._native.home)._table
    return x._table


@overload
def compile(
    function: Function,
    /,
    *,
    device: DeviceLike | None = None,
    precision: Precision | None = None,
    verify: bool = False,
) -> Compiled: ...
@overload
def compile(
    *,
    device: DeviceLike | None = None,
    precision: Precision | None = None,
    verify: bool = False,
) -> Callable[[Function], Compiled]: ...
def compile(
    function: Function | None = None,
    /,
    *,
    device: DeviceLike | None = None,
    precision: Precision | None = None,
    verify: bool = False,
) -> Compiled | Callable[[Function], Compiled]:
    """Return a function that is traced once for each kind of arguments, and runs compiled.

    The first call with arguments of some shapes and dtypes makes the calls of the function on
    traced arrays, whose graph is compiled: by ``jax.jit``, ``mx.compile`` or PyTorch's Inductor on
    their devices; elsewhere calls that follow each other become single kernels. Later calls run the
    program.

    Parameters
    ----------
    function : callable
        Takes and returns arrays, and trees of them. What else it takes is a constant, for each of
        whose values it is compiled; so are arrays that it uses from outside, as they are when it is
        traced. Without a function, a decorator is returned.
    device : device, optional
        Where arguments are moved first; by default they stay where they are.
    precision : {"float16", "bfloat16", "mixed"}, optional
        What is computed in: floating-point arguments are converted, and results converted back. In
        ``"mixed"`` precision only the operands of matrix products are rounded, to bfloat16, or
        float16 with scaling where a device lacks it; sums are in float32. By default what
        :class:`precision` says, else the dtypes of the arguments.
    verify : bool, default: False
        Whether the first result for each kind of arguments is compared with that of the function in
        float64 on NumPy, and every result must be finite.

    Returns
    -------
    callable
        The compiled function. Its ``explain(*args)`` says what a call runs.

    Raises
    ------
    TracedArrayError
        If the function reads values of arrays, returns an array whose shape depends on values,
        changes an argument in place, or keeps an array.
    TypeError
        If it returns no arrays, or an argument is neither an array nor hashable.
    VerificationError
        If a result is wrong, with `verify`.

    See Also
    --------
    cond, while_loop, scan : Branches and loops that depend on values.

    Notes
    -----
    The function itself is called while it is traced, so that what it prints is printed once. A
    gradient of a compiled function is that of the function; compile the gradient, as in
    ``pa.compile(pa.grad(f))``. Results may differ from those of the calls by rounding.

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
        return functools.partial(compile, device=device, precision=precision, verify=verify)
    if not callable(function):
        raise TypeError(f"compile takes a function, not {type(function).__name__}")
    where = None if device is None else pa.device(device)
    return Compiled(function, where, precisions.checked(precision), verify=verify)
