"""Functions along axes: sums, moments, extremes, order, and searching."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.elementwise import (
    EXTREMES,
    FLOATING,
    ORDERED,
    REAL_FLOATING,
    SUMS,
    Accepts,
    computation_dtype,
)
from portarray_conformance.reference.kinds import BOOL, NAMED, Data, DType, Undefined
from portarray_conformance.reference.registry import function

# Typed here once: NumPy's stubs know no tuples of axes with ``keepdims``.
_add: Any = np.add.reduce


def accumulator(ctx: Context, dtype: DType) -> DType:
    """Return the dtype of a sum or product: integers at least as wide as the default."""
    letter = kinds.letter(dtype)
    default = ctx.default_of("i")
    if letter not in "iu" or dtype.itemsize >= default.itemsize:
        return dtype
    if letter == "i":
        return default
    wide = NAMED["uint64"] if default.itemsize == 8 else NAMED["uint32"]
    return wide if wide in ctx.dtypes.values() else ctx.available(NAMED["uint32"])


def _summed(ctx: Context, name: str, x: Any, dtype: Any, *, scalars: bool) -> tuple[Array, Any]:
    """Return an array in the dtype that a sum is computed in, and the dtype."""
    x = ctx.as_array(x, name) if scalars else ctx.require_array(x, name)
    work = computation_dtype(ctx, name, SUMS, x.dtype)
    if dtype is None:
        result = accumulator(ctx, work)
    else:
        if kinds.canonical(dtype) == BOOL:
            raise TypeError(f"{name} got dtype bool; it computes in numbers")
        result = ctx.dtype(dtype)
        if kinds.letter(work) == "c" and kinds.letter(result) != "c":
            raise TypeError(f"{name} of {work} in {result} loses the imaginary part")
    if x.dtype == result:
        return x, result
    out = ctx.call("astype", x, result, copy=False)
    if kinds.letter(work) in "iu" and not np.isfinite(out._data.astype(complex)).all():
        raise Undefined  # integers beyond half precision may be converted before or after the sum
    return out, result


def round_with_noise(
    ctx: Context,
    out: Data,
    dtype: DType,
    scale: Callable[[], Any],
    bound: float,
    exact: bool,
    unreliable: Any = None,
    *,
    positive: bool = False,
    products: bool = False,
) -> Array:
    """Return a wide result rounded, with noise of a bound in machine epsilons of a scale.

    ``unreliable`` marks where intermediate results may overflow or underflow, ``positive`` results
    are never below zero, and with ``products`` sums begin with 0 or with the first product, which
    may be -0.
    """
    if ctx.noise is not None and kinds.letter(dtype) in "fc" and not exact:
        digits, least = kinds.DIGITS[kinds.REAL.get(dtype, dtype)]
        size = scale() * (bound * 2.0**-digits)
        # Terms that are subnormal are each rounded to the same unit.
        size = np.where(size > 0, size + bound * 2.0 ** (least - digits), size)
        out = ctx.noise.perturb(out, size)
        out = np.abs(out) if positive else out
    elif ctx.noise is not None and products and kinds.letter(dtype) in "fc":
        out = ctx.noise.draw_zero_signs(out, np.ones(out.shape, bool))
    return ctx.array(
        kinds.rounded(out, dtype), None if unreliable is None else np.asarray(unreliable)
    )


def exact_sums(*wide: Data, size: Any, dtype: DType) -> bool:
    """Return whether sums are exact in any order: of eighths that stay small enough."""
    if kinds.letter(dtype) not in "fc":
        return True
    digits, _ = kinds.DIGITS[kinds.REAL.get(dtype, dtype)]
    parts = [p for x in wide for p in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    # Products of two are of sixty-fourths.
    return bool(np.all(np.asarray(size) * 64 < 2.0**digits)) and all(
        bool(np.all(p * 8 == np.rint(p * 8))) and not bool(np.any(np.signbit(p) & (p == 0)))
        for p in parts
    )


def wide(x: Data) -> Data:
    """Return floating-point data in the wide format, integers as they are."""
    return x.astype(kinds.WIDE[x.dtype]) if kinds.letter(x.dtype) in "fc" else x


def _magnitudes(data: Data) -> Data:
    """Return the sizes that errors of sums are in proportion to: those of all finite parts."""
    if data.dtype.kind != "c":
        return kinds.finite(np.abs(data))
    return np.asarray(kinds.finite(np.abs(data.real)) + kinds.finite(np.abs(data.imag)))


def _count(x: Array, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[a] for a in axes)


def _total(
    ctx: Context, name: str, x: Any, axis: Any, dtype: Any, keepdims: bool, reduce: Any
) -> Array:
    plain = axis is None and dtype is None and not keepdims
    if type(x) is Array:
        arguments.axes(axis, x.ndim)
    x, result = _summed(ctx, name, x, dtype, scalars=plain)
    axes = arguments.axes(axis, x.ndim)
    data = wide(x._data)
    out = np.asarray(reduce(data, axis=axes, keepdims=keepdims, dtype=data.dtype))
    if kinds.letter(result) not in "fc":
        open_ = None if x.undefined is None else np.any(x.undefined, axis=axes, keepdims=keepdims)
        return ctx.array(out.astype(result), None if open_ is None else np.asarray(open_))
    size = _magnitudes(data) if name == "sum" else np.abs(data)
    scale = reduce(size, axis=axes, keepdims=keepdims, dtype=size.dtype)
    # Products are exact of whole numbers alone.
    parts = data if name == "sum" else data / 8
    exact = exact_sums(parts, size=scale, dtype=result)
    n = max(1.0, _count(x, axes) / 4) * (2 if kinds.letter(result) == "c" else 1)
    unreliable = kinds.overflows(scale, result)
    if name == "prod":
        unreliable = _unreliable(
            lambda d: reduce(d, axis=axes, keepdims=keepdims), size, out, result
        )
    signs = name == "prod" and result.kind == "c"
    bound = NORMWISE[name]
    return round_with_noise(
        ctx, out, result, lambda: scale * n, bound, exact, unreliable, products=signs
    )


def _unreliable(reduce: Callable[[Data], Data], size: Data, out: Data, dtype: DType) -> Data:
    """Return where products overflow or underflow in some order of the factors."""
    up, down = reduce(np.maximum(size, 1)), reduce(np.where(size == 0, 1, np.minimum(size, 1)))
    beyond = kinds.overflows(up, dtype) | kinds.underflows(down, dtype)
    return np.asarray(beyond | ~np.isfinite(out)) if dtype.kind == "c" else beyond


def _register_total(name: str, reduce: Any) -> None:
    def total(
        ctx: Context, x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False
    ) -> Array:
        return _total(ctx, name, x, axis, dtype, keepdims, reduce)

    function("reduces", name)(total)


_register_total("sum", np.add.reduce)
_register_total("prod", np.multiply.reduce)


def _register_cumulative(name: str, ufunc: Any, initial: int) -> None:
    def cumulative(
        ctx: Context,
        x: Any,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        include_initial: bool = False,
    ) -> Array:
        return _running(ctx, name, x, axis, dtype, include_initial, ufunc, initial)

    function("all", name)(cumulative)


_register_cumulative("cumulative_sum", np.add, 0)
_register_cumulative("cumulative_prod", np.multiply, 1)


def _running(
    ctx: Context, name: str, x: Any, axis: Any, dtype: Any, initial: bool, ufunc: Any, first: int
) -> Array:
    ctx.require_array(x, name)
    if axis is None and x.ndim != 1:
        raise ValueError(f"{name} got an array of {x.ndim} axes without axis=")
    position = 0 if axis is None else arguments.axis(axis, x.ndim)
    x, result = _summed(ctx, name, x, dtype, scalars=False)

    def run(data: Data) -> Data:
        out = ufunc.accumulate(data, axis=position, dtype=data.dtype)
        if initial:
            start = np.full_like(np.take(data, [], axis=position), first)
            shape = [1 if a == position else n for a, n in enumerate(data.shape)]
            start = np.full(shape, first, dtype=data.dtype)
            out = np.concatenate([start, out], axis=position)
        return np.asarray(out)

    data = wide(x._data)
    if kinds.letter(result) not in "fc":
        out = run(data).astype(result)
        return ctx.array(out, None if x.undefined is None else np.ones(out.shape, BOOL))
    scale = run(_magnitudes(data))
    n = max(1.0, x.shape[position] / 4) * (2 if kinds.letter(result) == "c" else 1)
    parts = data if ufunc is np.add else data / 8
    exact = exact_sums(parts, size=scale, dtype=result)
    out = run(data)
    unreliable = kinds.overflows(scale, result)
    if ufunc is np.multiply:
        unreliable = _unreliable(run, np.abs(data), out, result)
    signs = ufunc is np.multiply and result.kind == "c"
    bound = NORMWISE[name]
    return round_with_noise(
        ctx, out, result, lambda: scale * n, bound, exact, unreliable, products=signs
    )


def _floats(
    ctx: Context, name: str, accepts: Accepts, x: Any, *, plain: bool
) -> tuple[Data, DType]:
    """Return wide data in the floating-point dtype of a result, and that dtype."""
    x = ctx.as_array(x, name) if plain else ctx.require_array(x, name)
    work = computation_dtype(ctx, name, accepts, x.dtype)
    return kinds.rounded(x._data, work).astype(kinds.WIDE[work]), work


@function("reduces")
def mean(ctx: Context, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    if type(x) is Array:
        arguments.axes(axis, x.ndim)
    data, result = _floats(ctx, "mean", FLOATING, x, plain=axis is None and not keepdims)
    axes = arguments.axes(axis, data.ndim)
    n = math.prod(data.shape[a] for a in axes)
    total = np.asarray(_add(data, axis=axes, keepdims=keepdims))
    if data.dtype.kind == "c":  # by its parts: NumPy divides by a complex number
        out = np.empty(total.shape, total.dtype)
        out.real, out.imag = total.real / n, total.imag / n
    else:
        out = np.asarray(total / data.dtype.type(n))
    sizes = _add(_magnitudes(data), axis=axes, keepdims=keepdims)

    def scale() -> Any:
        return sizes / n * max(1.0, n / 4)

    bound = NORMWISE["mean"] * (2 if result.kind == "c" else 1)
    unreliable = kinds.overflows(sizes, result)
    if result.kind == "c":  # a complex number is divided by a real one
        unreliable = unreliable | ~np.isfinite(out)
    return round_with_noise(ctx, out, result, scale, bound, exact=n == 0, unreliable=unreliable)


def _variance(ctx: Context, name: str, x: Any, axis: Any, correction: Any, keepdims: bool) -> Array:
    if type(x) is Array:
        arguments.axes(axis, x.ndim)
    data, result = _floats(ctx, name, REAL_FLOATING, x, plain=False)
    axes = arguments.axes(axis, data.ndim)
    less = arguments.real_number(correction, "correction")
    n = math.prod(data.shape[a] for a in axes)
    if not n > less:  # NaN is not either
        shape = _add(data, axis=axes, keepdims=keepdims).shape
        return ctx.array(np.full(shape, np.nan).astype(result))
    if n == 0:
        less = -1.0  # 0 / 1 of no elements
    centre = _add(data, axis=axes, keepdims=True) / data.dtype.type(n)
    squares = (data - centre) ** 2
    out = _add(squares, axis=axes, keepdims=keepdims) / data.dtype.type(n - less)
    out = np.asarray(out)
    largest = np.max(np.abs(data), axis=axes, keepdims=keepdims, initial=0)
    unreliable = kinds.overflows(largest**2 * n, result) | kinds.underflows(out, result)

    def scale() -> Any:
        more = max(1.0, n / 4) * n / (n - less)
        if name == "std":
            return largest * more
        eps = 2.0 ** -kinds.DIGITS[result][0]
        return (out + largest * np.sqrt(out) + eps * largest**2) * more

    if name == "std":
        root = np.sqrt(out)
        return round_with_noise(
            ctx,
            np.asarray(root),
            result,
            scale,
            NORMWISE[name],
            exact=False,
            unreliable=unreliable,
            positive=True,
        )
    return round_with_noise(
        ctx, out, result, scale, NORMWISE[name], exact=False, unreliable=unreliable, positive=True
    )


def _register_moment(name: str) -> None:
    def moment(
        ctx: Context, x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: bool = False
    ) -> Array:
        return _variance(ctx, name, x, axis, correction, keepdims)

    function("reduces", name)(moment)


_register_moment("std")
_register_moment("var")


def _extreme(ctx: Context, name: str, x: Any, axis: Any, keepdims: bool, ufunc: Any) -> Array:
    plain = axis is None and not keepdims
    x = ctx.as_array(x, name) if plain else ctx.require_array(x, name)
    axes = arguments.axes(axis, x.ndim)
    work = computation_dtype(ctx, name, EXTREMES, x.dtype)
    if _count(x, axes) == 0 and axes:
        raise ValueError(f"{name} of no elements: shape {x.shape}, axis {axis}")
    data = wide(x._data.astype(work))
    out = np.asarray(ufunc.reduce(data, axis=axes, keepdims=keepdims))
    if ctx.noise is not None and kinds.letter(work) == "f":
        zeros = data == 0
        both = np.any(zeros & np.signbit(data), axis=axes, keepdims=keepdims)
        both &= np.any(zeros & ~np.signbit(data), axis=axes, keepdims=keepdims)
        out = ctx.noise.draw_zero_signs(out, both)
    return ctx.array(kinds.rounded(out, x.dtype))


def _reduce_nonzero(
    ctx: Context, name: str, x: Any, axis: Any, keepdims: bool, reduce: Any
) -> Array:
    plain = axis is None and not keepdims
    x = ctx.as_array(x, name) if plain else ctx.require_array(x, name)
    axes = arguments.axes(axis, x.ndim)
    out = np.asarray(reduce(x._data != 0, axis=axes, keepdims=keepdims))
    return ctx.array(out.astype(ctx.index) if name == "count_nonzero" else out)


def _arg_extreme(ctx: Context, name: str, x: Any, axis: Any, keepdims: bool, find: Any) -> Array:
    ctx.require_array(x, name)
    position = None if axis is None else arguments.axis(axis, x.ndim)
    work = computation_dtype(ctx, name, ORDERED, x.dtype)
    if (x.size if position is None else x.shape[position]) == 0:
        raise ValueError(f"{name} of no elements: shape {x.shape}, axis {axis}")
    data = wide(x._data.astype(work))
    return ctx.array(np.asarray(find(data, axis=position, keepdims=keepdims)).astype(ctx.index))


def _register_reduction(name: str, reduce: Any, numpy_function: Any) -> None:
    def reduction(ctx: Context, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        out: Array = reduce(ctx, name, x, axis, keepdims, numpy_function)
        return out

    function("reduces", name)(reduction)


_register_reduction("max", _extreme, np.maximum)
_register_reduction("min", _extreme, np.minimum)
_register_reduction("all", _reduce_nonzero, np.all)
_register_reduction("any", _reduce_nonzero, np.any)
_register_reduction("count_nonzero", _reduce_nonzero, np.sum)
_register_reduction("argmax", _arg_extreme, np.argmax)
_register_reduction("argmin", _arg_extreme, np.argmin)


@function("all")
def diff(
    ctx: Context, x: Any, /, n: int = 1, axis: int = -1, *, prepend: Any = None, append: Any = None
) -> Array:
    ctx.require_array(x, "diff")
    position = arguments.axis(axis, x.ndim)
    n = arguments.size(n, "n")
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        if any(type(part) is Array and part.ndim != x.ndim for part in parts):
            raise ValueError("diff got arrays with different numbers of axes")
        x = ctx.call("concat", parts, axis=position)
    x = ctx.call("astype", x, computation_dtype(ctx, "diff", SUMS, x.dtype), copy=False)
    if n == 0:
        return ctx.array(x._data.copy(), x.undefined)
    for _ in range(min(n, x.shape[position])):
        leading = (slice(None),) * position
        later = x[(*leading, slice(1, None))]
        x = ctx.binary("subtract", later, x[(*leading, slice(0, max(x.shape[position] - 1, 0)))])
    out: Array = x
    return out
