"""Where elementwise functions have no unique answer, even under portarray's rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from portarray_conformance.reference import kinds
from portarray_conformance.reference.kinds import Data, DType
from portarray_conformance.special_complex import COMPLEX_UNARY

Where: TypeAlias = Callable[[Sequence[Data], Data, DType], Data | None]


def _by_zero(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
    """Integer division by zero, and of the least integer by -1."""
    x1, x2 = values
    undefined = x2 == 0
    if dtype.kind == "i":
        undefined = undefined | ((x2 == -1) & (x1 == kinds.limits(dtype)[0]))
    return np.broadcast_to(undefined, out.shape) if undefined.any() else None


def _shifts(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
    """Shifts by less than nothing or by all bits."""
    outside = (values[1] < 0) | (values[1] >= 8 * dtype.itemsize)
    return np.broadcast_to(outside, out.shape) if outside.any() else None


def _quotient(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
    """Floor division where the exact quotient rounds up to an integer, or is infinite."""
    x1, x2 = values
    quotient = x1 / x2
    near = np.abs(quotient - np.rint(quotient)) <= np.abs(quotient) * _eps(dtype) * 4
    exact = np.fmod(x1, x2) == 0
    big = np.abs(quotient) > 0.25 / _eps(dtype)
    undefined = (near & ~exact) | np.isinf(x1) | np.isinf(x2) | (big & np.isfinite(quotient))
    return np.asarray(undefined) if undefined.any() else None


def _remainder(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
    """Remainders of quotients that have no digits behind the point."""
    x1, x2 = values
    undefined = np.isfinite(x1) & np.isfinite(x2) & (np.abs(x1 / x2) > 0.25 / _eps(dtype))
    return np.asarray(undefined) if undefined.any() else None


def _eps(dtype: DType) -> float:
    return 2.0 ** -kinds.DIGITS[dtype][0]


def _not_finite(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
    """Complex products and powers of nonfinite operands, and those near overflow."""
    undefined = ~np.isfinite(out) | _large(out, dtype)
    for x in values:
        undefined = np.asarray(undefined | ~np.isfinite(x) | _large(x, dtype))
    return undefined if undefined.any() else None


def _quotients(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
    """Complex quotients of the same kinds, and those whose divisor has no finite reciprocal."""
    undefined = _not_finite(values, out, dtype)
    tiny = (np.abs(values[-1]) < float(np.finfo(dtype).smallest_normal)) & (values[-1] != 0)
    if not np.any(tiny):
        return undefined
    return np.broadcast_to(tiny if undefined is None else undefined | tiny, out.shape)


def _powers(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
    """Complex powers of the same kinds, and the signs of those too small for a number."""
    undefined = _not_finite(values, out, dtype)
    vanished = (np.abs(out) < float(np.finfo(dtype).smallest_normal)) & (values[0] != 0)
    if not vanished.any():
        return undefined
    return np.asarray(vanished if undefined is None else undefined | vanished)


def _roots(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
    """Powers of one half, for which libraries take the square root."""
    undefined = (
        (values[1] == 0.5) & np.signbit(values[0]) & ((values[0] == 0) | np.isinf(values[0]))
    )
    return np.asarray(undefined) if np.any(undefined) else None


def _large(out: Data, dtype: DType) -> Data:
    return np.asarray(np.isfinite(out) & (np.abs(out) > np.finfo(dtype).max / 4))


def _codes(x: Data) -> Data:
    """Return a number for NaN, infinities, zeros and others of either sign."""
    size = np.where(np.isnan(x), 0, np.where(np.isinf(x), 1, np.where(x == 0, 2, 3)))
    return np.asarray(np.where(np.isnan(x), 0, size + 4 * np.signbit(x)))


_SYMMETRIC = frozenset(("cos", "cosh", "sin", "sinh", "tan", "tanh"))
"""Functions whose values at -z and at the conjugate of z are those at z up to signs: a sign that
the standard leaves open at one of these points is open at all."""


@functools.cache
def _free(name: str) -> frozenset[int]:
    """Return the operands for which the standard leaves a sign open."""
    rows = [row for row in COMPLEX_UNARY.get(name, ()) if any(row.free_signs)]
    operands = np.asarray([row.operand for row in rows]).reshape(-1, 2)
    if name in _SYMMETRIC:
        operands = np.concatenate(
            [operands * signs for signs in ((1, 1), (-1, -1), (1, -1), (-1, 1))]
        )
    return frozenset((8 * _codes(operands[:, 0]) + _codes(operands[:, 1])).tolist())


def _complex(name: str) -> Where:
    def where(values: Sequence[Data], out: Data, dtype: DType) -> Data | None:
        (x,) = values
        nonfinite = ~np.isfinite(x)
        part = out.dtype.kind == "c" and _large(out, dtype) & ~nonfinite
        if np.any(nonfinite):
            free = list(_free(name))
            part = part | np.isin(8 * _codes(x.real) + _codes(x.imag), free) & nonfinite
        return np.asarray(part) if np.any(part) else None

    return where


def undefined_where(name: str, dtype: DType) -> Where | None:
    """Return a function that finds undefined results of a function of a dtype, or None."""
    kind = kinds.letter(dtype)
    if name in ("floor_divide", "remainder"):
        if kind in "iu":
            return _by_zero
        return _quotient if name == "floor_divide" else _remainder
    if name.endswith("_shift"):
        return _shifts
    if name == "pow" and kind == "f":
        return _roots
    if kind == "c":
        if name == "pow":
            return _powers
        if name in ("divide", "reciprocal"):
            return _quotients
        if name in ("multiply", "square"):
            return _not_finite
        if name in COMPLEX_UNARY:
            return _complex(name)
    return None
