"""Laplace, truncated normal and multivariate normal distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._api.comparison import maximum
from portarray._api.creation.values import asarray
from portarray._api.data_type import astype
from portarray._api.linalg.decompositions import cholesky
from portarray._api.linear_algebra import matmul
from portarray._api.searching import where
from portarray._array import slow_path
from portarray._array.array import Array
from portarray.random import drawing, laws, parameters, repeating
from portarray.random.distributions import FIRST_WORDS
from portarray.random.drawing import Draw
from portarray.random.keys import one_key, split
from portarray.random.parameters import (
    BOUND,
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


def laplace(
    key: Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    loc: float | Array = 0.0,
    scale: float | Array = 1.0,
) -> Array:
    """Return numbers of the Laplace distribution: exponential ones with a random sign.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    shape : int or sequence of int, optional
        Shape of the result, to which the parameters are broadcast; by default their own.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.
    loc, scale : float or Array, default: 0.0, 1.0
        Mean, and mean distance from it, at least 0.

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
        If a parameter is not finite, `scale` is negative, or shapes do not broadcast.
    DeviceMismatchError
        If a parameter is on another device than the key.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.laplace(pa.random.key(0), 1000, loc=3.0)
    >>> round(float(pa.mean(x)))
    3
    """
    key = one_key(key, "laplace")
    out_dtype = floating(key, dtype, "laplace")
    loc = real(loc, "loc", FINITE, key, "laplace")
    scale = real(scale, "scale", NOT_NEGATIVE, key, "laplace")
    part = shape_of(shape, "laplace", loc, scale)
    kind = working(out_dtype)
    keys = split(key)
    x = drawing.block(drawing.exponential(kind), keys[0, ...], part)
    negative = drawing.block(Draw(FIRST_WORDS), keys[1, ...], part) >= 2**31
    return scaled(where(negative, -x, x), loc, scale, part, key, out_dtype)


def truncated_normal(
    key: Array,
    low: float | Array,
    high: float | Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    loc: float | Array = 0.0,
    scale: float | Array = 1.0,
) -> Array:
    """Return numbers of a normal distribution between two bounds.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    low, high : float or Array
        The bounds of the numbers; they may be infinite.
    shape : int or sequence of int, optional
        Shape of the result, to which the parameters are broadcast; by default their own.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.
    loc, scale : float or Array, default: 0.0, 1.0
        Mean and standard deviation of the normal distribution, which is then truncated.

    Returns
    -------
    Array
        Numbers on the key's device, none of them beyond a bound.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or a parameter is not a
        number or an array of numbers.
    ValueError
        If `low` is not less than `high`, `scale` is not positive, a parameter is not finite or NaN,
        or shapes do not broadcast.
    DeviceMismatchError
        If a parameter is on another device than the key.

    Notes
    -----
    The rejection methods of Robert (1995), which are exact in the tails as well.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.truncated_normal(pa.random.key(0), 2.0, pa.inf, 1000)
    >>> bool(pa.all(x >= 2)), round(float(pa.mean(x)), 1)
    (True, 2.4)
    """
    function = "truncated_normal"
    key = one_key(key, function)
    out_dtype = floating(key, dtype, function)
    low, high = (real(x, name, BOUND, key, function) for x, name in ((low, "low"), (high, "high")))
    loc = real(loc, "loc", FINITE, key, function)
    scale = real(scale, "scale", POSITIVE, key, function)
    low, high, loc, scale = (
        without_gradient(value, name, function)
        for value, name in ((low, "low"), (high, "high"), (loc, "loc"), (scale, "scale"))
    )
    part = shape_of(shape, function, low, high, loc, scale)
    kind = working(out_dtype)
    least, most, mean, deviation = (part_of(x, part, kind, key) for x in (low, high, loc, scale))
    parameters.check_less(key, least, most, ("low", "high"), function)
    below, above = (least - mean) / deviation, (most - mean) / deviation
    mirrored = above < -below  # the interval's nearer end is below the other
    below, above = where(mirrored, -above, below), where(mirrored, -below, above)
    slow = where(below > -1, where(below < 1e4, below, 1e4), -1.0)
    rate = maximum(below, (slow + laws.root(slow * slow + 4)) * 0.5)
    law, middle = laws.truncated_normal(kind), maximum(below, 0.0)
    x = repeating.at(law, key, part, (below, above, rate), (middle,))
    x = where(mirrored, -x, x) * deviation + mean
    x = where(x < least, least, where(x > most, most, x))  # as rounding may leave the interval
    return astype(x, out_dtype, copy=False)


def multivariate_normal(
    key: Array,
    mean: Array,
    cov: Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return points of the multivariate normal distribution.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    mean : Array
        The mean, along the last axis.
    cov : Array
        The covariance matrix of shape ``(n, n)``, positive semidefinite, or matrices in the last
        two axes.
    shape : int or sequence of int, optional
        Shape of the result without its last axis, to which the other axes of `mean` and `cov` are
        broadcast; by default these axes.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.

    Returns
    -------
    Array
        Points along the last axis, on the key's device.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or a parameter is not
        an array of numbers with as many axes.
    ValueError
        If a parameter is not finite, `cov` is not symmetric and positive semidefinite, or shapes do
        not fit.
    DeviceMismatchError
        If a parameter is on another device than the key.

    Notes
    -----
    Normal numbers times the Cholesky factor. The matrix is checked and factored in host memory, in
    float64; while a function is traced, it must be positive definite.

    Examples
    --------
    >>> import portarray as pa
    >>> cov = pa.asarray([[2.0, 1.0], [1.0, 2.0]])
    >>> x = pa.random.multivariate_normal(pa.random.key(0), pa.asarray([5.0, 0.0]), cov, 1000)
    >>> x.shape, round(float(pa.mean(x[:, 0])))
    ((1000, 2), 5)
    """
    function = "multivariate_normal"
    key = one_key(key, function)
    out_dtype = floating(key, dtype, function)
    for value, axes, name in ((mean, 1, "mean"), (cov, 2, "cov")):
        parameters.check_axes(value, axes, name, function)
        real(value, name, FINITE, key, function)
    count = mean.shape[-1]
    if cov.shape[-2:] != (count, count):
        raise ValueError(
            f"{function}: cov has shape {cov.shape} and mean {mean.shape}; cov must end with "
            f"{(count, count)}"
        )
    kind = working(out_dtype)
    outer = parameters.broadcast(function, mean.shape[:-1], cov.shape[:-2])
    part = parameters.with_axes(shape, outer, (count,), function)
    z = drawing.block(drawing.normal(kind), key, part)
    # a matrix for each point, or one for all
    square = parameters.with_axes(part, (), (count,), function)
    factor = _factor(key, part_of(cov, square, kind, key), function)
    x = matmul(factor, z[..., None])[..., 0] if cov.ndim > 2 else matmul(z, factor.mT)
    return astype(x + part_of(mean, part, kind, key), out_dtype, copy=False)


def _factor(key: Array, cov: Array, function: str) -> Array:
    """Return lower triangular matrices whose products with their transposes are `cov`."""
    if parameters.is_traced(key, cov):
        return cholesky(cov)
    host = slow_path.read(cov).astype(np.float64)
    eps = float(np.finfo(cov.dtype).eps)
    # Deviations are judged relative to those of each variable, whose units may differ.
    variances = np.maximum(np.diagonal(host, axis1=-2, axis2=-1), 0)
    largest = variances.max(axis=-1, initial=0.0, keepdims=True)
    units = np.sqrt(np.where(variances > 0, variances, np.where(largest > 0, largest, 1.0)))
    relative = host / units[..., None] / units[..., None, :]
    asymmetric = float(np.abs(relative - relative.mT).max(initial=0.0))
    if asymmetric > 10 * eps:
        raise ValueError(
            f"{function}: cov is not symmetric: elements differ from their transposed ones by "
            f"{np.abs(host - host.mT).max()}\nHint: pass (cov + cov.mT) / 2"
        )
    tolerance = 10 * eps * host.shape[-1]
    if np.linalg.eigvalsh(relative).min(initial=0.0) < -tolerance:
        raise ValueError(
            f"{function}: cov has the eigenvalue {np.linalg.eigvalsh(host).min()}; it must be "
            f"positive semidefinite"
        )
    factor = _semidefinite_factor(relative, tolerance) * units[..., None]
    return asarray(factor.astype(cov.dtype), device=cov.device)


def _semidefinite_factor(x: np.ndarray[Any, Any], tolerance: float) -> np.ndarray[Any, Any]:
    """Return the Cholesky factor, with zeros below pivots that are zero up to a tolerance."""
    x = x.copy()
    factor = np.zeros_like(x)
    for i in range(x.shape[-1]):
        pivot = x[..., i, i]
        positive = pivot > tolerance
        column = np.where(positive[..., None], x[..., :, i], 0.0)
        column /= np.sqrt(np.where(positive, pivot, 1.0))[..., None]
        column[..., :i] = 0.0
        factor[..., :, i] = column
        x -= column[..., :, None] * column[..., None, :]
    return factor
