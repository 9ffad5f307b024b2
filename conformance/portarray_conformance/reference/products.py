"""Products of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.elementwise import NUMERIC, SUMS, Accepts, computation_dtype
from portarray_conformance.reference.kinds import Data
from portarray_conformance.reference.reductions import exact_sums, round_with_noise, wide
from portarray_conformance.reference.registry import function


def _product(
    ctx: Context,
    name: str,
    accepts: Accepts,
    x1: Any,
    x2: Any,
    product: Any,
    terms: int,
    magnitude: Any = None,
) -> Array:
    """Return a product of two aligned arrays, of wide data, with noise at that of magnitudes."""
    for x in (x1, x2):
        ctx.require_array(x, name)
    first, second = ctx.aligned(name, x1, x2)
    dtype = computation_dtype(ctx, f"linalg.{name}", accepts, first.dtype)
    data = [wide(kinds.rounded(x._data, dtype)) for x in (first, second)]
    out = np.asarray(product(*data))
    if kinds.letter(dtype) in "iu":
        return ctx.array(out.astype(dtype))
    sizes = [np.abs(d) for d in data]
    magnitude = product if magnitude is None else magnitude
    scale = np.abs(magnitude(*sizes))
    exact = exact_sums(*data, size=scale, dtype=dtype)
    factor = max(1.0, terms / 4) * (2 if dtype.kind == "c" else 1)
    # With infinities too: an intermediate overflow may meet an infinity of the other sign.
    unreliable = kinds.overflows(magnitude(*[kinds.finite(size) for size in sizes]), dtype)
    bound = NORMWISE[name]
    if ctx.noise is not None and exact:
        # Sums begin with a zero or with the first term.
        out = ctx.noise.draw_zero_signs(out, np.ones(out.shape, bool))
    result = round_with_noise(
        ctx, out, dtype, lambda: scale * factor, bound, exact, unreliable, products=True
    )
    if dtype.kind == "c" and not all(np.isfinite(d).all() for d in (*data, result._data)):
        return ctx.array(result._data, np.ones(out.shape, bool))
    return result


def _multiplied(a: Data, b: Data) -> Data:
    return np.asarray(np.matmul(a, b))


@function("all")
def matmul(ctx: Context, x1: Any, x2: Any, /) -> Array:
    terms = x1.shape[-1] if type(x1) is Array and x1.ndim else 1
    return _product(ctx, "matmul", NUMERIC, x1, x2, _multiplied, terms)


@function("all")
def vecdot(ctx: Context, x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    for x in (x1, x2):
        ctx.require_array(x, "vecdot")
    # Counted in each array on its own, as NumPy does.
    at = [arguments.axis(axis, x.ndim) for x in (x1, x2)]
    n = x1.shape[at[0]]
    if n != x2.shape[at[1]]:
        raise ValueError(f"vecdot got {n} and {x2.shape[at[1]]} elements")

    def product(a: Data, b: Data) -> Data:
        first, second = np.moveaxis(a, at[0], -1), np.moveaxis(b, at[1], -1)
        return np.asarray(np.sum(np.conj(first) * second, axis=-1, dtype=first.dtype))

    return _product(ctx, "vecdot", NUMERIC, x1, x2, product, n)


@function("all")
def tensordot(ctx: Context, x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    for x in (x1, x2):
        ctx.require_array(x, "tensordot")
    if isinstance(axes, int):
        count = arguments.size(axes, "axes")
        if count > min(x1.ndim, x2.ndim):
            raise ValueError(f"axes is {axes}; the arrays have {x1.ndim} and {x2.ndim}")
        first = tuple(range(x1.ndim - count, x1.ndim))
        second = tuple(range(count))
    else:
        if not isinstance(axes, (tuple, list)):
            raise TypeError(f"axes is {axes!r}; it must be an integer or two tuples of them")
        if len(axes) != 2:
            error = ValueError(f"axes is {axes!r}; it must have two parts")
            raise kinds.with_alternatives(error, TypeError)
        first = arguments.axes(arguments.integers(axes[0], "axes"), x1.ndim)
        second = arguments.axes(arguments.integers(axes[1], "axes"), x2.ndim)
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ValueError(f"tensordot's axes differ: shapes {x1.shape} and {x2.shape}")
    terms = math.prod(x1.shape[a] for a in first)

    def product(a: Data, b: Data) -> Data:
        # NumPy's own multiplies with BLAS, in which 0 times NaN may be 0.
        places = list(range(len(first)))
        a, b = np.moveaxis(a, first, places), np.moveaxis(b, second, places)
        outer1, outer2 = a.shape[len(first) :], b.shape[len(first) :]
        left = a.reshape(terms, math.prod(outer1), 1)
        right = b.reshape(terms, 1, math.prod(outer2))
        return np.asarray((left * right).sum(axis=0, dtype=left.dtype)).reshape(outer1 + outer2)

    return _product(ctx, "tensordot", NUMERIC, x1, x2, product, terms)


@function("all", "linalg.outer")
def outer(ctx: Context, x1: Any, x2: Any, /) -> Array:
    for x in (x1, x2):
        if ctx.require_array(x, "outer").ndim != 1:
            raise ValueError(f"outer got shape {x.shape}; it takes 1-d arrays")
    return _product(ctx, "outer", SUMS, x1, x2, lambda a, b: a[:, None] * b, 1)


@function("all", "linalg.cross")
def cross(ctx: Context, x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    position = axis
    for x in (x1, x2):
        ctx.require_array(x, "cross")
        at = arguments.axis(position, x.ndim)
        if x.shape[at] != 3:
            raise ValueError(f"cross got shape {x.shape}; vectors must have 3 elements")

    def product(a: Data, b: Data, both: Any = np.subtract) -> Data:
        a, b = np.broadcast_arrays(a, b)
        p, q = np.moveaxis(a, position, 0), np.moveaxis(b, position, 0)
        parts = [both(p[i - 2] * q[i - 1], p[i - 1] * q[i - 2]) for i in range(3)]
        return np.stack(parts, axis=position)

    def magnitude(a: Data, b: Data) -> Data:
        return product(a, b, np.add)

    return _product(ctx, "cross", SUMS, x1, x2, product, 1, magnitude)


@function("all", "linalg.trace")
def trace(ctx: Context, x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    diagonal = ctx.call("linalg.diagonal", x, offset=offset)
    out: Array = ctx.call("sum", diagonal, axis=-1, dtype=dtype)
    return out
