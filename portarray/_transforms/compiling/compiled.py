"""``pa.compile``: functions whose calls are recorded once, and run as programs."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._kernel_language.arguments import hashable
from portarray._kernel_language.launch_cache import put as remember
from portarray._transforms import precision as precisions
from portarray._transforms import tracing, trees
from portarray._transforms.compiling import programs
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.compiling.programs import Sized
from portarray._transforms.compiling.running import OTHER, Program
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
    optimize : {"default", "aggressive"}
        Whether results may differ by more rounding.
    verify : bool
        Whether results are compared with those of float64 on NumPy.
    dynamic : bool
        Whether a program is to serve several sizes.
    """

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
        self._programs: dict[Any, Program] = {}
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
            if found is not OTHER:
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
    ) -> Program:
        with self._making:
            program = self._programs.get(key)
            if program is None:
                program = self._make(args, named, arrays, self._precision or precisions.now())
                remember(self._programs, key, program, MOST_PROGRAMS)
        return program

    def _shorten(self, args: Sequence[Any], named: Any, program: Program) -> None:
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
    ) -> Program:
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
        run, told = programs.program(
            graph, self.__name__, natives, optimize=self._optimize, sized=self._sized
        )
        told.seconds = time.perf_counter() - begin
        template = trees.mapped(lambda x: _LEAF if type(x) is Array else x, output)
        return Program(run, tables, builder(template, lambda x: x is _LEAF), told)


def _never(*_: Any) -> Any:
    return OTHER


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
    optimize : {"default", "aggressive"}, default: "default"
        ``"aggressive"`` computes some calls in another way that is faster and rounds otherwise: see
        the notes.
    verify : bool, default: False
        Whether the first result for each kind of arguments is compared with that of the function in
        float64 on NumPy, and every result must be finite.
    dynamic : bool, default: False
        Whether what is compiled is to serve arrays of other sizes. The function is still traced for
        each, but portarray's kernels take sizes as arguments, and PyTorch compiles again only where
        the calls differ by more than the sizes of arrays. JAX compiles for each shape.

    Returns
    -------
    callable
        The compiled function. Its ``explain(*args)`` says what a call runs.

    Raises
    ------
    TracedArrayError
        If the function reads values of arrays, returns an array whose shape depends on values,
        changes an argument in place, or keeps an array.
    ValueError
        If `precision` or `optimize` is none of these.
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

    What ``optimize="aggressive"`` rewrites in real floating-point arithmetic, on every device, and
    by how much the new calls may be wrong, in units of rounding ``eps = finfo(dtype).eps``:

    - ``n`` factors and divisors that are numbers become one factor: ``n`` eps of the result, and 2
      for one divisor
    - ``n`` terms that are numbers become one: ``n`` eps of the sum of absolute values
    - powers up to 8 become products: as many eps of the result as the exponent
    - a division by one number for each row, or fewer, becomes a product: 2 eps of the result
    - products of matrices are computed in the cheaper order: as many eps as both sums have terms,
      of the product of the absolute values of the matrices
    - sums of sums and means of means become one: as many eps as there are terms, of the sum or mean
      of absolute values

    Numbers that overflow or are subnormal on the way are excepted, and infinities and NaN in
    products of matrices.
    ``explain`` says what was rewritten. The libraries' own compilers, whose options have no such
    bounds, and functions such as ``exp`` stay as they are.

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
        raise TypeError(f"compile takes a function, not {type(function).__name__}")
    if optimize not in ("default", "aggressive"):
        raise ValueError(f"optimize={optimize!r}; use 'default' or 'aggressive'")
    where = None if device is None else pa.device(device)
    asked = precisions.checked(precision)
    return Compiled(function, where, asked, optimize=optimize, verify=verify, dynamic=dynamic)
