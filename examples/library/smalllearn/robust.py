"""Location and scale that a few wrong values do not change."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace


def median(x: Any, /, *, axis: int = 0) -> Any:
    """Return the median along an axis."""
    xp = array_namespace(x)
    x = xp.moveaxis(xp.sort(x, axis=axis), axis, 0)
    n = x.shape[0]
    return (x[(n - 1) // 2, ...] + x[n // 2, ...]) / 2


def mad(x: Any, /, *, axis: int = 0) -> Any:
    """Return the median absolute deviation from the median, scaled to the normal distribution's."""
    xp = array_namespace(x)
    centre = xp.expand_dims(median(x, axis=axis), axis=axis)
    return 1.482602218505602 * median(xp.abs(x - centre), axis=axis)


def trimmed_mean(x: Any, proportion: float = 0.1, /, *, axis: int = 0) -> Any:
    """Return the mean without a proportion of the smallest and of the largest values."""
    xp = array_namespace(x)
    x = xp.moveaxis(xp.sort(x, axis=axis), axis, 0)
    cut = int(proportion * x.shape[0])
    return xp.mean(x[cut : x.shape[0] - cut, ...], axis=0)


def huber_location(x: Any, /, *, k: float = 1.5, axis: int = 0, iterations: int = 30) -> Any:
    """Return Huber's estimate of location, by reweighted means.

    The number of iterations is fixed: asking each time whether it has converged would make a GPU
    wait for the answer.
    """
    xp = array_namespace(x)
    x = xp.moveaxis(x, axis, 0)
    centre, scale = median(x), mad(x)
    unit = xp.ones_like(scale)
    scale = xp.where(scale > 0, scale, unit)
    for _ in range(iterations):
        distance = xp.abs(x - centre) / scale
        weight = xp.where(distance > k, k / xp.where(distance > k, distance, unit), unit)
        centre = xp.sum(weight * x, axis=0) / xp.sum(weight, axis=0)
    return centre
