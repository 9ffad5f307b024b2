"""Means, variances and standard deviations."""

from __future__ import annotations

import math

import numpy as np

from portarray.clarray.arguments import Axes, array_of, axes_of, default_dtype
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.statistical.scaling import in_range
from portarray.clarray.statistical.terms import SUM, count_along, summed
from portarray.clarray.strided import Array

_MEAN = Reduction("mean", SUM.combine, "result", result="a / (T)divisor")
_VAR = Reduction("var", SUM.combine, "result", "SQUARE(T_(v) - c)", "a / (T)divisor", centred=True)
_STD = Reduction(
    "std", SUM.combine, "result", "SQUARE(T_(v) - c)", "sqrt(a / (T)divisor)", centred=True
)


def mean(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return arithmetic means."""
    axes = axes_of(axis, array_of(x, "mean").ndim)
    if kind_of(x.dtype) == "bool":
        raise TypeError(
            "mean takes arrays of a numeric dtype, got bool\nHint: convert with astype first"
        )
    dtype = x.dtype if x.dtype.kind in "fcV" else default_dtype(x.device, "real floating")
    return summed(_MEAN, x, axes, keepdims, dtype, float(count_along(x, axes)))


def var(
    x: Array, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return variances: mean squares of the distances from the mean, found first."""
    return _dispersion(_VAR, x, axis, correction, keepdims)


def std(
    x: Array, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return standard deviations, the square roots of the variances."""
    deviation = _dispersion(_STD, x, axis, correction, keepdims)
    if x.dtype.kind not in "fV":
        return deviation
    axes = axes_of(axis, x.ndim)
    return in_range(
        deviation, lambda y: _dispersion(_STD, y, axes, correction, True), x, axes, keepdims
    )


def _dispersion(
    reduction: Reduction, x: Array, axis: Axes | None, correction: float, keepdims: bool
) -> Array:
    name = reduction.name
    axes = axes_of(axis, array_of(x, name).ndim)
    if kind_of(x.dtype) in ("bool", "complex"):
        raise TypeError(
            f"{name} takes arrays of a real numeric dtype, got {x.dtype}\n"
            f"Hint: convert with astype first"
        )
    dtype = x.dtype if x.dtype.kind in "fV" else default_dtype(x.device, "real floating")
    count = count_along(x, axes)
    freedom = count - correction
    # Means of half precision stay in the float32 they are summed in.
    centre_dtype = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    centre = reduce(_MEAN, x, axes, False, centre_dtype, divisor=float(count))
    divisor = float(freedom) if freedom > 0 else math.nan
    return reduce(reduction, x, axes, keepdims, dtype, divisor=divisor, centre=centre)
