"""Reductions, on arrays of no elements too.

MLX's loops over empty arrays may never end, depending on how the array came to be.
"""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx

from portarray.backends.mlx.limits import within_bounds

Axes = int | tuple[int, ...]
Reduction = Callable[..., mx.array]


def reduced(
    function: Reduction,
    x: mx.array,
    axis: Axes | None,
    keepdims: bool,
    *,
    none: complex,
    dtype: mx.Dtype,
) -> mx.array:
    """Reduce along axes, all of them for None, with one of MLX's functions.

    No elements are reduced to ``none``; ``dtype`` is the result's.
    """
    if x.size:
        result = function(x, axis, keepdims)
        return result if result.dtype == dtype else result.astype(dtype)
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for one in axes:
        if not -x.ndim <= one < x.ndim:
            raise IndexError(f"axis {one} is out of bounds for an array of {x.ndim} axes")
    gone = {one % x.ndim for one in axes}
    if len(gone) < len(axes):
        raise ValueError(f"an axis is named twice in {axis}")
    sizes = [(place, 1 if place in gone else size) for place, size in enumerate(x.shape)]
    shape = [size for place, size in sizes if keepdims or place not in gone]
    return mx.full(shape, mx.array(none, dtype=dtype))


def filled(own: Reduction, general: Reduction) -> Reduction:
    """Return MLX's reduction of everything, with another one for arrays without elements."""
    return within_bounds(lambda x: own(x) if x.size else general(x))
