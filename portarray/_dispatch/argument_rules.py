"""Rules on the values of arguments that hold for every library, with the error for each.

On NumPy's dtypes and Python's numbers: portarray's functions ask before a library is called. For
native namespaces the rules stand around the functions, in :data:`AROUND`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._dtypes.promotion import kind_of, limits

if TYPE_CHECKING:
    from portarray._dispatch.native_functions import NativeFunctions

__all__ = [
    "WRAPPERS",
    "accumulating",
    "check_accumulated",
    "check_all_transformed",
    "check_transformed",
    "whole_spaced",
    "whole_steps",
]

DType = np.dtype[Any]
Function = Callable[..., Any]


def whole_steps(start: float, stop: float, step: float, dtype: DType) -> tuple[int, int, int]:
    """Return the arguments of an ``arange`` of an integer dtype as integers.

    Raises
    ------
    ValueError
        If the first number or the step has a fraction.
    OverflowError
        If a number is out of the range of the dtype.
    """
    for name, value in (("start", start), ("step", step)):
        if value != math.floor(value):
            raise ValueError(
                f"arange: {name} {value!r} is not an integer, and dtype {dtype} would round every "
                f"number\n"
                f"Hint: pass an integer {name}, or omit dtype and convert the result with pa.astype"
            )
    first, by = int(start), int(step)
    end = math.ceil(stop) if by > 0 else math.floor(stop)
    numbers = range(first, end, by)
    if numbers:
        _check_held("arange", (numbers[0], numbers[-1]), dtype)
    return first, end, by


def whole_spaced(
    start: float, stop: float, num: int, dtype: DType, *, endpoint: bool
) -> np.ndarray[Any, Any]:
    """Return the numbers of a ``linspace`` of an integer dtype, rounded down.

    Raises
    ------
    ValueError
        If an end is not finite.
    OverflowError
        If a number is out of the range of the dtype.
    """
    if not (math.isfinite(start) and math.isfinite(stop)):
        raise ValueError(
            f"linspace: {start!r} to {stop!r} cannot be represented in dtype {dtype}\n"
            f"Hint: use a floating-point dtype"
        )
    values = np.floor(np.linspace(start, stop, num, endpoint=endpoint))
    if not num:
        return values.astype(dtype)
    ends = [math.floor(start), math.floor(values[-1])]
    if endpoint and num > 1:
        ends[1] = math.floor(stop)
    _check_held("linspace", (ends[0], ends[1]), dtype)
    with np.errstate(invalid="ignore"):
        rounded = values.astype(dtype)
    rounded[0], rounded[-1] = ends  # floats do not hold all of them
    return rounded


def _check_held(name: str, values: tuple[int, ...], dtype: DType) -> None:
    low, high = limits(dtype)
    for value in values:
        if not low <= value <= high:
            raise OverflowError(
                f"{name}: {value} does not fit {dtype} ({low} to {high})\nHint: use a wider dtype"
            )


def check_accumulated(name: str, dtype: DType, accumulator: DType) -> None:
    """Check the dtype that a sum or product is computed in.

    Raises
    ------
    TypeError
        If it is real and the elements are complex.
    """
    if kind_of(dtype) == "c" and kind_of(accumulator) != "c":
        raise TypeError(
            f"{name}: accumulating {dtype} elements in {accumulator} loses the imaginary part\n"
            f"Hint: take pa.real(x) first"
        )


def check_transformed(name: str, shape: Sequence[int], n: int | None, axis: int) -> None:
    """Check the number of elements of a Fourier transform along an axis.

    Raises
    ------
    ValueError
        If there are none, or the transform has none.
    """
    if not -len(shape) <= axis < len(shape):
        return  # for the library to refuse
    size = shape[axis]
    if n is None:
        n = 2 * (size - 1) if name in _FROM_HALVES else size
    if size < 1 or n < 1:
        raise ValueError(
            f"{name}: shape {tuple(shape)} with n={n} along axis {axis}; "
            f"a transform needs at least one element"
        )


_FROM_HALVES = frozenset(("fft.irfft", "fft.hfft"))


def check_all_transformed(
    name: str, shape: Sequence[int], s: Sequence[int] | None, axes: Sequence[int] | None
) -> None:
    """Do the same for a transform along several axes."""
    every = axes is None and s is None
    if every and shape and min(shape) > (name == "fft.irfftn"):
        return
    if axes is None:
        axes = range(-(len(shape) if s is None else len(s)), 0)
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{name}: s={tuple(s)} and axes={tuple(axes)} must have the same length")
    if not every and len({axis % max(len(shape), 1) for axis in axes}) < len(axes):
        raise ValueError(f"{name}: axes={tuple(axes)} repeats an axis; each axis may occur once")
    if not axes and "r" in name:
        raise ValueError(f"{name}: axes must not be empty for a real transform")
    for position, axis in enumerate(axes):
        if not -len(shape) <= axis < len(shape):
            return
        size = shape[axis]
        n = size if s is None else s[position]
        if s is None and name == "fft.irfftn" and position == len(axes) - 1:
            n = 2 * (size - 1)
        if size < 1 or n < 1:
            raise ValueError(
                f"{name}: shape {tuple(shape)} with n={n} along axis {axis}; "
                f"a transform needs at least one element along each axis"
            )


def _whole_arange(functions: NativeFunctions, name: str, arange: Function) -> Function:
    def checked(start: Any, /, stop: Any = None, step: Any = 1, **options: Any) -> Any:
        if stop is None:
            start, stop = 0, start
        native = options.get("dtype")
        if native is not None and step != 0:
            dtype = functions.numpy_dtype(native)
            if kind_of(dtype) in "iu":
                start, stop, step = whole_steps(start, stop, step, dtype)
        return arange(start, stop, step, **options)

    return checked


def accumulating(functions: NativeFunctions, name: str, function: Function) -> Function:
    """Put :func:`check_accumulated` around a function."""

    def checked(x: Any, /, *args: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is None:
            return function(x, *args, **options)
        check_accumulated(name, functions.numpy_dtype(x.dtype), functions.numpy_dtype(dtype))
        return function(x, *args, dtype=dtype, **options)

    return checked


def _transforming(functions: NativeFunctions, name: str, function: Function) -> Function:
    several = name.endswith("n")

    def checked(x: Any, /, **options: Any) -> Any:
        if functions.backend.owns(x):
            shape = tuple(x.shape)
            if several:
                check_all_transformed(name, shape, options.get("s"), options.get("axes"))
            else:
                check_transformed(name, shape, options.get("n"), options.get("axis", -1))
        return function(x, **options)

    return checked


_TRANSFORMS = frozenset(
    (
        *("fft.fft", "fft.fftn", "fft.hfft", "fft.ifft", "fft.ifftn"),
        *("fft.ihfft", "fft.irfft", "fft.irfftn", "fft.rfft", "fft.rfftn"),
    )
)

WRAPPERS: dict[str, Callable[[NativeFunctions, str, Function], Function]] = {
    "arange": _whole_arange,
    **dict.fromkeys(("sum", "prod", "cumulative_sum", "cumulative_prod"), accumulating),
    **dict.fromkeys(_TRANSFORMS, _transforming),
}
"""What native namespaces put around functions of a name."""
