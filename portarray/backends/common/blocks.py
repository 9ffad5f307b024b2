"""Sums of many numbers in blocks, for libraries that add one number after another.

One after another, the rounding errors of ``n`` numbers add up to ``n`` units in the last place. In
blocks of 16, and blocks of 16 such sums, they add up to about ``log2(n)``. Blocks are often faster
too, because a library adds 16 long rows with vector instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = [
    "FEW",
    "FEW_TERMS",
    "INNER_BYTES",
    "blocked_inner",
    "blocked_matmul",
    "blocked_sum",
    "cumulative_in_blocks",
    "least_exact_norm",
    "normalize_axes",
    "rescaled_norm",
]

FEW = 48
"""Numbers that are added one after another: up to 60 equal ones stay within the bound."""

_BLOCK = 16
# Rows of at least this length are added one by one; shorter ones are joined to longer rows.
_LONG_ROW = 64
FEW_TERMS = 128
"""Terms of an inner product, and of one block of a matrix product, that are left to a library."""

INNER_BYTES = 4096
"""Bytes of contiguous vectors whose product BLAS adds in dozens of lanes."""
_RUN = 32
"""Numbers of one block of a cumulative sum."""

# Takes an array and a tuple of axes; the result has these axes with size 1.
Sum = Callable[[Any, tuple[int, ...]], Any]


def _never(x: Any, axis: int) -> bool:
    return False


def blocked_sum(
    function: Sum,
    x: Any,
    axes: tuple[int, ...],
    is_accurate: Callable[[Any, int], bool] = _never,
) -> Any:
    """Return sums over axes, which stay with size 1.

    Parameters
    ----------
    function : callable
        The library's sum of an array over a tuple of axes, which stay with size 1.
    x : native array
        Array with methods ``reshape`` and ``+``.
    axes : tuple of int
        Non-negative axes.
    is_accurate : callable, optional
        Returns whether the library's sum of an array along an axis is accurate.
    """
    while axes:
        axis = max(axes, key=x.shape.__getitem__)
        if x.shape[axis] <= FEW:
            break
        if not is_accurate(x, axis):
            return _in_blocks(function, x, axes, axis, is_accurate)
        x = function(x, (axis,))
        axes = tuple([a for a in axes if a != axis])
    return function(x, axes)


def _in_blocks(
    function: Sum,
    x: Any,
    axes: tuple[int, ...],
    axis: int,
    is_accurate: Callable[[Any, int], bool],
) -> Any:
    leading, size, trailing = tuple(x.shape[:axis]), x.shape[axis], tuple(x.shape[axis + 1 :])
    blocks, remainder = divmod(size, _BLOCK)
    head = _part(x, axis, 0, size - remainder) if remainder else x
    if math.prod(trailing) < _LONG_ROW:
        split = function(head.reshape((*leading, _BLOCK, blocks, *trailing)), (axis,))
    else:
        split = function(head.reshape((*leading, blocks, _BLOCK, *trailing)), (axis + 1,))
    out = blocked_sum(function, split.reshape((*leading, blocks, *trailing)), axes, is_accurate)
    if remainder:
        out = out + blocked_sum(function, _part(x, axis, size - remainder, size), axes, is_accurate)
    return out


def cumulative_in_blocks(
    function: Callable[[Any, int], Any],
    concat: Callable[[list[Any], int], Any],
    full: Callable[[tuple[int, ...], float], Any],
    x: Any,
    axis: int,
) -> Any:
    """Return cumulative sums along a non-negative axis.

    Parameters
    ----------
    function : callable
        The library's cumulative sum of an array along an axis.
    concat : callable
        Joins a list of arrays along an axis.
    full : callable
        Returns an array of a shape and of the dtype of `x`, filled with a number.
    x : native array
        Array with methods ``reshape`` and ``+``.
    axis : int
        Non-negative axis.
    """
    leading, size, trailing = tuple(x.shape[:axis]), x.shape[axis], tuple(x.shape[axis + 1 :])
    if size <= FEW:
        return function(x, axis)
    blocks, remainder = divmod(size, _RUN)
    head = _part(x, axis, 0, size - remainder) if remainder else x
    sums = function(head.reshape((*leading, blocks, _RUN, *trailing)), axis + 1)
    totals = _part(sums, axis + 1, _RUN - 1, _RUN).reshape((*leading, blocks, *trailing))
    ends = cumulative_in_blocks(function, concat, full, totals, axis)
    # -0.0 changes no number; 0.0 would change -0.0.
    starts = concat([full((*leading, 1, *trailing), -0.0), _part(ends, axis, 0, blocks - 1)], axis)
    out = (sums + starts.reshape((*leading, blocks, 1, *trailing))).reshape(head.shape)
    if not remainder:
        return out
    tail = function(_part(x, axis, size - remainder, size), axis)
    return concat([out, tail + _part(ends, axis, blocks - 1, blocks)], axis)


def blocked_inner(
    product: Callable[[Any, Any], Any],
    total: Callable[[Any], Any],
    x1: Any,
    x2: Any,
    terms: int,
) -> Any:
    """Return sums of products along the last axis, as sums of products of fewer terms.

    Parameters
    ----------
    product : callable
        The library's inner product along the last axis.
    total : callable
        Returns accurate sums along the last axis.
    x1, x2 : native arrays
        Operands with last axes of one size.
    terms : int
        Terms of one product.
    """
    size = x1.shape[-1]
    if size <= terms:
        return product(x1, x2)
    blocks, remainder = divmod(size, terms)
    whole = size - remainder
    parts = product(
        x1[..., :whole].reshape((*x1.shape[:-1], blocks, terms)),
        x2[..., :whole].reshape((*x2.shape[:-1], blocks, terms)),
    )
    out = total(parts)
    return out + product(x1[..., whole:], x2[..., whole:]) if remainder else out


def blocked_matmul(
    matmul: Callable[[Any, Any], Any],
    total: Callable[[Any], Any],
    moveaxis: Callable[[Any, int, int], Any],
    x1: Any,
    x2: Any,
) -> Any:
    """Return the matrix product of floating-point arrays as a sum of products of fewer terms.

    Parameters
    ----------
    matmul : callable
        The library's function.
    total : callable
        Returns accurate sums along the first axis.
    moveaxis : callable
        The library's function.
    x1, x2 : native arrays
        Operands of at least one axis, whose shapes match.
    """
    size = x1.shape[-1]
    if size <= 4 * FEW_TERMS or size != x2.shape[-min(x2.ndim, 2)]:
        return matmul(x1, x2)
    rows = x1.shape[-2] if x1.ndim > 1 else 1
    columns = x2.shape[-1] if x2.ndim > 1 else 1
    terms = FEW_TERMS
    # The products of the blocks are to take no more memory than the operands.
    while terms * (rows + columns) < rows * columns:
        terms *= 2
    blocks, remainder = divmod(size, terms)
    if blocks < 4:
        return matmul(x1, x2)
    last = x2.ndim - min(x2.ndim, 2)
    left, right = x1, x2
    if remainder:
        left = _part(x1, x1.ndim - 1, 0, size - remainder)
        right = _part(x2, last, 0, size - remainder)
    left = left.reshape((*x1.shape[:-1], blocks, terms))
    right = right.reshape((*x2.shape[:last], blocks, terms, *x2.shape[last + 1 :]))
    if x1.ndim == 1:
        left = left[:, None]
    if x2.ndim == 1:
        right = right[..., None]
    if x1.ndim > 1:
        left = moveaxis(left, -2, 0)
    if x2.ndim > 2:
        right = moveaxis(right, -3, 0)
    # Stacks of unequal depth are aligned behind the axis of blocks.
    depth = max(x1.ndim, x2.ndim, 2) + 1
    left = left.reshape((blocks, *(1,) * (depth - left.ndim), *left.shape[1:]))
    right = right.reshape((blocks, *(1,) * (depth - right.ndim), *right.shape[1:]))
    out = total(matmul(left, right))
    if x2.ndim == 1:
        out = out[..., 0]
    if x1.ndim == 1:
        out = out[..., 0] if x2.ndim == 1 else out[..., 0, :]
    if remainder:
        out = out + matmul(
            _part(x1, x1.ndim - 1, size - remainder, size), _part(x2, last, size - remainder, size)
        )
    return out


def normalize_axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Return axes as non-negative numbers, all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    return (axis % ndim,) if isinstance(axis, int) else tuple([a % ndim for a in axis])


def least_exact_norm(limits: Any, ord: float) -> float:
    """Return a norm above which powers have all digits, given ``finfo`` of the dtype."""
    return float(float(limits.tiny / limits.eps) ** (1 / ord))


def rescaled_norm(
    norm: Callable[[Any], Any], largest: Any, where: Callable[[Any, Any, Any], Any], x: Any
) -> Any:
    """Return norms whose powers would overflow or underflow, of x divided by its largest element.

    Complex numbers are to be passed as their absolute values: an infinity divided by 1 is NaN.

    Parameters
    ----------
    norm : callable
        The plain norm, over axes that stay with size 1.
    largest : native array
        Largest absolute values along these axes.
    where : callable
        The library's function.
    x : native array
        Real numbers.
    """
    scale = where((largest > 0) & (largest < math.inf), largest, 1)
    return norm(x / scale) * scale


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
    return x[(*(slice(None),) * axis, slice(start, stop))]
