"""Complex dpnp arrays: their parts, and functions of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import dpnp
from dpnp import ndarray
from dpnp.tensor import Device

Parts = Callable[[Any, Any, Any], tuple[Any, Any]]
"""A shared composition: namespace, real and imaginary parts to those of the result."""

conj = dpnp.conj
imag = dpnp.imag
real = dpnp.real


def packed(x: ndarray) -> ndarray:
    """Return an array without gaps in memory."""
    return x if x.flags.forc else dpnp.copy(x, order="C")


def dense(own: Callable[[ndarray], ndarray], x: ndarray) -> ndarray:
    """Call a function on memory without gaps and at least one axis: oneMKL serves no other."""
    if x.ndim == 0:
        return dpnp.reshape(own(dpnp.reshape(x, (1,))), ())
    return own(packed(x))


def exact(own: Callable[[ndarray], ndarray], parts: Parts, x: ndarray) -> ndarray:
    """Return a complex function's values with all their digits.

    oneMKL's functions have them. dpnp's own kernels, which serve all else and devices that oneMKL
    has no functions for, overflow in inverse functions from 1e4 on and lose half the digits of
    logarithms near 1.
    """
    if _has_exact_functions(x.device):
        return dense(own, x)
    return by_parts(parts, x)


@cache
def _has_exact_functions(device: Device) -> bool:
    """Tell whether oneMKL serves complex functions on a device: then this one stays finite."""
    probe = dpnp.full(1, -1e9 + 0.5j, dtype="c8", device=device)
    return bool(dpnp.isfinite(dpnp.asinh(probe))[0])


def joined(re: ndarray, im: ndarray) -> ndarray:
    """Return complex numbers of two arrays of parts, their signs of zero included."""
    out = dpnp.empty_like(re, dtype=f"c{2 * re.dtype.itemsize}")
    out.real = re
    out.imag = im
    return out


def by_parts(parts: Parts, x: ndarray) -> ndarray:
    """Return a shared composition's answer for a complex array."""
    return joined(*parts(dpnp, dpnp.real(x), dpnp.imag(x)))
