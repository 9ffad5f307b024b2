"""Functions of wide values for which NumPy has no function or differs from the standard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from portarray_conformance.reference.kinds import Data, Undefined

Function: TypeAlias = Callable[..., Any]


def whole(function: Function) -> Function:
    """Return a rounding that leaves integers as they are."""

    def rounding(x: Data) -> Data:
        return np.array(x) if x.dtype.kind in "biu" else np.asarray(function(x))

    return rounding


def real(x: Data) -> Data:
    return np.array(x.real)


def imag(x: Data) -> Data:
    return np.array(x.imag)


def sign(x: Data) -> Data:
    if x.dtype.kind != "c":
        return np.asarray(np.sign(x))
    a, b = np.asarray(x.real), np.asarray(x.imag)
    infinite = np.isinf(a) | np.isinf(b)
    # Infinite parts become ones, the others zeros; others are scaled so that nothing overflows.
    largest = np.maximum(np.abs(a), np.abs(b))
    scale = np.where((largest == 0) | infinite, 1, largest)
    a = np.where(infinite, np.copysign(np.isinf(a).astype(a.dtype), a), a / scale)
    b = np.where(infinite, np.copysign(np.isinf(b).astype(b.dtype), b), b / scale)
    size = np.hypot(a, b)
    size = np.where(size == 0, 1, size)
    out = np.empty(x.shape, x.dtype)
    open_ = np.isnan(x) | (np.isinf(x.real) & np.isinf(x.imag))
    out.real = np.where(open_, np.nan, a / size)
    out.imag = np.where(open_, np.nan, b / size)
    return np.where(x == 0, np.zeros((), x.dtype), out)


def nextafter(x1: Data, x2: Data) -> Data:
    """Return neighbours, x2 where both are equal; NumPy's float16 keeps x1's sign of zero."""
    return np.where(x1 == x2, x2, np.nextafter(x1, x2))


def floor_divide(x1: Data, x2: Data) -> Data:
    if x1.dtype.kind in "iu":
        return np.asarray(np.floor_divide(x1, x2))
    infinite = np.isinf(x1) | np.isinf(x2)
    return np.where(infinite, np.floor(np.divide(x1, x2)), np.floor_divide(x1, x2))


def power(x1: Data, x2: Data) -> Data:
    if x1.dtype.kind == "i" and np.any(x2 < 0):
        if not np.broadcast(x1, x2).size:
            raise Undefined  # nothing is computed
        raise ValueError("integers to negative integer powers are not integers")
    out = np.asarray(np.power(x1, x2))
    if x1.dtype == np.longdouble:
        # The C library's own takes large even powers of -infinity for odd ones.
        infinite = np.isinf(x1)
        out = np.where(infinite, np.power(x1.astype(float), x2.astype(float)), out)
    if x1.dtype.kind == "c":
        out = np.where((x1 == 0) & (x2.real > 0), 0, out)
        out = np.where(x2 == 0, 1, out).astype(x1.dtype)
    return out


def growth(x1: Data, x2: Data) -> Data:
    """Return the growth factor of a complex power's error, which multiplies a logarithm's."""
    turned = np.abs(x2 * np.log(np.where(x1 == 0, 1, x1))) / 16
    return np.where(np.isfinite(turned), np.maximum(turned, 1), 1)


def cancelled(x1: Data, x2: Data, out: Data) -> Data:
    """Return the growth factor of the relative error of a sum that cancels."""
    size = np.maximum(np.abs(x1), np.abs(x2)) / np.abs(np.where(out == 0, 1, out))
    return np.where(np.isfinite(size), np.maximum(size, 1), 1)


def _complex(a: Data, b: Data, dtype: Any) -> Data:
    out = np.empty(np.shape(a), dtype)
    out.real, out.imag = a, b
    return out


def expm1(x: Data) -> Data:
    if x.dtype.kind != "c":
        return np.asarray(np.expm1(x))
    a, b = np.asarray(x.real), np.asarray(x.imag)
    half = np.sin(b / 2)
    exp = np.asarray(np.exp(x))
    ordinary = np.isfinite(a) & np.isfinite(b) & np.isfinite(exp)
    below = np.where(np.isneginf(a), -1, exp.real - 1)
    first = np.where(ordinary, np.expm1(a) * np.cos(b) - 2 * half * half + 0.0, below)
    second = np.where(b == 0, b, exp.imag)
    return _complex(first, second, x.dtype)


def log1p(x: Data) -> Data:
    if x.dtype.kind != "c":
        return np.asarray(np.log1p(x))
    a, b = np.asarray(x.real), np.asarray(x.imag)
    excess = a * (2 + a) + b * b
    near = np.abs(excess) < 0.5
    far = np.asarray(np.log(_complex(1 + a, b, x.dtype)))
    size = np.where(near, np.log1p(np.where(near, excess, 0)) / 2, far.real)
    return _complex(size, np.where(near, np.arctan2(b, 1 + a), far.imag), x.dtype)


def tanh(x: Data) -> Data:
    out = np.asarray(np.tanh(x))
    if x.dtype.kind == "c":
        flat = np.isinf(x.real) & np.isfinite(x.imag)
        return _complex(out.real, np.where(flat, np.copysign(0.0, x.imag), out.imag), x.dtype)
    return out
