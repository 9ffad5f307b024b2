"""Gamma, beta, Dirichlet and Student's t distributions, which all take gamma numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._api.comparison import equal, maximum
from portarray._api.creation.filled import zeros
from portarray._api.data_type import astype
from portarray._api.exponential import exp, sqrt
from portarray._api.searching import where
from portarray._api.statistical.totals import max, sum
from portarray._array.array import Array
from portarray.random import drawing, laws, parameters, repeating
from portarray.random.drawing import Block
from portarray.random.keys import one_key, split
from portarray.random.parameters import (
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    floating,
    part_of,
    real,
    scaled,
    shape_of,
    without_gradient,
    working,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portarray.typing import DTypeLike

    DType = np.dtype[Any]


def gamma(
    key: Array,
    a: float | Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    scale: float | Array = 1.0,
) -> Array:
    """Return numbers of the gamma distribution.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    a : float or Array
        The distribution's shape, at least 0.
    shape : int or sequence of int, optional
        Shape of the result, to which the parameters are broadcast; by default their own.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.
    scale : float or Array, default: 1.0
        Scale, at least 0: the mean is ``a * scale``.

    Returns
    -------
    Array
        Numbers on the key's device; zeros where a parameter is 0.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or a parameter is not a
        number or an array of numbers.
    ValueError
        If a parameter is negative or not finite, or shapes do not broadcast.
    DeviceMismatchError
        If a parameter is on another device than the key.

    Notes
    -----
    The method of Marsaglia and Tsang (2000), which accepts 95 of 100 numbers; numbers of shapes
    below 1 are those of shapes above, times a power of a uniform number.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.gamma(pa.random.key(0), 3.0, 1000, scale=2.0)
    >>> round(float(pa.mean(x)))
    6
    """
    key = one_key(key, "gamma")
    out_dtype = floating(key, dtype, "gamma")
    a = real(a, "a", NOT_NEGATIVE, key, "gamma")
    scale = real(scale, "scale", NOT_NEGATIVE, key, "gamma")
    a = without_gradient(a, "a", "gamma")
    part = shape_of(shape, "gamma", a, scale)
    kind = working(out_dtype)
    numbers, power = _gamma(key, part_of(a, part, kind, key), part, kind)
    return astype(numbers * exp(power) * part_of(scale, part, kind, key), out_dtype, copy=False)


def beta(
    key: Array,
    a: float | Array,
    b: float | Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return numbers of the beta distribution, from 0 to 1.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    a, b : float or Array
        The parameters, greater than 0: the mean is ``a / (a + b)``.
    shape : int or sequence of int, optional
        Shape of the result, to which the parameters are broadcast; by default their own.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.

    Returns
    -------
    Array
        Numbers on the key's device.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or a parameter is not a
        number or an array of numbers.
    ValueError
        If a parameter is not positive or not finite, or shapes do not broadcast.
    DeviceMismatchError
        If a parameter is on another device than the key.

    Notes
    -----
    The part that one of two gamma numbers has in their sum.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.beta(pa.random.key(0), 1.0, 3.0, 1000)
    >>> round(float(pa.mean(x)), 1)
    0.3
    """
    key = one_key(key, "beta")
    out_dtype = floating(key, dtype, "beta")
    a = real(a, "a", POSITIVE, key, "beta")
    b = real(b, "b", POSITIVE, key, "beta")
    a = without_gradient(a, "a", "beta")
    b = without_gradient(b, "b", "beta")
    part = shape_of(shape, "beta", a, b)
    kind = working(out_dtype)
    keys = split(key)
    shapes = [part_of(value, part, kind, key) for value in (a, b)]
    larger = maximum(*shapes)
    (x, x_power), (y, y_power) = (
        _gamma(keys[i, ...], _not_tiny(value, larger, kind), part, kind)
        for i, value in enumerate(shapes)
    )
    largest = maximum(x_power, y_power)  # small shapes give numbers below the smallest float
    x, y = x * exp(x_power - largest) * 0.5, y * exp(y_power - largest) * 0.5  # as sums overflow
    return astype(x / (x + y), out_dtype, copy=False)


def dirichlet(
    key: Array,
    alpha: Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return points of the Dirichlet distribution: positive numbers whose sum is 1.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    alpha : Array
        The parameters along the last axis, at least 0: the mean is ``alpha / sum(alpha)``. The
        point is 0 where a parameter is 0.
    shape : int or sequence of int, optional
        Shape of the result without its last axis, to which the other axes of `alpha` are broadcast;
        by default these axes.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.

    Returns
    -------
    Array
        Points along the last axis, on the key's device.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or `alpha` is not an
        array with axes.
    ValueError
        If a parameter is negative or not finite, or shapes do not broadcast.
    DeviceMismatchError
        If `alpha` is on another device than the key.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.dirichlet(pa.random.key(0), pa.asarray([1.0, 2.0, 7.0]), 1000)
    >>> x.shape, round(float(pa.mean(x[:, 2])), 1)
    ((1000, 3), 0.7)
    """
    key = one_key(key, "dirichlet")
    out_dtype = floating(key, dtype, "dirichlet")
    parameters.check_axes(alpha, 1, "alpha", "dirichlet")
    real(alpha, "alpha", NOT_NEGATIVE, key, "dirichlet")
    alpha = without_gradient(alpha, "alpha", "dirichlet")
    part = parameters.with_axes(shape, alpha.shape[:-1], alpha.shape[-1:], "dirichlet")
    kind = working(out_dtype)
    alpha = part_of(alpha, part, kind, key)
    if not alpha.shape[-1]:
        return zeros(part.shape, dtype=out_dtype, device=key.device)
    is_zero, largest = equal(alpha, 0), max(alpha, axis=-1, keepdims=True)
    alpha = where(is_zero, where(equal(largest, 0), 1.0, largest), alpha)
    alpha = _not_tiny(alpha, largest, kind)
    numbers, power = _gamma(key, alpha, part, kind)
    power = where(is_zero, -np.inf, power)
    half = 0.5 ** alpha.shape[-1].bit_length()  # a sum of the largest numbers overflows
    numbers = numbers * exp(power - max(power, axis=-1, keepdims=True)) * half
    points = numbers / sum(numbers, axis=-1, keepdims=True)
    return astype(where(is_zero, 0.0, points), out_dtype, copy=False)


def student_t(
    key: Array,
    df: float | Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    loc: float | Array = 0.0,
    scale: float | Array = 1.0,
) -> Array:
    """Return numbers of Student's t distribution.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    df : float or Array
        Degrees of freedom, greater than 0.
    shape : int or sequence of int, optional
        Shape of the result, to which the parameters are broadcast; by default their own.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.
    loc, scale : float or Array, default: 0.0, 1.0
        Numbers are multiplied by `scale`, which is at least 0, and `loc` is added.

    Returns
    -------
    Array
        Numbers on the key's device.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or a parameter is not a
        number or an array of numbers.
    ValueError
        If a parameter is not finite, `df` is not positive, `scale` is negative, or shapes do not
        broadcast.
    DeviceMismatchError
        If a parameter is on another device than the key.

    Notes
    -----
    A normal number by the square root of a gamma number.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.student_t(pa.random.key(0), 5.0, 1000, loc=2.0)
    >>> round(float(pa.mean(x)))
    2
    """
    key = one_key(key, "student_t")
    out_dtype = floating(key, dtype, "student_t")
    df = real(df, "df", POSITIVE, key, "student_t")
    loc = real(loc, "loc", FINITE, key, "student_t")
    scale = real(scale, "scale", NOT_NEGATIVE, key, "student_t")
    df = without_gradient(df, "df", "student_t")
    part = shape_of(shape, "student_t", df, loc, scale)
    kind = working(out_dtype)
    keys = split(key)
    half = part_of(df, part, kind, key) * 0.5
    numbers, power = _gamma(keys[1, ...], half, part, kind)
    x = drawing.block(drawing.normal(kind), keys[0, ...], part)
    with np.errstate(over="ignore"):  # tails of small degrees of freedom
        ratio = sqrt(half / numbers) * exp(power * -0.5)
        return scaled(where(x == 0, x, x * ratio), loc, scale, part, key, out_dtype)


def _gamma(key: Array, a: Array, part: Block, kind: DType) -> tuple[Array, Array]:
    """Return gamma numbers as numbers and the logarithms of factors, which may be very small."""
    keys = split(key)
    small = a < 1
    d = where(small, a + 1, a) - 1 / 3
    values = d, 1 / (3 * laws.root(d))
    numbers = repeating.at(laws.gamma(kind), keys[0, ...], part, values, (d,))
    exponential = drawing.block(drawing.exponential(kind), keys[1, ...], part)
    power = where(small, -exponential / where(a > 0, a, 1.0), 0.0)
    zero = a <= 0
    return where(zero, 0.0, numbers), power


def _not_tiny(shapes: Array, largest: Array, kind: DType) -> Array:
    """Return shapes of gamma numbers that are compared: larger ones if all are tiny.

    The reciprocals of the smallest overflow. One of the numbers is all of their sum then, as often
    as the ratio of the shapes says.
    """
    digits = int(np.finfo(kind).maxexp)
    factor = where(largest < 2.0 ** -(digits * 5 // 8), 2.0 ** (digits * 5 // 16), 1.0)
    return shapes * astype(factor, kind, copy=False)
