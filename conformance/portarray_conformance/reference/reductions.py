"""Functions along axes: sums, moments, extremes, order, and searching."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.elementwise import (
    EXTREMES,
    FLOATING,
    ORDERED,
    REAL_FLOATING,
    SUMS,
    Accepts,
    converted,
)
from portarray_conformance.reference.kinds import BOOL, NAMED, Data, DType, Unsure
from portarray_conformance.reference.registry import function

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules


# Typed here once: NumPy's stubs know no tuples of axes with ``keepdims``.
_add: Any = np.add.reduce


def accumulator(rules: Rules, dtype: DType) -> DType:
    """Return the dtype of a sum or product: integers at least as wide as the default."""
    letter = kinds.letter(dtype)
    default = rules.default_of("i")
    if letter not in "iu" or dtype.itemsize >= default.itemsize:
        return dtype
    if letter == "i":
        return default
    wide = NAMED["uint64"] if default.itemsize == 8 else NAMED["uint32"]
    return wide if wide in rules.dtypes.values() else rules.available(NAMED["uint32"])


def _summed(rules: Rules, name: str, x: Any, dtype: Any, *, scalars: bool) -> tuple[Array, Any]:
    """Return an array in the dtype that a sum is computed in, and the dtype."""
    x = rules.given(x, name) if scalars else rules.is_array(x, name)
    work = converted(rules, name, SUMS, x.dtype)
    if dtype is None:
        result = accumulator(rules, work)
    else:
        if kinds.canonical(dtype) == BOOL:
            raise TypeError(f"{name} got dtype bool; it computes in numbers")
        result = rules.dtype(dtype)
        if kinds.letter(work) == "c" and kinds.letter(result) != "c":
            raise TypeError(f"{name} of {work} in {result} loses the imaginary part")
    if x.dtype == result:
        return x, result
    out = rules.call("astype", x, result, copy=False)
    if kinds.letter(work) in "iu" and not np.isfinite(out._data.astype(complex)).all():
        raise Unsure  # whether integers beyond half precision are converted before they are summed
    return out, result


def finished(
    rules: Rules,
    out: Data,
    dtype: DType,
    scale: Callable[[], Any],
    bound: float,
    exact: bool,
    wild: Any = None,
    *,
    positive: bool = False,
    products: bool = False,
) -> Array:
    """Return a wide result rounded, with noise of a bound in machine epsilons of a scale.

    ``wild`` tells where what is computed on the way may overflow or underflow, ``positive`` that
    nothing is less than zero, ``products`` that sums begin with 0 or with a first product, which
    may be -0.
    """
    if rules.noise is not None and kinds.letter(dtype) in "fc" and not exact:
        digits, least = kinds.DIGITS[kinds.REAL.get(dtype, dtype)]
        size = scale() * (bound * 2.0**-digits)
        # Terms that are subnormal are each rounded to the same unit.
        size = np.where(size > 0, size + bound * 2.0 ** (least - digits), size)
        out = rules.noise.spread(out, size)
        out = np.abs(out) if positive else out
    elif rules.noise is not None and products and kinds.letter(dtype) in "fc":
        out = rules.noise.signs(out, np.ones(out.shape, bool))
    return rules.array(kinds.rounded(out, dtype), None if wild is None else np.asarray(wild))


def exact_sums(*wide: Data, size: Any, dtype: DType) -> bool:
    """Tell whether sums are exact in any order: of eighths that stay small enough."""
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
    rules: Rules, name: str, x: Any, axis: Any, dtype: Any, keepdims: bool, reduce: Any
) -> Array:
    plain = axis is None and dtype is None and not keepdims
    if type(x) is Array:
        arguments.axes(axis, x.ndim)
    x, result = _summed(rules, name, x, dtype, scalars=plain)
    axes = arguments.axes(axis, x.ndim)
    data = wide(x._data)
    out = np.asarray(reduce(data, axis=axes, keepdims=keepdims, dtype=data.dtype))
    if kinds.letter(result) not in "fc":
        open_ = None if x.unsure is None else np.any(x.unsure, axis=axes, keepdims=keepdims)
        return rules.array(out.astype(result), None if open_ is None else np.asarray(open_))
    size = _magnitudes(data) if name == "sum" else np.abs(data)
    scale = reduce(size, axis=axes, keepdims=keepdims, dtype=size.dtype)
    # Products are exact of whole numbers alone.
    parts = data if name == "sum" else data / 8
    exact = exact_sums(parts, size=scale, dtype=result)
    n = max(1.0, _count(x, axes) / 4) * (2 if kinds.letter(result) == "c" else 1)
    wild = kinds.overflows(scale, result)
    if name == "prod":
        wild = _wild(lambda d: reduce(d, axis=axes, keepdims=keepdims), size, out, result)
    signs = name == "prod" and result.kind == "c"
    bound = NORMWISE[name]
    return finished(rules, out, result, lambda: scale * n, bound, exact, wild, products=signs)


def _wild(reduce: Callable[[Data], Data], size: Data, out: Data, dtype: DType) -> Data:
    """Return where products overflow or underflow in some order of the factors."""
    up, down = reduce(np.maximum(size, 1)), reduce(np.where(size == 0, 1, np.minimum(size, 1)))
    found = kinds.overflows(up, dtype) | kinds.underflows(down, dtype)
    return np.asarray(found | ~np.isfinite(out)) if dtype.kind == "c" else found


@function("reduces")
def sum_(
    rules: Rules, x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False
) -> Array:
    return _total(rules, "sum", x, axis, dtype, keepdims, np.add.reduce)


@function("reduces")
def prod(
    rules: Rules, x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False
) -> Array:
    return _total(rules, "prod", x, axis, dtype, keepdims, np.multiply.reduce)


@function("all")
def cumulative_sum(
    rules: Rules,
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    return _running(rules, "cumulative_sum", x, axis, dtype, include_initial, np.add, 0)


@function("all")
def cumulative_prod(
    rules: Rules,
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    return _running(rules, "cumulative_prod", x, axis, dtype, include_initial, np.multiply, 1)


def _running(
    rules: Rules, name: str, x: Any, axis: Any, dtype: Any, initial: bool, ufunc: Any, first: int
) -> Array:
    rules.is_array(x, name)
    if axis is None and x.ndim != 1:
        raise ValueError(f"{name} got an array of {x.ndim} axes without axis=")
    place = 0 if axis is None else arguments.axis(axis, x.ndim)
    x, result = _summed(rules, name, x, dtype, scalars=False)

    def run(data: Data) -> Data:
        out = ufunc.accumulate(data, axis=place, dtype=data.dtype)
        if initial:
            start = np.full_like(np.take(data, [], axis=place), first)
            shape = [1 if a == place else n for a, n in enumerate(data.shape)]
            start = np.full(shape, first, dtype=data.dtype)
            out = np.concatenate([start, out], axis=place)
        return np.asarray(out)

    data = wide(x._data)
    if kinds.letter(result) not in "fc":
        out = run(data).astype(result)
        return rules.array(out, None if x.unsure is None else np.ones(out.shape, BOOL))
    scale = run(_magnitudes(data))
    n = max(1.0, x.shape[place] / 4) * (2 if kinds.letter(result) == "c" else 1)
    parts = data if ufunc is np.add else data / 8
    exact = exact_sums(parts, size=scale, dtype=result)
    out = run(data)
    wild = kinds.overflows(scale, result)
    if ufunc is np.multiply:
        wild = _wild(run, np.abs(data), out, result)
    signs = ufunc is np.multiply and result.kind == "c"
    bound = NORMWISE[name]
    return finished(rules, out, result, lambda: scale * n, bound, exact, wild, products=signs)


def _floats(
    rules: Rules, name: str, accepts: Accepts, x: Any, *, plain: bool
) -> tuple[Data, DType]:
    """Return wide data in the floating-point dtype of a result, and that dtype."""
    x = rules.given(x, name) if plain else rules.is_array(x, name)
    work = converted(rules, name, accepts, x.dtype)
    return kinds.rounded(x._data, work).astype(kinds.WIDE[work]), work


@function("reduces")
def mean(rules: Rules, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    if type(x) is Array:
        arguments.axes(axis, x.ndim)
    data, result = _floats(rules, "mean", FLOATING, x, plain=axis is None and not keepdims)
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
    wild = kinds.overflows(sizes, result)
    if result.kind == "c":  # a complex number is divided by a real one
        wild = wild | ~np.isfinite(out)
    return finished(rules, out, result, scale, bound, exact=n == 0, wild=wild)


def _variance(rules: Rules, name: str, x: Any, axis: Any, correction: Any, keepdims: bool) -> Array:
    if type(x) is Array:
        arguments.axes(axis, x.ndim)
    data, result = _floats(rules, name, REAL_FLOATING, x, plain=False)
    axes = arguments.axes(axis, data.ndim)
    less = arguments.real_number(correction, "correction")
    n = math.prod(data.shape[a] for a in axes)
    if not n > less:  # NaN is not either
        shape = _add(data, axis=axes, keepdims=keepdims).shape
        return rules.array(np.full(shape, np.nan).astype(result))
    if n == 0:
        less = -1.0  # 0 / 1 of no elements
    centre = _add(data, axis=axes, keepdims=True) / data.dtype.type(n)
    squares = (data - centre) ** 2
    out = _add(squares, axis=axes, keepdims=keepdims) / data.dtype.type(n - less)
    out = np.asarray(out)
    largest = np.max(np.abs(data), axis=axes, keepdims=keepdims, initial=0)
    wild = kinds.overflows(largest**2 * n, result) | kinds.underflows(out, result)

    def scale() -> Any:
        more = max(1.0, n / 4) * n / (n - less)
        if name == "std":
            return largest * more
        eps = 2.0 ** -kinds.DIGITS[result][0]
        return (out + largest * np.sqrt(out) + eps * largest**2) * more

    if name == "std":
        root = np.sqrt(out)
        return finished(
            rules,
            np.asarray(root),
            result,
            scale,
            NORMWISE[name],
            exact=False,
            wild=wild,
            positive=True,
        )
    return finished(
        rules, out, result, scale, NORMWISE[name], exact=False, wild=wild, positive=True
    )


@function("reduces")
def std(
    rules: Rules, x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: bool = False
) -> Array:
    return _variance(rules, "std", x, axis, correction, keepdims)


@function("reduces")
def var(
    rules: Rules, x: Any, /, *, axis: Any = None, correction: Any = 0.0, keepdims: bool = False
) -> Array:
    return _variance(rules, "var", x, axis, correction, keepdims)


def _extreme(rules: Rules, name: str, x: Any, axis: Any, keepdims: bool, ufunc: Any) -> Array:
    plain = axis is None and not keepdims
    x = rules.given(x, name) if plain else rules.is_array(x, name)
    axes = arguments.axes(axis, x.ndim)
    work = converted(rules, name, EXTREMES, x.dtype)
    if _count(x, axes) == 0 and axes:
        raise ValueError(f"{name} of no elements: shape {x.shape}, axis {axis}")
    data = wide(x._data.astype(work))
    out = np.asarray(ufunc.reduce(data, axis=axes, keepdims=keepdims))
    if rules.noise is not None and kinds.letter(work) == "f":
        zeros = data == 0
        both = np.any(zeros & np.signbit(data), axis=axes, keepdims=keepdims)
        both &= np.any(zeros & ~np.signbit(data), axis=axes, keepdims=keepdims)
        out = rules.noise.signs(out, both)
    return rules.array(kinds.rounded(out, x.dtype))


@function("reduces")
def max_(rules: Rules, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _extreme(rules, "max", x, axis, keepdims, np.maximum)


@function("reduces")
def min_(rules: Rules, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _extreme(rules, "min", x, axis, keepdims, np.minimum)


def _truth(rules: Rules, name: str, x: Any, axis: Any, keepdims: bool, reduce: Any) -> Data:
    plain = axis is None and not keepdims
    x = rules.given(x, name) if plain else rules.is_array(x, name)
    axes = arguments.axes(axis, x.ndim)
    return np.asarray(reduce(x._data != 0, axis=axes, keepdims=keepdims))


@function("reduces")
def all_(rules: Rules, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return rules.array(_truth(rules, "all", x, axis, keepdims, np.all))


@function("reduces")
def any_(rules: Rules, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return rules.array(_truth(rules, "any", x, axis, keepdims, np.any))


@function("reduces")
def count_nonzero(rules: Rules, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    found = _truth(rules, "count_nonzero", x, axis, keepdims, np.sum)
    return rules.array(found.astype(rules.index))


def _place(rules: Rules, name: str, x: Any, axis: Any, keepdims: bool, find: Any) -> Array:
    rules.is_array(x, name)
    place = None if axis is None else arguments.axis(axis, x.ndim)
    work = converted(rules, name, ORDERED, x.dtype)
    if (x.size if place is None else x.shape[place]) == 0:
        raise ValueError(f"{name} of no elements: shape {x.shape}, axis {axis}")
    data = wide(x._data.astype(work))
    return rules.array(np.asarray(find(data, axis=place, keepdims=keepdims)).astype(rules.index))


@function("reduces")
def argmax(rules: Rules, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _place(rules, "argmax", x, axis, keepdims, np.argmax)


@function("reduces")
def argmin(rules: Rules, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _place(rules, "argmin", x, axis, keepdims, np.argmin)


@function("all")
def diff(
    rules: Rules,
    x: Any,
    /,
    n: int = 1,
    axis: int = -1,
    *,
    prepend: Any = None,
    append: Any = None,
) -> Array:
    rules.is_array(x, "diff")
    place = arguments.axis(axis, x.ndim)
    n = arguments.size(n, "n")
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        if any(type(part) is Array and part.ndim != x.ndim for part in parts):
            raise ValueError("diff got arrays with different numbers of axes")
        x = rules.call("concat", parts, axis=place)
    x = rules.call("astype", x, converted(rules, "diff", SUMS, x.dtype), copy=False)
    if n == 0:
        return rules.array(x._data.copy(), x.unsure)
    for _ in range(min(n, x.shape[place])):
        before = (slice(None),) * place
        later = x[(*before, slice(1, None))]
        x = rules.binary("subtract", later, x[(*before, slice(0, max(x.shape[place] - 1, 0)))])
    out: Array = x
    return out
