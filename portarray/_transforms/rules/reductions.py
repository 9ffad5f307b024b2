"""Gradients of sums, products, extremes, cumulative functions and sorting."""

from __future__ import annotations

import math
from typing import Any

from portarray._array import call
from portarray._namespace import pa
from portarray._transforms.rules.table import (
    RULES,
    as_operand,
    conj,
    define,
    in_single,
    of_operands,
    scaled,
)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return axes as indices from 0, all axes for None."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(n % ndim for n in ((axis,) if isinstance(axis, int) else axis))


def with_axes(g: Any, x: Any, axis: Any) -> Any:
    """Return a reduced array with its reduced axes kept, at size 1."""
    if axis is None and not g.ndim:
        return g
    axes = axes_of(axis, x.ndim)
    if len(axes) == x.ndim and not g.ndim:  # a 0-d array broadcasts
        return g
    return pa.reshape(g, tuple(1 if n in axes else size for n, size in enumerate(x.shape)))


def _count(x: Any, axis: Any) -> int:
    count = 1
    for n in axes_of(axis, x.ndim):
        count *= x.shape[n]
    return count


def _like(g: Any, x: Any) -> Any:
    return call.options("broadcast_to", g, shape=tuple(x._native.shape))


def _sum(g: Any, y: Any, x: Any, /, *, axis: Any = None, **_: Any) -> Any:
    if axis is not None or g._native.shape:
        g = with_axes(g, x, axis)
    g = call.options("broadcast_to", g, shape=tuple(x._native.shape))
    return g if g._dispatch is x._dispatch else as_operand(g, x)


def _mean(g: Any, y: Any, x: Any, /, *, axis: Any = None, **_: Any) -> Any:
    if axis is None:
        return call.options("broadcast_to", g / x.size, shape=x.shape)
    return _like(with_axes(g / _count(x, axis), x, axis), x)


def _var(g: Any, y: Any, x: Any, /, *, axis: Any = None, correction: float = 0, **_: Any) -> Any:
    centred = x - pa.mean(x, axis=axes_of(axis, x.ndim), keepdims=True)
    freedom = _count(x, axis) - correction
    g = scaled(with_axes(g, x, axis), 2 / freedom if freedom else math.inf)
    return scaled(g, centred)


def _std(g: Any, y: Any, x: Any, /, *, axis: Any = None, correction: float = 0, **_: Any) -> Any:
    freedom = _count(x, axis) - correction
    g = scaled(with_axes(g, x, axis), 1 / math.sqrt(freedom) if freedom > 0 else math.inf)
    centred = x - pa.mean(x, axis=axes_of(axis, x.ndim), keepdims=True)
    return scaled(g, unit_vectors(centred, axis))


def unit_vectors(x: Any, axis: Any) -> Any:
    """Return vectors divided by their length, 0 for 0."""
    x, is_zero = within_one(x, axis)
    size = pa.abs(x)
    length = pa.sqrt(pa.sum(size * size, axis=axes_of(axis, x.ndim), keepdims=True))
    return x / pa.where(is_zero, 1, length)


def within_one(x: Any, axis: Any) -> tuple[Any, Any]:
    """Return x divided by its largest element, and whether that is 0.

    Squares of the results neither overflow nor underflow. Beside an infinity, others are 0.
    """
    axes = axes_of(axis, x.ndim)
    largest = pa.max if x.size else pa.sum  # of no elements, 0
    scale = pa.stop_gradient(largest(pa.abs(x), axis=axes, keepdims=True))
    is_zero, is_inf = scale == 0, pa.isinf(scale)
    if not pa.isdtype(x.dtype, "complex floating"):
        x = pa.where(is_inf, pa.where(pa.isinf(x), pa.sign(x), x * 0), x)
    return x / pa.where(is_zero | is_inf, 1, scale), is_zero


def _extreme(g: Any, y: Any, x: Any, /, *, axis: Any = None, **_: Any) -> Any:
    return scaled(with_axes(g, x, axis), shares(x == with_axes(y, x, axis), x, axis))


def shares(selected: Any, x: Any, axis: Any) -> Any:
    """Return the parts of the gradient that selected elements share equally."""
    selected = pa.astype(selected, x.dtype)
    return selected / pa.sum(selected, axis=axes_of(axis, x.ndim), keepdims=True)


def _flat(x: Any, axis: Any) -> tuple[Any, Any]:
    """Return x with some axes joined at the end, and the inverse function."""
    axes = axes_of(axis, x.ndim)
    others = tuple(n for n in range(x.ndim) if n not in axes)
    moved = pa.permute_dims(x, (*others, *axes))
    joined = pa.reshape(moved, (*(x.shape[n] for n in others), _count(x, axis)))
    back = [0] * x.ndim
    for n, axis_before in enumerate((*others, *axes)):
        back[axis_before] = n

    def undo(flat: Any) -> Any:
        return pa.permute_dims(pa.reshape(flat, moved.shape), tuple(back))

    return joined, undo


def excluding(x: Any) -> Any:
    """Return the products of all other elements along the last axis, correct with zeros."""
    n = x.shape[-1]
    products_before = pa.cumulative_prod(x, axis=-1, include_initial=True)[..., :n]
    products_after = pa.flip(
        pa.cumulative_prod(pa.flip(x, axis=-1), axis=-1, include_initial=True)[..., :n], axis=-1
    )
    return products_before * products_after


def _prod(g: Any, y: Any, x: Any, /, *, axis: Any = None, **_: Any) -> Any:
    flat, undo = _flat(pa.astype(x, y.dtype, copy=False), axis)
    return as_operand(scaled(with_axes(g, x, axis), conj(undo(excluding(flat)))), x)


def _cumulative_sum(
    g: Any, y: Any, x: Any, /, *, axis: int | None = None, include_initial: bool = False, **_: Any
) -> Any:
    axis = 0 if axis is None else axis % x.ndim
    if include_initial:
        g = _without_first(g, axis)
    back = pa.flip(pa.cumulative_sum(pa.flip(g, axis=axis), axis=axis), axis=axis)
    return as_operand(back, x)


def _without_first(x: Any, axis: int) -> Any:
    return x[(slice(None),) * axis + (slice(1, None), ...)]


def _cumulative_prod(
    g: Any, y: Any, x: Any, /, *, axis: int | None = None, include_initial: bool = False, **_: Any
) -> Any:
    axis = 0 if axis is None else axis % x.ndim
    if include_initial:
        g = _without_first(g, axis)
    g, factors = (
        pa.moveaxis(g, axis, -1),
        conj(pa.moveaxis(pa.astype(x, y.dtype, copy=False), axis, -1)),
    )
    n = factors.shape[-1]
    products_before = pa.cumulative_prod(factors, axis=-1, include_initial=True)[..., :n]
    # r[k] = g[k] + x[k+1] * r[k+1] from the end, by doubling steps.
    total = g
    factor = pa.concat([factors[..., 1:], pa.zeros_like(factors[..., :1])], axis=-1)
    step = 1
    while step < n:
        later = pa.concat([total[..., step:], pa.zeros_like(total[..., :step])], axis=-1)
        total = total + scaled(later, factor)
        further = pa.concat([factor[..., step:], pa.zeros_like(factor[..., :step])], axis=-1)
        factor = factor * further
        step *= 2
    return as_operand(pa.moveaxis(scaled(total, products_before), -1, axis), x)


def _sort(
    g: Any, y: Any, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    order = pa.argsort(x, axis=axis, descending=descending, stable=stable)
    return pa.take_along_axis(g, pa.argsort(order, axis=axis), axis=axis)


def _diff(
    gs: Any, ys: Any, needs_grad: Any, x: Any, *, axis: int = -1, n: int = 1,
    prepend: Any = None, append: Any = None,
) -> Any:  # fmt: skip
    (g,) = gs
    axis = axis % x.ndim
    for _ in range(n):
        shape = list(g.shape)
        shape[axis] = 1
        edge = pa.zeros(tuple(shape), dtype=g.dtype, device=g.device)
        g = pa.concat([edge, g], axis=axis) - pa.concat([g, edge], axis=axis)
    start = 0 if prepend is None else prepend.shape[axis] if prepend.ndim else 1
    key = (slice(None),) * axis + (slice(start, start + x.shape[axis]), ...)
    return (g[key],)


def _clip(g: Any, y: Any, x: Any, lower: Any = None, upper: Any = None) -> Any:
    inside = None
    if lower is not None:
        inside = x >= lower
    if upper is not None:
        below = x <= upper
        inside = below if inside is None else inside & below
    return g if inside is None else pa.where(inside, g, 0)


define(
    {
        "cumulative_prod": in_single(_cumulative_prod),
        "cumulative_sum": in_single(_cumulative_sum),
        "max": in_single(_extreme),
        "mean": in_single(_mean),
        "min": in_single(_extreme),
        "prod": in_single(_prod),
        "sort": _sort,
        "std": in_single(_std),
        "sum": _sum,
        "var": in_single(_var),
    }
)
RULES["diff"] = _diff
RULES["clip"] = of_operands(
    lambda g, y, x, min=None, max=None: _clip(g, y, x, min, max),
    lambda g, y, x, min=None, max=None: pa.where(
        (x < min) & (True if max is None else min < max), g, 0
    ),
    lambda g, y, x, min=None, max=None: pa.where(
        x > max if min is None else (x > max) | (min >= max), g, 0
    ),
)
