"""Reductions, including empty arrays.

MLX's loops over empty arrays may never end, depending on how the array was created.
"""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx
from numpy.lib.array_utils import normalize_axis_tuple

from portarray.backends.mlx.limits import within_bounds

Axes = int | tuple[int, ...]
Reduction = Callable[..., mx.array]


def reduced(
    function: Reduction,
    x: mx.array,
    axis: Axes | None,
    keepdims: bool,
    *,
    empty_value: complex,
    dtype: mx.Dtype,
) -> mx.array:
    """Reduce along axes, all of them for None; without elements the result is ``empty_value``."""
    if x.size:
        result = function(x, axis, keepdims)
        return result if result.dtype == dtype else result.astype(dtype)
    removed = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    sizes = [(index, 1 if index in removed else size) for index, size in enumerate(x.shape)]
    shape = [size for index, size in sizes if keepdims or index not in removed]
    return mx.full(shape, mx.array(empty_value, dtype=dtype))


def filled(mlx_function: Reduction, general: Reduction) -> Reduction:
    """Return MLX's reduction over all axes, with another one for empty arrays."""
    return within_bounds(lambda x: mlx_function(x) if x.size else general(x))
