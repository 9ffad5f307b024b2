"""Elementwise mathematics, logic, data types, signals and polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portarray._array import host_access, slow_path
from portarray._namespace import pa
from portarray._numpy_functions.common import as_array, as_arrays, as_float, cast, flat, is_float
from portarray._numpy_functions.linear_algebra import vecdot_of_windows
from portarray._numpy_functions.table import category

serves = category("Mathematics")


@serves(order="a a_min a_max out")
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
) -> Any:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    dtypes = [x for x in (a, low, high) if x is not None]
    x = cast(a, dtype or pa.result_type(*dtypes))
    # Not pa.clip: in NumPy an upper bound below the lower one wins.
    x = x if low is None else pa.maximum(x, low)
    return x if high is None else pa.minimum(x, high)


@serves("round", "around", order="a decimals out")
def round_(a: Any, decimals: int = 0) -> Any:
    if decimals == 0 or (decimals > 0 and not is_float(a)):
        return pa.round(a)
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        rounded = pa.round(a / scale) * scale
        return rounded if is_float(a) else rounded.astype(a.dtype)
    return pa.round(a * scale) / scale


@serves()
def sinc(x: Any) -> Any:
    y = as_float(x) * pa.pi
    # Near 0 the quotient's derivatives cancel, so its power series counts there.
    is_small = pa.abs(y) < 0.1
    safe = pa.where(is_small, pa.ones_like(y), y)
    square = y * y
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
    return pa.where(is_small, series, pa.sin(safe) / safe)


@serves()
def angle(z: Any, deg: bool = False) -> Any:
    x = as_float(z)
    radians = (
        pa.atan2(pa.imag(x), pa.real(x)) if x.dtype.kind == "c" else pa.atan2(pa.zeros_like(x), x)
    )
    return radians * (180 / pa.pi) if deg else radians


@serves()
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    result = x
    if x.dtype.kind == "c":
        parts = (nan_to_num(part, True, nan, posinf, neginf) for part in (pa.real(x), pa.imag(x)))
        first, second = parts
        result = (first + second * 1j).astype(x.dtype)
    elif is_float(x):
        limits = pa.finfo(x.dtype)
        result = pa.where(pa.isnan(x), nan, x)
        result = pa.where(x == pa.inf, limits.max if posinf is None else posinf, result)
        result = pa.where(x == -pa.inf, limits.min if neginf is None else neginf, result)
    if not copy:
        x[...] = result
        return x
    return x.copy() if result is x else result


# --- logic -------------------------------------------------------------------------------------


@serves()
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    x, y = as_arrays(a, b, name="isclose")
    if not is_float(y):
        y = as_float(y)
    near = pa.logical_and(pa.abs(x - y) <= atol + rtol * pa.abs(y), pa.isfinite(y))
    close = pa.logical_or(near, x == y)
    if equal_nan:
        close = pa.logical_or(close, pa.logical_and(pa.isnan(x), pa.isnan(y)))
    return close


@serves()
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    return pa.all(isclose(a, b, rtol, atol, equal_nan))


@serves()
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = as_arrays(a1, a2, name="array_equal")
    if x.shape != y.shape:
        return pa.zeros((), dtype=pa.bool, device=x.device)
    same = x == y
    if equal_nan:
        same = pa.logical_or(same, pa.logical_and(pa.isnan(x), pa.isnan(y)))
    return pa.all(same)


@serves()
def array_equiv(a1: Any, a2: Any) -> Any:
    x, y = as_arrays(a1, a2, name="array_equiv")
    try:
        pa.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return pa.zeros((), dtype=pa.bool, device=x.device)
    return pa.all(x == y)


# --- data types --------------------------------------------------------------------------------


@serves()
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> Any:
    to = to.dtype if type(to) is pa.Array else to
    return np.can_cast(from_.dtype if type(from_) is pa.Array else from_, to, casting)


@serves()
def min_scalar_type(a: Any) -> Any:
    if not a.ndim:
        raise TypeError("min_scalar_type: the value of a 0-d array is needed\nHint: pass x.item()")
    return a.dtype


# --- signals -----------------------------------------------------------------------------------


@serves()
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    x, y = map(flat, as_arrays(a, v, name="convolve"))
    if not x.size or not y.size:
        raise ValueError("convolve: an array is empty")
    if y.size > x.size:
        x, y = y, x
    return _trimmed(vecdot_of_windows(x, pa.flip(y)), x.size, y.size, mode)


@serves()
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    array = a if type(a) is pa.Array else v
    x, y = flat(as_array(a, array, "correlate")), pa.conj(flat(as_array(v, array, "correlate")))
    if not x.size or not y.size:
        raise ValueError("correlate: an array is empty")
    swapped = y.size > x.size
    if swapped:
        x, y = y, x
    result = _trimmed(vecdot_of_windows(x, y), x.size, y.size, mode)
    return pa.flip(result) if swapped else result


def _trimmed(full: Any, n: int, m: int, mode: str) -> Any:
    if mode == "full":
        return full
    if mode == "same":
        start = (m - 1) // 2
        return full[start : start + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ValueError(f"convolve: mode={mode!r} is not 'full', 'same' or 'valid'")


# --- polynomials -------------------------------------------------------------------------------


@serves()
def polyval(p: Any, x: Any) -> Any:
    array = p if type(p) is pa.Array else x
    coefficients = list(p) if np.ndim(p) else [p]
    y = as_array(x, array, "polyval")
    result = pa.zeros_like(y)
    for c in coefficients:
        result = result * y + c
    return result


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    x, y = map(flat, as_arrays(a1, a2, name="polyadd"))
    n = max(x.size, y.size)
    both = (pa.concat([pa.zeros((n - z.size,), dtype=z.dtype, device=z.device), z]) for z in (x, y))
    first, second = both
    return first, second


@serves()
def polyadd(a1: Any, a2: Any) -> Any:
    x, y = _aligned(a1, a2)
    return x + y


@serves()
def polysub(a1: Any, a2: Any) -> Any:
    x, y = _aligned(a1, a2)
    return x - y


@serves()
def polyder(p: Any, m: int = 1) -> Any:
    for _ in range(m):
        p = p[:-1] * pa.arange(p.shape[0] - 1, 0, -1, dtype=p.dtype, device=p.device)
    return p


@serves(order="p m k")
def polyint(p: Any, m: int = 1) -> Any:
    p = as_float(p)
    for _ in range(m):
        powers = pa.arange(p.shape[0], 0, -1, dtype=p.dtype, device=p.device)
        p = pa.concat([p / powers, pa.zeros((1,), dtype=p.dtype, device=p.device)])
    return p


# --- text --------------------------------------------------------------------------------------


def _printed(a: Any) -> Any:
    host_access.tell("print", a.device)
    return slow_path.read(a)


# Functions of one expression.
serves("fix", order="x out")(lambda x: pa.trunc(x))
serves("isneginf", order="x out")(lambda x: x == -pa.inf)
serves("isposinf", order="x out")(lambda x: x == pa.inf)
serves("astype", order="x dtype")(lambda x, dtype, *, copy=True: x.astype(dtype, copy=copy))
serves("array_repr", order="arr max_line_width precision suppress_small")(lambda arr: repr(arr))
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "array2string": lambda a, *args, **options: np.array2string(_printed(a), *args, **options),
    "array_str": lambda a, *args, **options: np.array_str(_printed(a), *args, **options),
    "common_type": lambda *arrays: np.common_type(*(np.empty(0, x.dtype) for x in arrays)),
    "imag": lambda val: pa.imag(val),
    "iscomplex": lambda x: pa.imag(x) != 0,
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isreal": lambda x: pa.imag(x) == 0,
    "isrealobj": lambda x: x.dtype.kind != "c",
    "polymul": lambda a1, a2: convolve(a1, a2),
    "real": lambda val: pa.real(val),
    "result_type": lambda *arrays_and_dtypes: pa.result_type(*arrays_and_dtypes),
}
for _name, _function in _FUNCTIONS.items():
    serves(_name)(_function)
