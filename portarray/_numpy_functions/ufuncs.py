"""NumPy's ufuncs: standard functions, compositions of them, methods and arguments."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray._array import conversion
from portarray._array.updates import Updates
from portarray._name_hints import RENAMED
from portarray._namespace import pa
from portarray._numpy_functions import reductions, without_nan
from portarray._numpy_functions.common import as_array, as_arrays, as_float, axes_of, is_float
from portarray._numpy_functions.table import refusal, store

__all__ = ["COMPOSED", "STANDARD", "answer", "is_numpys", "special"]

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
"""NumPy's ufuncs that are functions of the standard, some under another name."""


def cbrt(x: Any) -> Any:
    y = as_float(x)
    root = pa.copysign(pa.pow(pa.abs(y), 1 / 3), y)
    # One step of Newton's method, since 1 / 3 is rounded.
    good = pa.logical_and(pa.isfinite(y), y != 0)
    safe = pa.where(good, root, pa.ones_like(root))
    return pa.where(good, safe - (safe - y / (safe * safe)) / 3, root)


def heaviside(x1: Any, x2: Any) -> Any:
    x, y = as_arrays(x1, x2)
    x = as_float(x)
    steps = pa.where(x == 0, y, pa.where(x > 0, 1.0, 0.0))
    return pa.where(pa.isnan(x), x, steps)


def fmax(x1: Any, x2: Any) -> Any:
    x, y = as_arrays(x1, x2)
    return pa.where(pa.isnan(x), y, pa.where(pa.isnan(y), x, pa.maximum(x, y)))


def fmin(x1: Any, x2: Any) -> Any:
    x, y = as_arrays(x1, x2)
    return pa.where(pa.isnan(x), y, pa.where(pa.isnan(y), x, pa.minimum(x, y)))


def fmod(x1: Any, x2: Any) -> Any:
    x, y = as_arrays(x1, x2)
    remainder = pa.remainder(pa.abs(x), pa.abs(y))
    if is_float(remainder):
        return pa.copysign(remainder, x)
    return pa.where(x < 0, -remainder, remainder)


def float_power(x1: Any, x2: Any) -> Any:
    x, y = as_arrays(x1, x2)
    return pa.pow(as_float(x), y)


def ldexp(x1: Any, x2: Any) -> Any:
    x, y = as_arrays(x1, x2)
    x = as_float(x)
    half = y // 2  # 2**y may overflow where the product does not
    return x * pa.pow(2.0, half.astype(x.dtype)) * pa.pow(2.0, (y - half).astype(x.dtype))


def modf(x: Any) -> Any:
    y = as_float(x)
    whole = pa.trunc(y)
    fraction = pa.where(pa.isinf(y), pa.zeros_like(y), y - whole)
    return pa.copysign(fraction, y), whole


def spacing(x: Any) -> Any:
    y = as_float(x)
    size = pa.abs(y)
    step = pa.nextafter(size, pa.full_like(size, pa.inf)) - size
    return pa.where(pa.isinf(y), pa.nan, pa.copysign(step, y))


def logaddexp2(x1: Any, x2: Any) -> Any:
    x, y = map(as_float, as_arrays(x1, x2))
    scale = math.log(2)
    return pa.logaddexp(x * scale, y * scale) / scale


def bitwise_count(x: Any) -> Any:
    bits = pa.abs(x)
    count = bits & 1
    for position in range(1, 8 * x.dtype.itemsize - (x.dtype.kind == "i")):
        count = count + ((bits >> position) & 1)
    return count.astype(pa.uint8)


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
"""Other ufuncs of NumPy, composed of functions of the standard."""

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
    """Return whether a ufunc is NumPy's."""
    name = ufunc.__name__
    return getattr(np, name, None) is ufunc or (name == "clip" and isinstance(ufunc, np.ufunc))


def special(ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    """Compute a special function of SciPy's; NotImplemented for others, and complex numbers."""
    name = _SPECIAL.get(ufunc.__name__, ufunc.__name__)
    scipys = getattr(sys.modules.get("scipy.special._ufuncs"), ufunc.__name__, None)
    if scipys is not ufunc or name not in pa.special.__all__:
        return NotImplemented
    if any(type(x) is complex or (type(x) is pa.Array and x.dtype.kind == "c") for x in inputs):
        return NotImplemented
    return getattr(pa.special, name)(*inputs)


_SPECIAL = {"_riemann_zeta": "zeta", "_zeta": "zeta"}
"""SciPy's ufuncs with another name than the function that calls them."""


def answer(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute one of NumPy's ufuncs or its methods; raise TypeError if unsupported."""
    name = ufunc.__name__
    compute = _COMPUTED.get(name)
    if compute is None:
        raise refusal(name)
    if not kwargs and method == "__call__":
        return compute(*inputs)
    options = dict(kwargs)
    out = options.pop("out", None)
    if isinstance(out, tuple):
        out = None if all(x is None for x in out) else out[0] if len(out) == 1 else out
    for key in ("order", "subok"):
        options.pop(key, None)
    if method == "__call__":
        result = _called(name, compute, inputs, options, out)
    else:
        answers: Callable[..., Any] = _METHODS.get(method, _refused)
        result = answers(name, method, compute, inputs, options)
    return result if out is None else store(result, out, name)


def _called(
    name: str, compute: Any, inputs: tuple[Any, ...], options: dict[str, Any], out: Any
) -> Any:
    dtype, mask = options.pop("dtype", None), options.pop("where", True)
    options.pop("casting", None)
    if options:
        raise TypeError(f"numpy.{name}: {', '.join(options)} is not supported for portarray arrays")
    arrays = [x for x in inputs if type(x) is pa.Array]
    if not arrays:  # only out= is an array
        raise TypeError(
            f"numpy.{name}: only out= is a portarray array\nHint: convert an input with pa.asarray"
        )
    if dtype is not None and name not in _BOOLEAN and name not in _OWN_DTYPE:
        inputs = tuple(x.astype(dtype, copy=False) if type(x) is pa.Array else x for x in inputs)
    result = compute(*inputs)
    if dtype is not None and type(result) is pa.Array:
        result = result.astype(dtype, copy=False)
    targets = out if isinstance(out, tuple) else (out,)
    if mask is True or any(target is None for target in targets):
        return result
    values = result if isinstance(result, tuple) else (result,)
    full = f"ufunc {name}"
    merged = tuple(
        pa.where(
            as_array(mask, value, full),
            value.astype(target.dtype),
            as_array(target, value, full),
        )
        for target, value in zip(targets, values, strict=True)
    )
    return merged if isinstance(result, tuple) else merged[0]


def _refused(name: str, method: str, *_: Any) -> Any:
    fix = {
        "at": "numpy.add.at, subtract, multiply, maximum or minimum",
        "reduceat": "slices of pa.cumulative_sum(x)",
    }.get(method, "the standard's functions (pa.sum, pa.prod, pa.max, pa.cumulative_sum, ...)")
    raise TypeError(f"numpy.{name}.{method}: not supported for portarray arrays\nHint: use {fix}")


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
    for axis_index in axes:
        x = pa.moveaxis(x, axis_index, 0)
        while x.shape[0] > 1:
            half = x.shape[0] // 2
            pairs = compute(x[:half], x[half : 2 * half])
            x = pa.concat([pairs, x[2 * half :].astype(pairs.dtype)], axis=0)
        if not x.shape[0]:
            raise ValueError(f"numpy.{name}.reduce: axis {axis_index} has length 0")
        x = pa.moveaxis(x, 0, axis_index)
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
    x, y = as_arrays(*inputs)
    x = pa.reshape(x, x.shape + (1,) * y.ndim)
    return _called(name, compute, (x, y), options, None)


_UPDATES = {
    "add": "add",
    "maximum": "max",
    "minimum": "min",
    "multiply": "multiply",
    "subtract": "subtract",
}


def _at(
    name: str, method: str, compute: Any, inputs: tuple[Any, ...], options: dict[str, Any]
) -> None:
    x, index, *values = inputs
    if name not in _UPDATES or len(values) != 1 or type(x) is not pa.Array:
        _refused(name, method)
    key = tuple(
        pa.asarray(part, device=x.device) if isinstance(part, (list, np.ndarray)) else part
        for part in (index if isinstance(index, tuple) else (index,))
    )
    value = conversion.beside(values[0], x, f"{name}.at")
    x[...] = getattr(Updates(x)[key], _UPDATES[name])(value)


def _only_neutral(name: str, method: str, options: dict[str, Any]) -> None:
    unknown = [key for key, value in options.items() if value is not None and value is not True]
    if unknown:
        raise TypeError(
            f"numpy.{name}.{method}: {', '.join(unknown)} is not supported for portarray arrays"
        )


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduced,
    "accumulate": _accumulated,
    "outer": _outer,
    "at": _at,
    "reduceat": _refused,
}
