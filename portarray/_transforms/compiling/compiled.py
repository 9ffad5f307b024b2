"""``pa.compile``: trace a function once for each signature and run the compiled program."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, overload

from portarray._array.array import Array
from portarray._config import config
from portarray._decorated import Decorated
from portarray._devices.device import Device
from portarray._hashing import hashable
from portarray._kernel_language.launch_cache import put
from portarray._namespace import pa
from portarray._transforms import precision as precisions
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.fast_path import OTHER, never
from portarray._transforms.compiling.lowering import Sized
from portarray._transforms.compiling.program import Call, Program
from portarray._transforms.compiling.signatures import repeats, signature
from portarray._transforms.compiling.state_reading import read_state
from portarray._transforms.compiling.traced_call import TracedCall
from portarray._transforms.precision import Precision
from portarray._transforms.tracer import Tracer
from portarray._trees import array_trees
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


class Compiled(Decorated):
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
        inplace: tuple[int, ...] = (),
    ) -> None:
        # First: a function that wraps another compiled function has a copy of its attributes.
        functools.update_wrapper(self, function)
        self._function = function
        self._device = device
        self._precision = precision
        self._optimize = optimize
        self._verify = verify
        self._inplace = inplace
        self._sized = Sized() if dynamic else None
        self._programs: dict[Any, tuple[Program, ...]] = {}
        self._recent: tuple[Function, int, tuple[str, ...]] = (never, -1, ())
        self._lock = threading.RLock()
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __repr__(self) -> str:
        return f"<compiled {getattr(self, '__qualname__', self.__name__)}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Return a method, as functions do."""
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        options = {
            "device": self._device, "precision": self._precision, "optimize": self._optimize,
            "verify": self._verify, "dynamic": self._sized is not None,
            "inplace_argnums": self._inplace,
        }  # fmt: skip
        return functools.partial(compile, **options), (self._function,)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function."""
        # Fast path: arrays, and containers of arrays, with the signature of the previous call.
        recent, count, names = self._recent
        same_names = tuple(named) == names if named else not names
        if len(args) == count and same_names and precisions.now() is None:
            fast_output = recent(*args, *named.values()) if named else recent(*args)
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
        inplace: set[int] = set()
        parts: list[Any] = [config.values, self._precision or precisions.now()]
        try:
            for n, x in enumerate(args):
                first = len(arrays)
                signature(x, arrays, parts, objects)
                if n in self._inplace:
                    inplace.update(range(first, len(arrays)))
            if named:
                parts.append(len(args))  # a last argument may be a dict, too
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
        return Call(args, named, arrays, objects, key, frozenset(inplace))

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
                    traced = TracedCall(self.__name__, self._precision or precisions.now())
                    traced.run(self._function, call, reading)
                    if traced.capture.borrowed:
                        return None, []
                    if not reading.has_imported():
                        break
                tracing_now.close()  # other functions may be traced while this one is compiled
                program = traced.program(call, self._optimize, self._sized)
                program.explanation.seconds = time.perf_counter() - started
                state, reading.arrays = reading.arrays, []
                reading.uncopied.clear()
                reading.objects.clear()
                programs = self._programs.get(call.key, ())[: MOST_STATES - 1]
                put(self._programs, call.key, (program, *programs), MOST_PROGRAMS)
                return program, state

    def _set_fast_path(self, call: Call, program: Program) -> None:
        """Use a program's fast path for calls like this one."""
        plain = self._device is None and not self._verify
        if plain and self._precision is None and precisions.now() is None:
            fast = program.fast_path(call.args, call.named)
            self._recent = fast, len(call.args), tuple(call.named)

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
    inplace_argnums: int | Sequence[int] = (),
) -> Compiled: ...
@overload
def compile(
    *,
    device: DeviceLike | None = None,
    precision: Precision | None = None,
    optimize: Literal["default", "aggressive"] = "default",
    verify: bool = False,
    dynamic: bool = False,
    inplace_argnums: int | Sequence[int] = (),
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
    inplace_argnums: int | Sequence[int] = (),
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
    inplace_argnums : int or sequence of int, optional
        Positions of arguments whose arrays the function changes in place, as it does without being
        compiled: a cache of a language model, for example. Where only the function's assignments
        and kernels use an array, it is changed without a copy. It must not share memory with
        another argument, nor with what the function reads elsewhere.

    Returns
    -------
    callable
        The compiled function. Its ``explain(*args)`` returns what a call runs.

    Raises
    ------
    TracedArrayError
        If the function reads values of arguments, creates an array whose shape depends on them,
        or changes what is not local: an array in place that `inplace_argnums` does not name, a
        container, an attribute.
    ValueError
        If `precision`, `optimize` or `inplace_argnums` is invalid, or an argument that is changed
        in place shares memory with another array.
    TypeError
        If an argument is neither an array nor hashable, or the function reads an iterator or
        generator.
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
            dynamic=dynamic, inplace_argnums=inplace_argnums,
        )  # fmt: skip
    if not callable(function):
        raise TypeError(f"compile: {type(function).__name__} is not a function")
    if optimize not in ("default", "aggressive"):
        raise ValueError(f"compile: optimize={optimize!r} is not 'default' or 'aggressive'")
    where = None if device is None else pa.device(device)
    checked_precision = precisions.checked(precision)
    argnums: Any = inplace_argnums
    inplace = tuple(argnums) if isinstance(argnums, Iterable) else (argnums,)
    if any(type(n) is not int or n < 0 for n in inplace):
        raise ValueError(
            f"compile: inplace_argnums={inplace_argnums!r} is not one or several positions from 0"
        )
    if inplace and (where is not None or checked_precision is not None or verify):
        raise ValueError(
            "compile: inplace_argnums cannot be combined with device, precision or verify, which "
            "pass copies of arguments"
        )
    return Compiled(
        function, where, checked_precision, optimize=optimize, verify=verify, dynamic=dynamic,
        inplace=inplace,
    )  # fmt: skip
