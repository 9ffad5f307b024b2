"""Numbers in a row, and the grids that they span."""

from __future__ import annotations

import builtins
import sys
from math import isfinite
from typing import TYPE_CHECKING, Literal

from portarray._api import arguments
from portarray._array import call, conversion, dispatch, dtypes, slow_path
from portarray._devices import selection
from portarray._dispatch import argument_rules

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import DeviceLike, DTypeLike, Real, Scalar


def arange(
    start: Real,
    /,
    stop: Real | None = None,
    step: Real = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return evenly spaced numbers of a half-open interval.

    Parameters
    ----------
    start : int or float
        First number; the end of the interval if `stop` is missing, which then starts at 0.
    stop : int or float, optional
        End of the interval, not included.
    step : int or float, default: 1
        Distance between neighbours; negative to count down.
    dtype : dtype, optional
        Dtype of the result. By default the device's default integer dtype if all arguments are
        integers, else its default floating-point dtype.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        1-d array of ``ceil((stop - start) / step)`` numbers, or none if that is negative.

    Raises
    ------
    ValueError
        If `step` is 0, an argument is not finite, or `dtype` is an integer dtype and `start` or
        `step` has a fraction.
    OverflowError
        If a number is out of the range of an integer dtype.
    TypeError
        If an argument is not a real number, or `dtype` is bool.

    Notes
    -----
    With non-integer steps, rounding may include `stop`; ``linspace`` counts instead.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.arange(2, 8, 3).tolist()
    [2, 5]
    """
    if stop is None:
        start, stop = 0, start
    bounds = start, stop, step
    exact = _INTEGERS.issuperset(map(type, bounds))
    if not exact and not _NUMBERS.issuperset(map(type, bounds)):
        bounds = (
            arguments.real_number(start, "start"),
            arguments.real_number(stop, "stop"),
            arguments.real_number(step, "step"),
        )
        exact = _INTEGERS.issuperset(map(type, bounds))
    if bounds[2] == 0:
        raise ValueError("arange: step must not be zero")
    if not exact and not builtins.all(map(isfinite, bounds)):
        raise ValueError(f"arange: start, stop and step must be finite, got {bounds}")
    kind = None if dtype is None else dtypes.kind_of(dtypes.canonical(dtype))
    if kind == "b":
        raise TypeError("arange: unsupported dtype bool\nHint: compare integers for truth values")
    if kind == "c":  # few libraries count in complex numbers
        real = arange(*bounds, dtype=None, device=device)
        return conversion.astype(real, dtype, copy=False)
    default = "integral" if exact else "real floating"
    if dtype is None and exact and builtins.max(map(abs, bounds)) >= 2**31:
        kind, dtype = "i", dispatch.default_dtype(selection.resolve(device), "i")
    if kind in ("i", "u"):
        bounds = argument_rules.whole_steps(*bounds, dtypes.canonical(dtype))
    return slow_path.create(
        "arange", bounds, dtype=dtype, device=device, shape=(_count(*bounds),), default=default
    )


_INTEGERS = frozenset((bool, int))
_NUMBERS = frozenset((bool, int, float))


def _count(start: float, stop: float, step: float) -> int:
    """Return about how many numbers an ``arange`` has."""
    try:
        return max(0, int((stop - start) // step))
    except (OverflowError, ValueError):  # beyond what floats hold
        return sys.maxsize


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    endpoint: bool = True,
) -> Array:
    """Return a number of evenly spaced values of an interval.

    Parameters
    ----------
    start, stop : scalar
        First value, and the last or, without `endpoint`, the one that would come after the last.
    num : int
        How many values.
    dtype : dtype, optional
        Dtype of the result. By default the device's default floating-point dtype, complex if
        `start` or `stop` is.
    device : device-like, optional
        Device of the result; the default device if None.
    endpoint : bool, default: True
        Whether `stop` is the last value.

    Returns
    -------
    Array
        1-d array of `num` values.

    Raises
    ------
    ValueError
        If `num` is negative.
    OverflowError
        If a value is out of the range of an integer dtype.
    TypeError
        If `start` or `stop` is complex and `dtype` is not.

    Notes
    -----
    In an integer dtype values are rounded down, as by NumPy.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.linspace(0, 1, 4, endpoint=False).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    first, last = arguments.number(start, "start"), arguments.number(stop, "stop")
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    kind = "" if dtype is None else dtypes.kind_of(dtypes.canonical(dtype))
    if is_complex and kind not in ("", "c"):
        raise TypeError(f"linspace: complex bounds with dtype {dtype}\nHint: use a complex dtype")
    if kind == "b":
        raise TypeError("linspace: unsupported dtype bool\nHint: compare numbers for truth values")
    count = arguments.size(num, "num")
    endpoint = arguments.flag(endpoint, "endpoint")
    if kind in ("i", "u"):
        target = dtypes.canonical(dtype)
        values = argument_rules.whole_spaced(first, last, count, target, endpoint=endpoint)  # type: ignore[arg-type]  # real here
        return conversion.from_host(values, selection.resolve(device), take_ownership=True)
    return slow_path.create(
        "linspace",
        (first, last, count),
        dtype=dtype,
        device=device,
        shape=(count,),
        default="complex floating" if is_complex else "real floating",
        endpoint=endpoint,
    )


def logspace(
    start: Real,
    stop: Real,
    num: int = 50,
    endpoint: bool = True,
    base: Real = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return numbers that are evenly spaced on a logarithmic scale.

    The standard has no such function; it is here since programs for NumPy use it.

    Parameters
    ----------
    start, stop : int or float
        Exponents of the first number and of the last (without `endpoint`, of the one after it).
    num : int, default: 50
        How many numbers.
    endpoint : bool, default: True
        Whether ``base ** stop`` is the last number.
    base : int or float, default: 10.0
        Base of the logarithm.
    dtype : dtype, optional
        Dtype of the result; the device's default floating-point dtype if None.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        1-d array ``base ** linspace(start, stop, num)``.

    Raises
    ------
    ValueError
        If `num` is negative.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.logspace(0, 3, 4, base=2).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    exponents = linspace(start, stop, num, device=device, endpoint=endpoint)
    powers = call.binary("pow", arguments.real_number(base, "base"), exponents)
    return powers if dtype is None else conversion.astype(powers, dtype, copy=False)


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Return the coordinates of all points of a grid.

    Parameters
    ----------
    *arrays : Array
        1-d arrays: the coordinates along each axis of the grid.
    indexing : {"xy", "ij"}, default: "xy"
        ``"ij"`` orders the axes of the results as the arguments; ``"xy"`` swaps the first two, as
        in a plot.

    Returns
    -------
    tuple of Array
        For each argument an array with its coordinate of every point.

    Raises
    ------
    ValueError
        If `indexing` is unknown or an array has several axes.

    Examples
    --------
    >>> import portarray as pa
    >>> x, y = pa.meshgrid(pa.asarray([1, 2, 3]), pa.asarray([5, 6]))
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[5, 5, 5], [6, 6, 6]])
    """
    arguments.choice(indexing, "indexing", ("xy", "ij"))
    for x in arrays:
        if arguments.is_array(x) and x.ndim > 1:
            raise ValueError(f"meshgrid: expected 1-d arrays, got shape {x.shape}")
    if not arrays:
        return ()
    results: tuple[Array, ...] = call.variadic("meshgrid", arrays, indexing=indexing)
    return results
