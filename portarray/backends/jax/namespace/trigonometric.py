"""Trigonometric and hyperbolic functions of JAX arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from portarray.backends.composed import trigonometric as parts
from portarray.backends.jax.namespace.exponential import wide_log1p
from portarray.backends.jax.namespace.rows import as_real_pairs, compiled, with_scalar
from portarray.backends.types import Rows

# JAX has no types for it.
_finfo: Callable[[Any], Any] = jnp.finfo


@compiled
def _real_cosh(x: jax.Array, /) -> jax.Array:
    far, half, near = _halves(x)
    grown = jnp.exp(jnp.abs(near))
    return jnp.where(far, half / 2 * half, grown / 2 + 0.5 / grown)


@compiled
def _real_sinh(x: jax.Array, /) -> jax.Array:
    far, half, near = _halves(x)
    grown = jnp.expm1(jnp.abs(near))
    magnitude = jnp.where(far, half / 2 * half, (grown + grown / (grown + 1)) / 2)
    return jnp.copysign(magnitude, x)


def _halves(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return where one exponential dominates, that exponential's square root, and x elsewhere.

    jnp.cosh and jnp.sinh compute exponentials of ``x - log(2)``, whose error grows with x.
    """
    size = jnp.abs(x)
    far = size > -0.4 * math.log2(_finfo(x.dtype).eps)
    return far, jnp.exp(jnp.where(far, size, 0) / 2), jnp.where(far, 0, x)


@compiled
def _wide_atanh(x: jax.Array, /) -> jax.Array:
    """Return the inverse hyperbolic tangent of float64 numbers; XLA's own uses its log1p."""
    size = jnp.abs(x)
    return jnp.copysign(wide_log1p(2 * size / (1 - size)) / 2, x)


BY_DTYPE: Rows = {
    "acos": {"f": jnp.acos, "c": as_real_pairs(parts.acos_parts)},
    "acosh": {"f": jnp.acosh, "c": as_real_pairs(parts.acosh_parts)},
    "asin": {"f": jnp.asin, "c": as_real_pairs(parts.asin_parts)},
    "asinh": {"f": jnp.asinh, "c": as_real_pairs(parts.asinh_parts)},
    "atan": {"f": jnp.atan, "c": as_real_pairs(parts.atan_parts)},
    "atan2": {"f": jnp.atan2},
    "atanh": {"f": jnp.atanh, "float64": _wide_atanh, "c": as_real_pairs(parts.atanh_parts)},
    "cos": {"f": jnp.cos, "c": as_real_pairs(parts.cos_parts)},
    "cosh": {"f": _real_cosh, "c": as_real_pairs(parts.cosh_parts)},
    "hypot": {"f": jnp.hypot},
    "sin": {"f": jnp.sin, "c": as_real_pairs(parts.sin_parts)},
    "sinh": {"f": _real_sinh, "c": as_real_pairs(parts.sinh_parts)},
    "tan": {"f": jnp.tan, "c": as_real_pairs(parts.tan_parts)},
    "tanh": {"f": jnp.tanh, "c": as_real_pairs(parts.tanh_parts)},
}
WITH_PYTHON_SCALAR = with_scalar(BY_DTYPE, "atan2", "hypot")
