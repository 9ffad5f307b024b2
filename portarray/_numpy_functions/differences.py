"""Differences, integrals, gradients and interpolation."""

from __future__ import annotations

import math
from typing import Any

from portarray._array import conversion
from portarray._namespace import pa
from portarray._numpy_functions.common import (
    as_array,
    as_float,
    axes_of,
    first_array,
    flat,
    is_float,
)
from portarray._numpy_functions.table import category

serves = category("Mathematics")


@serves()
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    def edge(value: Any) -> Any:
        if value is None or (type(value) is pa.Array and value.ndim):
            return value
        shape = list(a.shape)
        shape[axis] = 1
        return pa.broadcast_to(as_array(value, a), tuple(shape))

    return pa.diff(a, n=n, axis=axis, prepend=edge(prepend), append=edge(append))


@serves()
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    differences = pa.diff(flat(ary))
    parts = [to_begin, differences, to_end]
    return pa.concat(
        [flat(as_array(x, ary)).astype(ary.dtype) for x in parts if x is not None], axis=0
    )


@serves()
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    moved = pa.moveaxis(y, axis, -1)
    if x is not None:
        dx = pa.diff(x) if x.ndim == 1 else pa.diff(pa.moveaxis(x, axis, -1))
    return pa.sum((moved[..., 1:] + moved[..., :-1]) * dx / 2.0, axis=-1)


@serves()
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    first = first_array((f, *varargs), "gradient")
    x = as_float(as_array(f, first, "gradient"))
    axes = axes_of(x, axis)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"gradient: {len(varargs)} spacings for {len(axes)} axes")
    varargs = tuple(conversion.beside(h, first, "gradient") for h in varargs)
    spacings = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    slopes = [_slope(x, h, n, edge_order) for n, h in zip(axes, spacings, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _slope(f: Any, h: Any, axis: int, edge_order: int) -> Any:
    f = pa.moveaxis(f, axis, -1)
    n = f.shape[-1]
    if n < edge_order + 1:
        raise ValueError(
            f"gradient: edge_order={edge_order} needs {edge_order + 1} elements, not {n}"
        )
    if type(h) is pa.Array and h.ndim:
        steps = as_float(pa.diff(h))
    else:
        steps = pa.ones((n - 1,), dtype=pa.real(f).dtype, device=f.device) * h
    h0, h1 = steps[:-1], steps[1:]
    inner = (
        -h1 / (h0 * (h0 + h1)) * f[..., :-2]
        + (h1 - h0) / (h0 * h1) * f[..., 1:-1]
        + h0 / (h1 * (h0 + h1)) * f[..., 2:]
    )
    if edge_order == 1:
        first = (f[..., 1:2] - f[..., :1]) / steps[:1]
        last = (f[..., -1:] - f[..., -2:-1]) / steps[-1:]
    else:
        first = _edge(f[..., :1], f[..., 1:2], f[..., 2:3], steps[:1], steps[1:2])
        last = -_edge(f[..., -1:], f[..., -2:-1], f[..., -3:-2], steps[-1:], steps[-2:-1])
    slope = pa.concat([first, inner, last], axis=-1)
    return pa.moveaxis(slope.astype(f.dtype, copy=False), -1, axis)


def _edge(f0: Any, f1: Any, f2: Any, h1: Any, h2: Any) -> Any:
    """Return the second-order slope at a border, with steps inwards."""
    return (
        -(2.0 * h1 + h2) / (h1 * (h1 + h2)) * f0
        + (h1 + h2) / (h1 * h2) * f1
        - h1 / (h2 * (h1 + h2)) * f2
    )


@serves(order="p discont axis")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    x = pa.moveaxis(as_float(p), axis, -1)
    step = pa.diff(x)
    discont = period / 2 if discont is None else discont
    high = period / 2
    wrapped = pa.remainder(step + high, period) - high
    wrapped = pa.where(pa.logical_and(wrapped == -high, step > 0), high, wrapped)
    change = pa.where(pa.abs(step) < discont, 0.0, wrapped - step)
    unwrapped = pa.concat([x[..., :1], x[..., 1:] + pa.cumulative_sum(change, axis=-1)], axis=-1)
    whole = isinstance(period, int) and not is_float(p)
    return pa.moveaxis(unwrapped.astype(p.dtype) if whole else unwrapped, -1, axis)


@serves()
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    x, xp, fp = as_float(as_array(x, xp, "interp")), as_float(xp), as_float(fp)
    if period is not None:
        x, xp = pa.remainder(x, abs(period)), pa.remainder(xp, abs(period))
        order = pa.argsort(xp)
        xp, fp = pa.take(xp, order, axis=0), pa.take(fp, order, axis=0)
        xp = pa.concat([xp[-1:] - abs(period), xp, xp[:1] + abs(period)])
        fp = pa.concat([fp[-1:], fp, fp[:1]])
        left = right = None
    n = xp.shape[0]
    if n == 1:
        y = pa.zeros_like(x) + fp[0]
    else:
        indices = pa.clip(pa.searchsorted(xp, flat(x), side="right") - 1, 0, n - 2)
        indices = pa.reshape(indices, (-1,))
        x0, x1 = pa.take(xp, indices, axis=0), pa.take(xp, indices + 1, axis=0)
        f0, f1 = pa.take(fp, indices, axis=0), pa.take(fp, indices + 1, axis=0)
        slope, at = (f1 - f0) / (x1 - x0), flat(x)
        y = slope * (at - x0) + f0
        # As NumPy does: of an infinite slope, from the right, and at a point its own value.
        y = pa.where(pa.isnan(y), slope * (at - x1) + f1, y)
        y = pa.where((pa.isnan(y) & (f0 == f1) & (at == at)) | (at == x0), f0, y)
        y = pa.reshape(y, x.shape)
    y = pa.where(x < xp[0], fp[0] if left is None else left, y)
    y = pa.where(x > xp[-1], fp[-1] if right is None else right, y)
    return pa.where(x == xp[-1], fp[-1], y)
