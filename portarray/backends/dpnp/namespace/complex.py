"""Parts of complex dpnp arrays, and helpers for complex functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import dpnp
from dpnp import ndarray
from dpnp.tensor import Device

Parts = Callable[[Any, Any, Any], tuple[Any, Any]]
"""A shared composition: from a namespace and two parts to the result's parts."""

conj = dpnp.conj
imag = dpnp.imag
real = dpnp.real


def packed(x: ndarray) -> ndarray:
    """Return an array without gaps in memory."""
    return x if x.flags.forc else dpnp.copy(x, order="C")


def dense(dpnp_function: Callable[[ndarray], ndarray], x: ndarray) -> ndarray:
    """Call a function on contiguous memory with at least one axis, as oneMKL requires."""
    if x.ndim == 0:
        return dpnp.reshape(dpnp_function(dpnp.reshape(x, (1,))), ())
    return dpnp_function(packed(x))


def exact(dpnp_function: Callable[[ndarray], ndarray], parts: Parts, x: ndarray) -> ndarray:
    """Return accurate values of a complex function.

    oneMKL's functions are accurate. dpnp's own kernels, which replace them on other devices,
    overflow in inverse functions from 1e4 on, and lose half the digits of logarithms near 1.
    """
    if _has_exact_functions(x.device):
        return dense(dpnp_function, x)
    return as_real_pairs(parts, x)


@cache
def _has_exact_functions(device: Device) -> bool:
    """Return whether oneMKL computes complex functions on a device: then this one is finite."""
    probe = dpnp.full(1, -1e9 + 0.5j, dtype="c8", device=device)
    return bool(dpnp.isfinite(dpnp.asinh(probe))[0])


def joined(re: ndarray, im: ndarray) -> ndarray:
    """Return complex numbers from two arrays of parts, with their signs of zero."""
    out = dpnp.empty_like(re, dtype=f"c{2 * re.dtype.itemsize}")
    out.real = re
    out.imag = im
    return out


def as_real_pairs(parts: Parts, x: ndarray) -> ndarray:
    """Return the result of a shared composition for a complex array."""
    return joined(*parts(dpnp, dpnp.real(x), dpnp.imag(x)))
