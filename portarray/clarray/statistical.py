"""Statistical functions: sums, products, extremes, moments and running results.

Floating-point sums along memory have levels: sums of at most 64 elements, sums of up to 64 of
those, and of these. On processors, sums across rows that lie side by side add each chunk of rows in
order, as NumPy adds all of them, and then the chunks. Every sum and product of ``n`` terms is
within ``n`` roundings at the scale of the terms' magnitudes, half-precision dtypes in float32, and
so are running ones. Integers are summed in 64 bits and wrap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray.clarray.arguments import (
    Axes,
    array_of,
    axes_of,
    axis_of,
    default_dtype,
    dtype_on,
)
from portarray.clarray.array import Array
from portarray.clarray.dtypes import kind_of, real_dtype_of
from portarray.clarray.engine.copy import cast
from portarray.clarray.engine.parts import as_complex, as_parts
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.engine.scan import Scan, scan

__all__ = [
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

DType = np.dtype[Any]

_SUM = Reduction(
    "sum",
    {"unsigned": ("a + b", "0"), "real": ("a + b", "0")},
    "result",
)
_PROD = Reduction(
    "prod",
    {"unsigned": ("a * b", "1"), "real": ("a * b", "1"), "complex": ("c_mul(a, b)", "(T)(1, 0)")},
    "result",
)
_MAX = Reduction(
    "max",
    {
        "bool": ("max(a, b)", "T_MIN"),
        "signed": ("max(a, b)", "T_MIN"),
        "unsigned": ("max(a, b)", "T_MIN"),
        # The second test lets NaN in, and what is NaN stays, since nothing is greater.
        "real": ("(b > a || b != b) ? b : a", "-INFINITY"),
    },
    "own",
)
_MIN = Reduction(
    "min",
    {
        "bool": ("min(a, b)", "T_MAX"),
        "signed": ("min(a, b)", "T_MAX"),
        "unsigned": ("min(a, b)", "T_MAX"),
        "real": ("(b < a || b != b) ? b : a", "INFINITY"),
    },
    "own",
)
_MEAN = Reduction("mean", _SUM.combine, "result", result="a / (T)divisor")
_VAR = Reduction("var", _SUM.combine, "result", "SQUARE(T_(v) - c)", "a / (T)divisor", centred=True)
_STD = Reduction(
    "std", _SUM.combine, "result", "SQUARE(T_(v) - c)", "sqrt(a / (T)divisor)", centred=True
)

_CUMULATIVE_SUM = Scan(
    "cumulative_sum",
    # Negative zero changes nothing, while positive zero would change negative zero.
    {"unsigned": ("a + b", "0"), "real": ("a + b", "-0.0f")},
    {"unsigned": "0", "real": "0"},
)
_CUMULATIVE_PROD = Scan(
    "cumulative_prod",
    _PROD.combine,
    {"unsigned": "1", "real": "1", "complex": "1, 0"},
)


def sum(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    dtype: Any = None,
    keepdims: bool = False,
) -> Array:
    """Return sums of elements.

    Parameters
    ----------
    x : Array
        Of a numeric dtype, or bool.
    axis : int or tuple of int, optional
        Which axes are summed over; all of them by default, none of them for ``()``.
    dtype : dtype, optional
        Of the sums; ``x`` is converted to it first. By default that of ``x``, widened to int64 or
        uint64 for integers and bool.
    keepdims : bool
        Whether the axes stay with length 1.

    Returns
    -------
    Array
        The sums; 0 of nothing.

    Raises
    ------
    TypeError
        If complex numbers are to be summed in a real dtype.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _total(_SUM, x, axis, dtype, keepdims)


def prod(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    dtype: Any = None,
    keepdims: bool = False,
) -> Array:
    """Return products of elements.

    Parameters
    ----------
    x : Array
        Of a numeric dtype, or bool.
    axis : int or tuple of int, optional
        Which axes are multiplied over; all of them by default, none of them for ``()``.
    dtype : dtype, optional
        Of the products; ``x`` is converted to it first. By default that of ``x``, widened to int64
        or uint64 for integers and bool.
    keepdims : bool
        Whether the axes stay with length 1.

    Returns
    -------
    Array
        The products; 1 of nothing.

    Raises
    ------
    TypeError
        If complex numbers are to be multiplied in a real dtype.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _total(_PROD, x, axis, dtype, keepdims)


def max(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return the greatest elements. Where one is NaN so is the result.

    Parameters
    ----------
    x : Array
        Of a real dtype, or bool.
    axis : int or tuple of int, optional
        Which axes are searched; all of them by default, none of them for ``()``.
    keepdims : bool
        Whether the axes stay with length 1.

    Returns
    -------
    Array
        The maxima, of the dtype of ``x``. Of zeros either may be the greater.

    Raises
    ------
    TypeError
        If ``x`` is complex.
    ValueError
        If a result has no element to be taken from.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _extreme(_MAX, x, axis, keepdims)


def min(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return the least elements. Where one is NaN so is the result.

    Parameters
    ----------
    x : Array
        Of a real dtype, or bool.
    axis : int or tuple of int, optional
        Which axes are searched; all of them by default, none of them for ``()``.
    keepdims : bool
        Whether the axes stay with length 1.

    Returns
    -------
    Array
        The minima, of the dtype of ``x``. Of zeros either may be the lesser.

    Raises
    ------
    TypeError
        If ``x`` is complex.
    ValueError
        If a result has no element to be taken from.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _extreme(_MIN, x, axis, keepdims)


def mean(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return arithmetic means.

    Parameters
    ----------
    x : Array
        Of a numeric dtype.
    axis : int or tuple of int, optional
        Over which axes; all of them by default, none of them for ``()``.
    keepdims : bool
        Whether the axes stay with length 1.

    Returns
    -------
    Array
        The means, of the dtype of ``x``, or the default floating-point dtype for integers. NaN of
        nothing, in both parts for complex dtypes. Parts of complex numbers do not see each other.

    Raises
    ------
    TypeError
        If ``x`` is bool.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    axes = axes_of(axis, array_of(x, "mean").ndim)
    if kind_of(x.dtype) == "bool":
        raise TypeError("mean takes arrays of a numeric dtype, got bool; convert with astype first")
    dtype = x.dtype if x.dtype.kind in "fcV" else default_dtype(x.device, "real floating")
    return _summed(_MEAN, x, axes, keepdims, dtype, float(_count(x, axes)))


def var(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return variances: mean squares of the distances from the mean, found first.

    Parameters
    ----------
    x : Array
        Of a real numeric dtype.
    axis : int or tuple of int, optional
        Over which axes; all of them by default, none of them for ``()``.
    correction : int or float
        What is subtracted from the number of elements to get the divisor: 0 for a population, 1
        for a sample.
    keepdims : bool
        Whether the axes stay with length 1.

    Returns
    -------
    Array
        The variances, of the dtype of ``x``, or the default floating-point dtype for integers. NaN
        where the divisor is not positive.

    Raises
    ------
    TypeError
        If ``x`` is complex or bool.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _spread(_VAR, x, axis, correction, keepdims)


def std(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return standard deviations, the square roots of the variances.

    Parameters
    ----------
    x : Array
        Of a real numeric dtype.
    axis : int or tuple of int, optional
        Over which axes; all of them by default, none of them for ``()``.
    correction : int or float
        What is subtracted from the number of elements to get the divisor: 0 for a population, 1
        for a sample.
    keepdims : bool
        Whether the axes stay with length 1.

    Returns
    -------
    Array
        The deviations, of the dtype of ``x``, or the default floating-point dtype for integers.
        NaN where the divisor is not positive.

    Raises
    ------
    TypeError
        If ``x`` is complex or bool.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _spread(_STD, x, axis, correction, keepdims)


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Return running sums.

    Parameters
    ----------
    x : Array
        Of a numeric dtype, or bool.
    axis : int, optional
        Along which axis; may be left out where there is only one.
    dtype : dtype, optional
        Of the sums; ``x`` is converted to it first. By default that of ``x``, widened to int64 or
        uint64 for integers and bool.
    include_initial : bool
        Whether 0 stands before the first sum.

    Returns
    -------
    Array
        Of the shape of ``x``, one longer along the axis where ``include_initial``.

    Raises
    ------
    TypeError
        If complex numbers are to be summed in a real dtype.
    ValueError
        If ``x`` is 0-d, or has several axes and none is named.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _running(_CUMULATIVE_SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Return running products.

    Parameters
    ----------
    x : Array
        Of a numeric dtype, or bool.
    axis : int, optional
        Along which axis; may be left out where there is only one.
    dtype : dtype, optional
        Of the products; ``x`` is converted to it first. By default that of ``x``, widened to int64
        or uint64 for integers and bool.
    include_initial : bool
        Whether 1 stands before the first product.

    Returns
    -------
    Array
        Of the shape of ``x``, one longer along the axis where ``include_initial``.

    Raises
    ------
    TypeError
        If complex numbers are to be multiplied in a real dtype.
    ValueError
        If ``x`` is 0-d, or has several axes and none is named.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    return _running(_CUMULATIVE_PROD, x, axis, dtype, include_initial)


def _running(
    operation: Scan, x: Array, axis: int | None, dtype: Any, include_initial: bool
) -> Array:
    name = operation.name
    ndim = array_of(x, name).ndim
    if ndim == 0 or (axis is None and ndim > 1):
        raise ValueError(
            f"{name} needs an axis to run along, and x has {ndim}; name one with axis=, or give "
            f"a 0-d array one by reshape"
        )
    along = axis_of(0 if axis is None else axis, ndim)
    found = total_dtype(x, dtype, name)
    x = converted(x, found)
    if operation is _CUMULATIVE_SUM and found.kind == "c":
        parts = scan(operation, as_parts(x), along, real_dtype_of(found), include_initial)
        return as_complex(parts, found)
    return scan(operation, x, along, found, include_initial)


def total_dtype(x: Array, dtype: Any, name: str) -> DType:
    """Return the dtype of sums and products of an array.

    Parameters
    ----------
    x : Array
        What is summed.
    dtype : dtype or None
        What the caller asked for.
    name : str
        The function, for errors.
    """
    if dtype is not None:
        found = dtype_on(dtype, x.device)
        if x.dtype.kind == "c" and found.kind != "c":
            raise TypeError(
                f"{name}: complex numbers do not become {found}; take the real part, or use a "
                f"complex dtype"
            )
        return found
    kind = kind_of(x.dtype)
    if kind in ("bool", "signed"):
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "unsigned" else x.dtype


def converted(x: Array, dtype: DType) -> Array:
    """Return an array for sums in a dtype: converted, unless kernels do that as they read it."""
    if x.dtype == dtype or (x.dtype.kind in "biu" and dtype.kind in "iuf"):
        return x
    if x.dtype.itemsize == 2 and dtype.kind == "f" and dtype.itemsize > 2:
        return x
    if x.dtype == np.float32 and dtype == np.float64:
        return x
    return cast(x, dtype)


def _total(reduction: Reduction, x: Array, axis: Axes | None, dtype: Any, keepdims: bool) -> Array:
    axes = axes_of(axis, array_of(x, reduction.name).ndim)
    found = total_dtype(x, dtype, reduction.name)
    x = converted(x, found)
    if reduction is _SUM:
        return _summed(reduction, x, axes, keepdims, found, 1.0)
    return reduce(reduction, x, axes, keepdims, found)


def _summed(
    reduction: Reduction,
    x: Array,
    axes: tuple[int, ...],
    keepdims: bool,
    dtype: DType,
    divisor: float,
) -> Array:
    """Return sums; those of complex numbers as sums of pairs of real ones."""
    if dtype.kind != "c":
        return reduce(reduction, x, axes, keepdims, dtype, divisor=divisor)
    parts = reduce(reduction, as_parts(x), axes, keepdims, real_dtype_of(dtype), divisor=divisor)
    return as_complex(parts, dtype)


def _extreme(reduction: Reduction, x: Array, axis: Axes | None, keepdims: bool) -> Array:
    name = reduction.name
    axes = axes_of(axis, array_of(x, name).ndim)
    if x.dtype.kind == "c":
        raise TypeError(f"{name} takes arrays of a real dtype, got {x.dtype}, which has no order")
    if _count(x, axes) == 0 and math.prod(x.shape) == 0:
        refuse_empty(name, x, axes)
    return reduce(reduction, x, axes, keepdims, x.dtype)


def refuse_empty(name: str, x: Array, axes: tuple[int, ...]) -> None:
    """Raise ValueError where results have no element to be taken from."""
    if 0 not in [size for place, size in enumerate(x.shape) if place not in axes]:
        raise ValueError(
            f"{name} of nothing has no value: x has shape {x.shape} and is reduced over axes "
            f"{axes}; give it an element or test its size first"
        )


def _spread(
    reduction: Reduction, x: Array, axis: Axes | None, correction: float, keepdims: bool
) -> Array:
    name = reduction.name
    axes = axes_of(axis, array_of(x, name).ndim)
    if kind_of(x.dtype) in ("bool", "complex"):
        raise TypeError(
            f"{name} takes arrays of a real numeric dtype, got {x.dtype}; convert with astype first"
        )
    dtype = x.dtype if x.dtype.kind in "fV" else default_dtype(x.device, "real floating")
    count = _count(x, axes)
    freedom = count - correction
    # Means of half precision stay in the float32 they are summed in.
    centre_dtype = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    centre = reduce(_MEAN, x, axes, False, centre_dtype, divisor=float(count))
    divisor = float(freedom) if freedom > 0 else math.nan
    return reduce(reduction, x, axes, keepdims, dtype, divisor=divisor, centre=centre)


def _count(x: Array, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[axis] for axis in axes])
