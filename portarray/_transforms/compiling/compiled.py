"""``pa.compile``: trace a function once for each signature and run the compiled program."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from portarray._array.array import Array
from portarray._devices.device import Device
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
from portarray._transforms.compiling.program import Program
from portarray._transforms.compiling.signatures import setting, signature
from portarray._transforms.precision import Precision
from portarray._transforms.tracing import Tracer
from portarray._trees import array_trees
from portarray._verification.functions import check_close, check_finite
from portarray.errors import TracedArrayError

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["Compiled", "compile"]

Function = Callable[..., Any]

MOST_PROGRAMS = 256
"""Programs that a compiled function caches."""


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
        self._programs: dict[Any, Program] = {}
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
        args, named, arrays, key = self._signature(args, named)
        program = self._programs.get(key)
        if program is not None:
            self._set_fast_path(args, named, program)
            return self._checked(program(arrays))
        if any(x._native.__class__ is Tracer for x in arrays):
            return self._function(*args, **named)  # the outer trace records its calls
        program = self._program(args, named, arrays, key)
        output = program(arrays)
        if self._verify:
            calls = program.explanation.calls
            check_close(self.__name__, self._function, args, named, output, calls)
        return self._checked(output)

    def _checked(self, output: Any) -> Any:
        if self._verify:
            check_finite(self.__name__, output)
        return output

    def _signature(self, args: Any, named: Any) -> tuple[Any, Any, list[Array], tuple[Any, ...]]:
        """Return the arguments of a call, their arrays and the key of the program."""
        if self._device is not None:
            device: Any = self._device
            args, named = array_trees.mapped(
                lambda x: x.to_device(device) if type(x) is Array else x, (args, named)
            )
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

    def _program(
        self, args: Any, named: Any, arrays: Sequence[Array], key: tuple[Any, ...]
    ) -> Program:
        with self._lock:
            program = self._programs.get(key)
            if program is None:
                program = self._make(args, named, arrays, self._precision or precisions.now())
                put(self._programs, key, program, MOST_PROGRAMS)
        return program

    def _set_fast_path(self, args: Sequence[Any], named: Any, program: Program) -> None:
        """Use a program's fast path for calls like this one, if all arguments are arrays."""
        plain = not named and self._device is None and not self._verify
        plain = plain and self._precision is None and precisions.now() is None
        if plain and all(x.__class__ is Array and x._dispatch.known_type is not None for x in args):
            self._recent = program.fast_path(args), len(args)

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
        args, named, arrays, key = self._signature(args, named)
        return self._program(args, named, arrays, key).explanation

    def _unhashable(self, parts: Sequence[Any]) -> TypeError:
        wrong = next((x for x in parts if not hashable(x)), None)
        type_name = type(wrong[1]).__name__ if isinstance(wrong, tuple) else type(wrong).__name__
        return TypeError(
            f"{self.__name__}: an argument of a compiled function is {type_name}, neither an array "
            f"nor a hashable constant\nHint: convert it with pa.asarray, or pass a number, a "
            f"string or a tuple"
        )

    def _make(
        self, args: Any, named: Any, arrays: Sequence[Array], precision: str | None
    ) -> Program:
        """Trace the function and compile what it calls."""
        started = time.perf_counter()
        capture = Capture(precision)
        narrow = precision if precision in ("float16", "bfloat16") else None
        traced: list[Array] = []
        natives_before: list[Any] = []
        widest: list[Any] = []

        def trace(x: Any) -> Any:
            if type(x) is not Array:
                return x
            argument = capture.argument(x)
            traced.append(argument)
            natives_before.append(argument._native)
            if narrow is not None and x._dispatch.kind == "f" and x.dtype.itemsize > 2:
                widest.append(x.dtype)
                return pa.astype(argument, narrow)
            return argument

        traced_args, options = array_trees.mapped(trace, (tuple(args), named))
        try:
            output = self._function(*traced_args, **options)
            if widest:
                wide = max(widest, key=lambda dtype: dtype.itemsize)
                output = array_trees.mapped(lambda x: _widened(x, wide), output)
        finally:
            capture.ended = (
                f"{self.__name__}: an array traced by pa.compile is used after the function has "
                f"returned\nHint: return it from the function"
            )
        for x, native in zip(traced, natives_before, strict=True):
            if x._native is not native:
                raise TracedArrayError(
                    f"{self.__name__}: a compiled function cannot change an argument in place\n"
                    f"Hint: change a copy, x.copy(), and return it"
                )
        leaves = array_trees.leaves(output)
        if not leaves:
            raise TypeError(
                f"{self.__name__}: a compiled function must return arrays; it returned "
                f"{type(output).__name__}"
            )
        graph = capture.graph([x._native for x in leaves])
        tables = [table_of(x) for x in leaves]
        natives = [x._native for x in arrays]
        run, explanation = lowering.program(
            graph, self.__name__, natives, optimize=self._optimize, sized=self._sized
        )
        explanation.seconds = time.perf_counter() - started
        template = array_trees.mapped(lambda x: _LEAF if type(x) is Array else x, output)
        return Program(run, tables, builder(template, lambda x: x is _LEAF), explanation)


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
        return tracing.untraced(tracing.lowered(x._native), x._native.home)._dispatch
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
        Takes and returns arrays, and trees of them. Other arguments are constants: each new value
        compiles again. Arrays from an enclosing scope are constants with the values they have
        during tracing. Without a function, a decorator is returned.
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
        If the function reads values of arrays, creates an array whose shape depends on values,
        changes an argument in place, or stores an array outside.
    ValueError
        If `precision` or `optimize` is invalid.
    TypeError
        If it returns no arrays, or an argument is neither an array nor hashable.
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
