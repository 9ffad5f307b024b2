"""Roots of sums of squares or powers that leave the range of the dtype."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from portarray.clarray.arithmetic import abs as _abs
from portarray.clarray.arithmetic import divide, multiply
from portarray.clarray.comparison import greater, less, where
from portarray.clarray.engine.copy import cast
from portarray.clarray.layout import strides_of
from portarray.clarray.logical import logical_and
from portarray.clarray.statistical.totals import max, min
from portarray.clarray.strided import Array

__all__ = ["in_range"]


def in_range(
    norm: Array,
    plain: Callable[[Array], Array],
    x: Array,
    axes: tuple[int, ...],
    keepdims: bool,
    ord: float = 2,
) -> Array:
    """Return norms, computed again if powers have over- or underflowed.

    Parameters
    ----------
    norm : Array
        The norms.
    plain : callable
        Returns the norms of an array, over axes that stay with size 1.
    x : Array
        Its argument.
    axes : tuple of int
        Axes of `x` that the norms are taken over.
    keepdims : bool
        Whether these are axes of `norm`.
    ord : float, default: 2
        The power.
    """
    if not axes or not x.size:
        return norm
    limits = np.finfo(np.float32 if x.dtype.itemsize == 2 else norm.dtype)
    low, high = (min(norm), max(norm)) if norm.ndim else (norm, norm)
    if float(limits.tiny / limits.eps) ** (1 / ord) < float(low) and float(high) < math.inf:
        return norm
    # The powers of numbers divided by the largest neither overflow nor underflow.
    wide = cast(x, np.dtype(np.float32)) if x.dtype.itemsize == 2 else x
    sizes = _abs(wide)
    largest = max(sizes, axis=axes, keepdims=True)
    is_scale = logical_and(greater(largest, 0), less(largest, math.inf))
    scale = where(is_scale, largest, 1.0)
    values = sizes if x.dtype.kind == "c" else wide
    norm = multiply(plain(divide(values, scale)), scale)
    if not keepdims:
        shape = tuple([n for at, n in enumerate(norm.shape) if at not in axes])
        norm = norm.view(shape, strides_of(shape), norm.offset)
    return cast(norm, x.dtype) if x.dtype.itemsize == 2 else norm
