"""Exponentials, logarithms, powers and roots of JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from portarray.backends.composed import exponential as parts
from portarray.backends.jax import tracing
from portarray.backends.jax.namespace.rows import as_real_pairs, compiled, with_scalar
from portarray.backends.types import Rows


def _expm1_parts(xp: Any, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the parts of ``exp(a + bj) - 1``; XLA drops the ``+ 0.0`` that turns -0 into 0."""
    real, imag = parts.expm1_parts(xp, a, b)
    return jnp.where(real == 0, 0, real), imag


# JAX has no types for it.
_barrier: Callable[[jax.Array], jax.Array] = lax.optimization_barrier


@compiled
def wide_log1p(x: jax.Array, /) -> jax.Array:
    """Return ``log(1 + x)`` of float64 numbers, where XLA's own has errors of 128 ULP.

    Kahan's formula, within 3 ULP; the barriers keep XLA from simplifying ``(1 + x) - 1``.
    """
    shifted = _barrier(1 + x)
    rounded = _barrier(shifted - 1)
    logarithm = _barrier(jnp.log(shifted))
    scaled = logarithm * (x / jnp.where(rounded == 0, 1, rounded))
    return jnp.where(rounded == 0, x, jnp.where(shifted == jnp.inf, shifted, scaled))


@compiled
def _complex_pow(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    power: jax.Array = parts.pow_of_zero(jnp, x1, x2, jnp.power(x1, x2))
    # XLA multiplies abs(x1)**a by exp(-b*arg(x1)); one may overflow although the power is small.
    # There the exponents are added first.
    size, angle = parts.log_parts(jnp, jnp.real(x1), jnp.imag(x1))
    a, b = jnp.real(x2), jnp.imag(x2)
    added = lax.complex(*parts.exp_parts(jnp, a * size - b * angle, a * angle + b * size))
    beyond = ~jnp.isfinite(power) & jnp.isfinite(x1) & jnp.isfinite(x2) & (x1 != 0)
    return jnp.where(beyond, added, power)


def _real_pow(x1: Any, x2: Any, /) -> jax.Array:
    # JAX would compile a separate program for each integer exponent.
    return jnp.power(x1, float(x2) if x2.__class__ is int else x2)


def _integer_pow(x1: Any, x2: Any, /) -> jax.Array:
    """Return powers; under ``jax.jit`` negative ones are not refused."""
    if not tracing.is_traced(x2) and bool(x2 < 0 if x2.__class__ is int else jnp.any(x2 < 0)):
        raise ValueError("integers have no negative powers; convert x1 to a floating-point dtype")
    return _whole_pow(x1, x2)


def _whole_pow(x1: Any, x2: Any, /) -> jax.Array:
    if x2.__class__ is int:
        return jnp.power(x1, x2)
    return _squared(jnp.asarray(x1, x2.dtype), x2)


_State = tuple[jax.Array, jax.Array, jax.Array]


@compiled
def _squared(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return powers of integers by squaring; jnp.power takes the exponent modulo 64."""

    def step(state: _State) -> _State:
        exponent, square, out = state
        return exponent >> 1, square * square, jnp.where(exponent & 1, out * square, out)

    x1, x2 = jnp.broadcast_arrays(x1, x2)
    state = (x2, x1, jnp.ones_like(x1))
    out: jax.Array = lax.while_loop(lambda now: jnp.any(now[0] > 0), step, state)[2]
    return out


BY_DTYPE: Rows = {
    "exp": {"f": jnp.exp, "c": as_real_pairs(parts.exp_parts)},
    "expm1": {"f": jnp.expm1, "c": as_real_pairs(_expm1_parts)},
    "log": {"f": jnp.log, "c": as_real_pairs(parts.log_parts)},
    "log10": {"f": jnp.log10, "c": as_real_pairs(parts.log10_parts)},
    "log1p": {"f": jnp.log1p, "float64": wide_log1p, "c": as_real_pairs(parts.log1p_parts)},
    "log2": {"f": jnp.log2, "c": as_real_pairs(parts.log2_parts)},
    "logaddexp": {"f": jnp.logaddexp},
    "pow": {"i": _integer_pow, "u": _whole_pow, "f": _real_pow, "c": _complex_pow},
    "sqrt": {"f": jnp.sqrt, "c": as_real_pairs(parts.sqrt_parts)},
    "square": {"iufc": jnp.square},
}
WITH_PYTHON_SCALAR = with_scalar(BY_DTYPE, "logaddexp", "pow")
IN_PLACE = with_scalar(BY_DTYPE, "pow")
