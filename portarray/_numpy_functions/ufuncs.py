"""NumPy's ufuncs: those that the standard has, those made of them, methods and arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import portarray as pa
from portarray._elsewhere import RENAMED
from portarray._numpy_functions import reductions, without_nan
from portarray._numpy_functions.common import as_float, axes_of, beside, is_float
from portarray._numpy_functions.table import refusal, store

__all__ = ["COMPOSED", "STANDARD", "answer", "is_numpys"]

STANDARD = frozenset(
    {
        *("absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2"),
        *("arctanh", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "conjugate", "copysign"),
        *("cos", "cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater"),
        *("greater_equal", "hypot", "invert", "isfinite", "isinf", "isnan", "left_shift", "less"),
        *("less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and"),
        *("logical_not", "logical_or", "logical_xor", "matmul", "maximum", "minimum", "multiply"),
        *("negative", "nextafter", "not_equal", "positive", "power", "reciprocal", "remainder"),
        *("right_shift", "rint", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract"),
        *("tan", "tanh", "trunc", "vecdot"),
    }
)
"""NumPy's ufuncs that are functions of the standard; some have another name there."""


def _both(x1: Any, x2: Any) -> tuple[Any, Any]:
    array = x1 if type(x1) is pa.Array else x2
    return beside(x1, array), beside(x2, array)


def cbrt(x: Any) -> Any:
    y = as_float(x)
    root = pa.copysign(pa.pow(pa.abs(y), 1 / 3), y)
    # One step of Newton's method, since 1 / 3 is rounded.
    good = pa.logical_and(pa.isfinite(y), y != 0)
    safe = pa.where(good, root, pa.ones_like(root))
    return pa.where(good, safe - (safe - y / (safe * safe)) / 3, root)


def heaviside(x1: Any, x2: Any) -> Any:
    x, y = _both(x1, x2)
    x = as_float(x)
    found = pa.where(x == 0, y, pa.where(x > 0, 1.0, 0.0))
    return pa.where(pa.isnan(x), x, found)


def fmax(x1: Any, x2: Any) -> Any:
    x, y = _both(x1, x2)
    return pa.where(pa.isnan(x), y, pa.where(pa.isnan(y), x, pa.maximum(x, y)))


def fmin(x1: Any, x2: Any) -> Any:
    x, y = _both(x1, x2)
    return pa.where(pa.isnan(x), y, pa.where(pa.isnan(y), x, pa.minimum(x, y)))


def fmod(x1: Any, x2: Any) -> Any:
    x, y = _both(x1, x2)
    rest = pa.remainder(pa.abs(x), pa.abs(y))
    if is_float(rest):
        return pa.copysign(rest, x)
    return pa.where(x < 0, -rest, rest)


def float_power(x1: Any, x2: Any) -> Any:
    x, y = _both(x1, x2)
    return pa.pow(as_float(x), y)


def ldexp(x1: Any, x2: Any) -> Any:
    x, y = _both(x1, x2)
    x = as_float(x)
    half = y // 2  # a power of two alone may be outside the range that the product is in
    return x * pa.pow(2.0, half.astype(x.dtype)) * pa.pow(2.0, (y - half).astype(x.dtype))


def modf(x: Any) -> Any:
    y = as_float(x)
    whole = pa.trunc(y)
    rest = pa.where(pa.isinf(y), pa.zeros_like(y), y - whole)
    return pa.copysign(rest, y), whole


def spacing(x: Any) -> Any:
    y = as_float(x)
    size = pa.abs(y)
    step = pa.nextafter(size, pa.full_like(size, pa.inf)) - size
    return pa.where(pa.isinf(y), pa.nan, pa.copysign(step, y))


def logaddexp2(x1: Any, x2: Any) -> Any:
    x, y = map(as_float, _both(x1, x2))
    scale = math.log(2)
    return pa.logaddexp(x * scale, y * scale) / scale


def bitwise_count(x: Any) -> Any:
    bits = pa.abs(x)
    found = bits & 1
    for place in range(1, 8 * x.dtype.itemsize - (x.dtype.kind == "i")):
        found = found + ((bits >> place) & 1)
    return found.astype(pa.uint8)


def clip(x: Any, low: Any, high: Any) -> Any:
    return pa.minimum(pa.maximum(x, low), high)


def matvec(x1: Any, x2: Any) -> Any:
    return pa.matmul(x1, x2[..., None])[..., 0]


def vecmat(x1: Any, x2: Any) -> Any:
    return pa.matmul(pa.conj(x1)[..., None, :], x2)[..., 0, :]


COMPOSED: dict[str, Callable[..., Any]] = {
    "bitwise_count": bitwise_count,
    "cbrt": cbrt,
    "clip": clip,
    "deg2rad": lambda x: x * (pa.pi / 180),
    "degrees": lambda x: x * (180 / pa.pi),
    "divmod": lambda x1, x2: (pa.floor_divide(x1, x2), pa.remainder(x1, x2)),
    "exp2": lambda x: pa.pow(2.0, as_float(x)),
    "fabs": lambda x: pa.abs(as_float(x)),
    "float_power": float_power,
    "fmax": fmax,
    "fmin": fmin,
    "fmod": fmod,
    "heaviside": heaviside,
    "ldexp": ldexp,
    "logaddexp2": logaddexp2,
    "matvec": matvec,
    "modf": modf,
    "rad2deg": lambda x: x * (180 / pa.pi),
    "radians": lambda x: x * (pa.pi / 180),
    "spacing": spacing,
    "vecmat": vecmat,
}
"""NumPy's other ufuncs, made of functions of the standard."""

_BOOLEAN = frozenset(
    {
        *("equal", "greater", "greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal"),
        *("logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "signbit"),
    }
)
_OWN_DTYPE = frozenset({"bitwise_count", "isfinite", "isinf", "isnan", "signbit"})


_COMPUTED: dict[str, Callable[..., Any]] = {
    **{name: getattr(pa, RENAMED.get(name, name)) for name in STANDARD},
    **COMPOSED,
}


def is_numpys(ufunc: Any) -> bool:
    """Tell whether a ufunc is NumPy's own."""
    name = ufunc.__name__
    return getattr(np, name, None) is ufunc or (name == "clip" and isinstance(ufunc, np.ufunc))


def answer(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer a call of one of NumPy's ufuncs or of its methods.

    Raises
    ------
    TypeError
        For ufuncs, methods and arguments that are not served.
    """
    name = ufunc.__name__
    compute = _COMPUTED.get(name)
    if compute is None:
        raise refusal(name)
    if not kwargs and method == "__call__":
        return compute(*inputs)
    options = dict(kwargs)
    out = options.pop("out", None)
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is not None and all(one is None for one in (out if isinstance(out, tuple) else (out,))):
        out = None
    for key in ("order", "subok"):
        options.pop(key, None)
    if method == "__call__":
        found = _called(name, compute, inputs, options, out)
    else:
        answers: Callable[..., Any] = _METHODS.get(method, _refused)
        found = answers(name, method, compute, inputs, options)
    return found if out is None else store(found, out, name)


def _called(
    name: str, compute: Any, inputs: tuple[Any, ...], options: dict[str, Any], out: Any
) -> Any:
    dtype, mask = options.pop("dtype", None), options.pop("where", True)
    options.pop("casting", None)
    if options:
        raise TypeError(f"ufunc {name} of portarray arrays takes no {', '.join(options)}")
    arrays = [x for x in inputs if type(x) is pa.Array]
    if not arrays:  # only out= is an array
        raise TypeError(f"ufunc {name} takes at least one portarray array; out= is the only one")
    if dtype is not None and name not in _BOOLEAN and name not in _OWN_DTYPE:
        inputs = tuple(x.astype(dtype, copy=False) if type(x) is pa.Array else x for x in inputs)
    found = compute(*inputs)
    if dtype is not None and type(found) is pa.Array:
        found = found.astype(dtype, copy=False)
    if mask is True or out is None:
        return found
    targets, values = ((one,) if type(one) is pa.Array else one for one in (out, found))
    kept = tuple(
        pa.where(beside(mask, value, f"ufunc {name}"), value.astype(target.dtype), target)
        for target, value in zip(targets, values, strict=True)
    )
    return kept if isinstance(found, tuple) else kept[0]


def _refused(name: str, method: str, *_: Any) -> Any:
    fix = {
        "at": "y = x; y[indices] = values for indices that are each there once",
        "reduceat": "slices of pa.cumulative_sum(x)",
    }.get(method, "the standard's functions (pa.sum, pa.prod, pa.max, pa.cumulative_sum, ...)")
    raise TypeError(f"numpy.{name}.{method} is not available for portarray arrays; use {fix}")


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "add": reductions.sum_,
    "multiply": reductions.prod,
    "maximum": reductions.max_,
    "minimum": reductions.min_,
    "logical_and": reductions.all_,
    "logical_or": reductions.any_,
    "fmax": without_nan.nanmax,
    "fmin": without_nan.nanmin,
}
ASSOCIATIVE = frozenset(
    {
        *("add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "logical_xor"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "logaddexp", "logaddexp2"),
        "hypot",
    }
)


def _reduced(
    name: str, method: str, compute: Any, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    positional = ("axis", "dtype", "out", "keepdims", "initial", "where")
    x, *more = inputs
    options = {**dict(zip(positional, more, strict=False)), **options}
    options = {
        key: value for key, value in options.items() if value is not getattr(np, "_NoValue", None)
    }
    axis = options.pop("axis", 0)
    reduce = REDUCTIONS.get(name)
    if reduce is not None:
        dtype = options.pop("dtype", None)
        if dtype is not None:
            x = x.astype(dtype, copy=False)
        return reduce(x, axis=axis, **options)
    if name not in ASSOCIATIVE:
        return _refused(name, method)
    keepdims = options.pop("keepdims", False)
    _only_neutral(name, method, options)
    axes = axes_of(x, axis)
    for one in axes:
        x = pa.moveaxis(x, one, 0)
        while x.shape[0] > 1:
            half = x.shape[0] // 2
            pairs = compute(x[:half], x[half : 2 * half])
            x = pa.concat([pairs, x[2 * half :].astype(pairs.dtype)], axis=0)
        if not x.shape[0]:
            raise ValueError(f"numpy.{name}.reduce of an axis of length 0 has no result")
        x = pa.moveaxis(x, 0, one)
    return x if keepdims else pa.squeeze(x, axes)


def _accumulated(
    name: str, method: str, compute: Any, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    x, *more = inputs
    options = {**dict(zip(("axis", "dtype", "out"), more, strict=False)), **options}
    axis, dtype = options.pop("axis", 0), options.pop("dtype", None)
    _only_neutral(name, method, options)
    if name in ("add", "multiply"):
        run = pa.cumulative_sum if name == "add" else pa.cumulative_prod
        return run(x, axis=axis, dtype=dtype)
    if name not in ASSOCIATIVE:
        return _refused(name, method)
    x = pa.moveaxis(x if dtype is None else x.astype(dtype), axis, 0)
    step = 1
    while step < x.shape[0]:
        later = compute(x[:-step], x[step:])
        x = pa.concat([x[:step].astype(later.dtype), later], axis=0)
        step *= 2
    return pa.moveaxis(x, 0, axis)


def _outer(
    name: str, _: str, compute: Any, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    x, y = _both(*inputs)
    x = pa.reshape(x, x.shape + (1,) * y.ndim)
    return _called(name, compute, (x, y), options, None)


def _only_neutral(name: str, method: str, options: dict[str, Any]) -> None:
    unknown = [key for key, value in options.items() if value is not None and value is not True]
    if unknown:
        raise TypeError(f"numpy.{name}.{method} of portarray arrays takes no {', '.join(unknown)}")


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduced,
    "accumulate": _accumulated,
    "outer": _outer,
    "at": _refused,
    "reduceat": _refused,
}
