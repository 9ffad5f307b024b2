"""How far an answer is from the exact one, in units in the last place (ULP).

One ULP of a dtype at a value v is the distance between the dtype's neighbours around v:
``2 ** (floor(log2(abs(v))) - nmant)``, and below the smallest normal number the distance between
subnormals. The exact value comes in a wider format and is never rounded first, so that a
correctly rounded answer is at most 0.5 ULP off.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

NumpyArray: TypeAlias = npt.NDArray[Any]

WIDE_LONGDOUBLE: bool = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant
"""Whether this machine has a format wider than float64 in hardware (not on Windows or macOS)."""

REFERENCE_ERROR = 0.0 if WIDE_LONGDOUBLE else 1.0
"""Error of the reference for float64 in ULP, added to every float64 bound."""

_WIDER: dict[str, np.dtype[Any]] = {
    "float32": np.dtype(np.float64),
    "float64": np.dtype(np.longdouble),
    "complex64": np.dtype(np.complex128),
    "complex128": np.dtype(np.clongdouble),
}


def wide(x: NumpyArray) -> NumpyArray:
    """Return floating-point data in the next wider format, in which references are computed.

    float32 becomes float64, float64 becomes longdouble (80 or 128 bits where the machine has
    them), the complex dtypes likewise; other dtypes become Python objects, so that integer
    arithmetic is exact.
    """
    wider: np.dtype[Any] = _WIDER.get(x.dtype.name, np.dtype(object))
    return x.astype(wider)


def unit(value: NumpyArray, dtype: str) -> NumpyArray:
    """Return one ULP of a real dtype (``"float32"`` or ``"float64"``) at each finite value."""
    limits = np.finfo(np.dtype(dtype))
    _, exponent = np.frexp(np.abs(value))
    exponent = np.clip(exponent - 1, int(limits.minexp), int(limits.maxexp) - 1)
    return np.asarray(np.ldexp(np.ones_like(value), exponent - int(limits.nmant)))


def error(got: NumpyArray, want: NumpyArray, *, signed_zeros: bool = True) -> NumpyArray:
    """Return the error of each element in ULP of the dtype of ``got``.

    NaN against NaN and infinity against the same infinity are 0; against anything else they are
    infinitely far, except that an infinity counts as the next power of two beyond the largest
    number, so that rounding near overflow is judged like rounding elsewhere. A zero of the wrong
    sign is infinitely far where the exact answer is a zero, unless ``signed_zeros`` is False. An
    answer of zero is accepted where the exact one is subnormal, because the standard lets
    libraries flush those.

    Complex answers are judged by the distance in the plane, in ULP at the magnitude of the exact
    answer; an exact answer with a component that is not finite is judged component by component.

    Parameters
    ----------
    got
        Answers, float32, float64, complex64 or complex128.
    want
        Exact answers in a wider format (see :func:`wide`), of the same shape.
    """
    with np.errstate(all="ignore"):
        if got.dtype.kind != "c":
            return _real_error(got, want.astype(_WIDER[got.dtype.name]), signed_zeros)
        exact = want.astype(_WIDER[got.dtype.name])
        parts = np.maximum(
            _real_error(got.real, exact.real, signed_zeros),
            _real_error(got.imag, exact.imag, signed_zeros),
        )
        difference = got.astype(exact.dtype) - exact
        distance = np.hypot(difference.real, difference.imag)
        size = np.hypot(exact.real, exact.imag)
        plane = (distance / unit(size, got.real.dtype.name)).astype(np.float64)
        largest = np.finfo(got.dtype).max
        in_plane = np.isfinite(got) & np.isfinite(exact) & (size <= largest) & (size > 0)
        return np.where(in_plane, plane, parts)


def _real_error(got: NumpyArray, want: NumpyArray, signed_zeros: bool) -> NumpyArray:
    limits = np.finfo(got.dtype)
    beyond = np.ldexp(want.dtype.type(1), int(limits.maxexp))
    answer = got.astype(want.dtype)
    near = np.where(np.isinf(answer), np.copysign(beyond, answer), answer)
    exact = np.where(np.isinf(want) | (np.abs(want) > beyond), np.copysign(beyond, want), want)
    ulp = (np.abs(near - exact) / unit(exact, got.dtype.name)).astype(np.float64)
    flushed = (answer == 0) & (np.abs(want) < limits.smallest_normal) & (want != 0)
    ulp = np.where(flushed, 0.0, ulp)
    # Only rounding may turn a finite exact answer into an infinity or back.
    ulp = np.where(np.isinf(want) & (answer != want), np.inf, ulp)
    if signed_zeros:
        wrong = (want == 0) & (answer == 0) & (np.signbit(want) != np.signbit(answer))
        ulp = np.where(wrong, np.inf, ulp)
    both_nan = np.isnan(answer) & np.isnan(want)
    one_nan = np.isnan(answer) != np.isnan(want)
    return np.where(both_nan, 0.0, np.where(one_nan, np.inf, ulp))
