"""Elementwise mathematics, logic, data types, signals and polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

import portarray as pa
from portarray._array import host_access, slow_path
from portarray._numpy_functions.common import as_float, beside, cast, flat, is_float
from portarray._numpy_functions.linear_algebra import vecdot_of_windows
from portarray._numpy_functions.table import chapter

serves = chapter("Mathematics")


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
    # Not pa.clip: in NumPy the upper bound wins where it is below the lower.
    x = x if low is None else pa.maximum(x, low)
    return x if high is None else pa.minimum(x, high)


@serves("round", "around", order="a decimals out")
def round_(a: Any, decimals: int = 0) -> Any:
    if decimals == 0 or (decimals > 0 and not is_float(a)):
        return pa.round(a)
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        found = pa.round(a / scale) * scale
        return found if is_float(a) else found.astype(a.dtype)
    return pa.round(a * scale) / scale


@serves(order="x out")
def fix(x: Any) -> Any:
    return pa.trunc(x)


@serves()
def sinc(x: Any) -> Any:
    y = as_float(x) * pa.pi
    safe = pa.where(y == 0, pa.ones_like(y), y)
    return pa.where(y == 0, pa.ones_like(y), pa.sin(safe) / safe)


@serves()
def real(val: Any) -> Any:
    return pa.real(val)


@serves()
def imag(val: Any) -> Any:
    return pa.imag(val)


@serves()
def angle(z: Any, deg: bool = False) -> Any:
    x = as_float(z)
    found = (
        pa.atan2(pa.imag(x), pa.real(x)) if x.dtype.kind == "c" else pa.atan2(pa.zeros_like(x), x)
    )
    return found * (180 / pa.pi) if deg else found


@serves()
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    found = x
    if x.dtype.kind == "c":
        parts = (nan_to_num(part, True, nan, posinf, neginf) for part in (pa.real(x), pa.imag(x)))
        first, second = parts
        found = (first + second * 1j).astype(x.dtype)
    elif is_float(x):
        limits = pa.finfo(x.dtype)
        found = pa.where(pa.isnan(x), nan, x)
        found = pa.where(x == pa.inf, limits.max if posinf is None else posinf, found)
        found = pa.where(x == -pa.inf, limits.min if neginf is None else neginf, found)
    if not copy:
        x[...] = found
        return x
    return x.copy() if found is x else found


# --- logic -------------------------------------------------------------------------------------


@serves()
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    array = a if type(a) is pa.Array else b
    x, y = beside(a, array, "isclose"), beside(b, array, "isclose")
    if not is_float(y):
        y = as_float(y)
    near = pa.logical_and(pa.abs(x - y) <= atol + rtol * pa.abs(y), pa.isfinite(y))
    found = pa.logical_or(near, x == y)
    if equal_nan:
        found = pa.logical_or(found, pa.logical_and(pa.isnan(x), pa.isnan(y)))
    return found


@serves()
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    return pa.all(isclose(a, b, rtol, atol, equal_nan))


@serves()
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    array = a1 if type(a1) is pa.Array else a2
    x, y = beside(a1, array, "array_equal"), beside(a2, array, "array_equal")
    if x.shape != y.shape:
        return pa.zeros((), dtype=pa.bool, device=x.device)
    same = x == y
    if equal_nan:
        same = pa.logical_or(same, pa.logical_and(pa.isnan(x), pa.isnan(y)))
    return pa.all(same)


@serves()
def array_equiv(a1: Any, a2: Any) -> Any:
    array = a1 if type(a1) is pa.Array else a2
    x, y = beside(a1, array, "array_equiv"), beside(a2, array, "array_equiv")
    try:
        pa.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return pa.zeros((), dtype=pa.bool, device=x.device)
    return pa.all(x == y)


@serves(order="x out")
def isneginf(x: Any) -> Any:
    return x == -pa.inf


@serves(order="x out")
def isposinf(x: Any) -> Any:
    return x == pa.inf


@serves()
def iscomplex(x: Any) -> Any:
    return pa.imag(x) != 0


@serves()
def isreal(x: Any) -> Any:
    return pa.imag(x) == 0


# --- data types --------------------------------------------------------------------------------


@serves()
def iscomplexobj(x: Any) -> Any:
    return x.dtype.kind == "c"


@serves()
def isrealobj(x: Any) -> Any:
    return x.dtype.kind != "c"


@serves(order="x dtype")
def astype(x: Any, dtype: Any, *, copy: bool = True) -> Any:
    return x.astype(dtype, copy=copy)


@serves()
def result_type(*arrays_and_dtypes: Any) -> Any:
    return pa.result_type(*arrays_and_dtypes)


@serves()
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> Any:
    to = to.dtype if type(to) is pa.Array else to
    return np.can_cast(from_.dtype if type(from_) is pa.Array else from_, to, casting)


@serves()
def common_type(*arrays: Any) -> Any:
    return np.common_type(*(np.empty(0, x.dtype) for x in arrays))


@serves()
def min_scalar_type(a: Any) -> Any:
    if not a.ndim:
        raise TypeError("min_scalar_type of a 0-d array reads its value; pass x.item()")
    return a.dtype


# --- signals -----------------------------------------------------------------------------------


@serves()
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    array = a if type(a) is pa.Array else v
    x, y = flat(beside(a, array, "convolve")), flat(beside(v, array, "convolve"))
    if not x.size or not y.size:
        raise ValueError("convolve takes arrays that are not empty")
    if y.size > x.size:
        x, y = y, x
    return _trimmed(vecdot_of_windows(x, pa.flip(y)), x.size, y.size, mode)


@serves()
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    array = a if type(a) is pa.Array else v
    x, y = flat(beside(a, array, "correlate")), pa.conj(flat(beside(v, array, "correlate")))
    if not x.size or not y.size:
        raise ValueError("correlate takes arrays that are not empty")
    swapped = y.size > x.size
    if swapped:
        x, y = y, x
    found = _trimmed(vecdot_of_windows(x, y), x.size, y.size, mode)
    return pa.flip(found) if swapped else found


def _trimmed(full: Any, n: int, m: int, mode: str) -> Any:
    if mode == "full":
        return full
    if mode == "same":
        start = (m - 1) // 2
        return full[start : start + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ValueError(f"mode={mode!r}: use full, same or valid")


# --- polynomials -------------------------------------------------------------------------------


@serves()
def polyval(p: Any, x: Any) -> Any:
    array = p if type(p) is pa.Array else x
    coefficients = list(p) if np.ndim(p) else [p]
    y = beside(x, array, "polyval")
    found = pa.zeros_like(y)
    for c in coefficients:
        found = found * y + c
    return found


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    array = a1 if type(a1) is pa.Array else a2
    x, y = flat(beside(a1, array, "polyadd")), flat(beside(a2, array, "polyadd"))
    n = max(x.size, y.size)
    both = (
        pa.concat([pa.zeros((n - one.size,), dtype=one.dtype, device=one.device), one])
        for one in (x, y)
    )
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
def polymul(a1: Any, a2: Any) -> Any:
    return convolve(a1, a2)


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


@serves("array2string")
def array2string(a: Any, *args: Any, **options: Any) -> Any:
    return np.array2string(_printed(a), *args, **options)


@serves()
def array_str(a: Any, *args: Any, **options: Any) -> Any:
    return np.array_str(_printed(a), *args, **options)


@serves(order="arr max_line_width precision suppress_small")
def array_repr(arr: Any) -> Any:
    return repr(arr)


def _printed(a: Any) -> Any:
    host_access.tell("print", a.device)
    return slow_path.read(a)
