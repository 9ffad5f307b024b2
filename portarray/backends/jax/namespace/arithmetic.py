"""Arithmetic on JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from portarray.backends.composed.arithmetic import sign_parts
from portarray.backends.jax.namespace.rows import by_parts, compiled, with_scalar
from portarray.backends.types import Rows

# JAX has no types for it.
_barrier: Callable[[tuple[Any, Any]], tuple[jax.Array, jax.Array]] = lax.optimization_barrier


def positive(x: jax.Array, /) -> jax.Array:
    """Return the array itself, which never changes."""
    return x


@compiled
def _modulus(x: jax.Array, /) -> jax.Array:
    """Return the absolute values of complex numbers: infinite where a part is, NaN or not."""
    endless = jnp.isinf(jnp.real(x)) | jnp.isinf(jnp.imag(x))
    return jnp.where(endless, jnp.inf, jnp.abs(x))


@compiled
def _floating_sign(x: jax.Array, /) -> jax.Array:
    """Return the sign; +0 for zeros of any sign, which JAX's own hands on."""
    return jnp.where(x == 0, 0, jnp.sign(x))


def _quotient(x1: Any, x2: Any, /) -> jax.Array:
    alike = getattr(x1, "shape", ()) == getattr(x2, "shape", ())
    return jnp.divide(x1, x2) if alike else _spread_quotient(x1, x2)


@compiled
def _spread_quotient(x1: Any, x2: Any) -> jax.Array:
    return jnp.divide(*_spread(x1, x2))


def _spread(x1: Any, x2: Any) -> tuple[jax.Array, jax.Array]:
    """Return arrays broadcast to one shape, so that XLA does not know that they were.

    It would multiply by the inverse of the smaller divisor, which is not correctly rounded and
    flushed to zero for large divisors.
    """
    return _barrier(_broadcast(x1, x2))


def _broadcast(x1: Any, x2: Any) -> tuple[jax.Array, jax.Array]:
    """Return arrays of one shape and dtype; where JAX compiles, scalars have a dtype too."""
    dtype = jnp.result_type(x1, x2)
    x1, x2 = jnp.broadcast_arrays(x1, x2)
    return x1.astype(dtype), x2.astype(dtype)


@compiled
def _integer_quotient(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Divide integers and round down; 0 where the divisor is 0."""
    by_zero = x2 == 0
    return jnp.where(by_zero, 0, jnp.floor_divide(x1, jnp.where(by_zero, 1, x2)))


@compiled
def _integer_rest(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return the remainder of integers; 0 where the divisor is 0."""
    by_zero = x2 == 0
    return jnp.where(by_zero, 0, jnp.remainder(x1, jnp.where(by_zero, 1, x2)))


@compiled
def _floating_rest(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return the remainder of real numbers; JAX's own loses the sign of zero."""
    x1, x2 = _broadcast(x1, x2)
    rest = lax.rem(x1, x2)
    rest = jnp.where((rest != 0) & ((rest < 0) != (x2 < 0)), rest + x2, rest)
    return jnp.where(rest == 0, jnp.copysign(rest, x2), rest)


@compiled
def _floating_quotient(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Divide real numbers and round down.

    Infinite operands give ``floor(x1 / x2)`` as the standard prefers, except that a tiny quotient
    of unlike signs is -0 there.
    """
    x1, x2 = _spread(x1, x2)
    ratio = x1 / x2
    rest = lax.rem(x1, x2)
    # x1 - rest is a multiple of x2, so this quotient is within rounding of an integer.
    quotient = (x1 - rest) / x2
    quotient = jnp.where((rest != 0) & ((rest < 0) != (x2 < 0)), quotient - 1, quotient)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = jnp.where(whole == 0, jnp.copysign(whole, ratio), whole)
    plain = jnp.isinf(x1) | jnp.isinf(x2) | (x2 == 0) | ~jnp.isfinite(ratio)
    return jnp.where(plain, ratio, whole)


_OPERATORS: Rows = {
    "add": {"iufc": jnp.add},
    "divide": {"fc": _quotient},
    "floor_divide": {"iu": _integer_quotient, "f": _floating_quotient},
    "multiply": {"iufc": jnp.multiply},
    "remainder": {"iu": _integer_rest, "f": _floating_rest},
    "subtract": {"iufc": jnp.subtract},
}
ROWS: Rows = {
    **_OPERATORS,
    "abs": {"iuf": jnp.abs, "c": _modulus},
    "copysign": {"f": jnp.copysign},
    "negative": {"iufc": jnp.negative},
    "nextafter": {"f": jnp.nextafter},
    "reciprocal": {"fc": jnp.reciprocal},
    "sign": {"iu": jnp.sign, "f": _floating_sign, "c": by_parts(sign_parts)},
    "signbit": {"f": jnp.signbit},
}
WITH_SCALAR = with_scalar(ROWS, *_OPERATORS, "copysign", "nextafter")
INPLACE = with_scalar(ROWS, *_OPERATORS)
