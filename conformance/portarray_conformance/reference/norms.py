"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.decompositions import svdvals
from portarray_conformance.reference.elementwise import FLOATING, computation_dtype
from portarray_conformance.reference.reductions import round_with_noise
from portarray_conformance.reference.registry import function


@function("reduces", "linalg.vector_norm")
def vector_norm(
    ctx: Context, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2
) -> Array:
    ctx.require_array(x, "vector_norm")
    axes = arguments.axes(axis, x.ndim)
    order = arguments.real_number(ord, "ord")
    work = computation_dtype(ctx, "vector_norm", FLOATING, x.dtype)
    real = kinds.REAL.get(work, work)
    sizes = np.abs(kinds.rounded(x._data, work).astype(kinds.WIDE[work]))
    along: Any = {"axis": axes, "keepdims": keepdims}
    n = math.prod(x.shape[a] for a in axes)
    if order == 0:
        out = np.sum(sizes != 0, **along).astype(sizes.dtype)
    elif order == math.inf:
        out = np.max(sizes, initial=0, **along)
    elif order == -math.inf:
        if n == 0:
            raise ValueError("vector_norm of no elements has no least one")
        out = np.min(sizes, **along)
    elif order == 2:
        # Scaled, as squares may overflow.
        top = np.max(sizes, axis=axes, keepdims=True, initial=0)
        top = np.where((top > 0) & np.isfinite(top), top, 1)
        out = np.sqrt(np.sum((sizes / top) ** 2, **along)) * top.reshape(
            np.sum(sizes, **along).shape
        )
    else:
        out = np.sum(sizes**order, **along) ** (sizes.dtype.type(1) / order)
    out = np.asarray(out)
    unreliable = None
    if order != 0 and abs(order) != math.inf:
        powers = sizes**order
        total = np.sum(powers, **along)
        unreliable = kinds.overflows(total, real) | np.any(kinds.underflows(powers, real), **along)
    if work.kind == "c":  # infinite or NaN
        both = np.any(np.isnan(x._data) & np.isinf(sizes), **along)
        unreliable = both if unreliable is None else unreliable | both
    bound = NORMWISE["linalg"] * max(1, n)
    exact = order == 0 or (abs(order) == math.inf and work.kind != "c")
    return round_with_noise(
        ctx,
        out,
        real,
        lambda: np.abs(out),
        bound,
        exact=exact,
        unreliable=unreliable,
        positive=True,
    )


@function("all", "linalg.matrix_norm")
def matrix_norm(ctx: Context, x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    ctx.require_array(x, "matrix_norm")
    arguments.matrices(x, "matrix_norm")
    order: Any = "fro" if ord is None else ord
    arguments.choice(order, "ord", ("fro", "nuc", 1, 2, math.inf, -1, -2, -math.inf))
    if order == "fro":
        return vector_norm(ctx, x, axis=(-2, -1), keepdims=keepdims)
    if order in ("nuc", 2, -2):
        values = svdvals(ctx, x)
        name = {"nuc": "sum", 2: "max", -2: "min"}[order]
        if name == "max" and values.shape[-1] == 0:
            norm = ctx.array(np.zeros(values.shape[:-1], values.dtype))
        else:
            norm = ctx.call(name, values, axis=-1)
    else:
        size = ctx.unary(
            "abs",
            ctx.call(
                "astype", x, computation_dtype(ctx, "matrix_norm", FLOATING, x.dtype), copy=False
            ),
        )
        summed = -2 if order in (1, -1) else -1
        sums = ctx.call("sum", size, axis=summed)
        if order > 0 and sums.shape[-1] == 0:
            norm = ctx.array(np.zeros(sums.shape[:-1], sums.dtype))
        else:
            norm = ctx.call("max" if order > 0 else "min", sums, axis=-1)
    return norm[..., None, None] if keepdims else norm
