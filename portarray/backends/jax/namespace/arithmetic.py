"""Arithmetic on JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from portarray.backends.jax.namespace.compiled import compiled
from portarray.backends.jax.namespace.promotion import (
    Scalar,
    default_float,
    kind_of,
    operands,
    pair,
)

# JAX has no types for it.
_barrier: Callable[[tuple[Any, Any]], tuple[jax.Array, jax.Array]] = lax.optimization_barrier

_add = jnp.add
_copysign = jnp.copysign
_divide = jnp.divide
_multiply = jnp.multiply
_nextafter = jnp.nextafter
_subtract = jnp.subtract

negative = jnp.negative
reciprocal = jnp.reciprocal
signbit = jnp.signbit


def abs(x: jax.Array, /) -> jax.Array:
    """Return absolute values."""
    return modulus(x) if x.dtype.kind == "c" else jnp.abs(x)


@compiled
def modulus(x: jax.Array, /) -> jax.Array:
    """Return the absolute values of complex numbers: infinite where a part is, NaN or not."""
    a, b = jnp.real(x), jnp.imag(x)
    endless = jnp.isinf(a) | jnp.isinf(b)
    return jnp.where(endless, jnp.inf, jnp.abs(x))


def add(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Add."""
    return _add(*operands(x1, x2))


def copysign(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return x1's magnitude with x2's sign."""
    return _copysign(*operands(x1, x2))


def divide(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Divide; integers give the default real dtype."""
    first, second = operands(x1, x2)
    if (first if isinstance(first, jax.Array) else second).dtype.kind in "iub":
        first, second = (x.astype(default_float()) for x in pair(x1, x2))
    return quotient(first, second)


def floor_divide(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Divide and round down.

    Infinite operands give ``floor(x1 / x2)`` as the standard prefers, except that a tiny quotient
    of unlike signs is -0 there. Integers divided by 0 give 0.
    """
    x1, x2 = pair(x1, x2)
    return floating_quotient(x1, x2) if kind_of(x1.dtype) == "f" else integer_quotient(x1, x2)


def multiply(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Multiply."""
    return _multiply(*operands(x1, x2))


def nextafter(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return the next representable number after x1 towards x2."""
    return _nextafter(*operands(x1, x2))


def positive(x: jax.Array, /) -> jax.Array:
    """Return the array itself, which never changes."""
    return x


def remainder(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return the remainder, with the divisor's sign. Integers divided by 0 leave 0."""
    x1, x2 = pair(x1, x2)
    return floating_rest(x1, x2) if kind_of(x1.dtype) == "f" else integer_rest(x1, x2)


def sign(x: jax.Array, /) -> jax.Array:
    """Return the sign: -1, 0 or 1, NaN for NaN, and ``x / abs(x)`` for complex numbers."""
    return floating_sign(x) if kind_of(x.dtype) in "fc" else jnp.sign(x)


@compiled
def floating_sign(x: jax.Array, /) -> jax.Array:
    """Return the sign; +0 for zeros of any sign, which JAX's own hands on."""
    return jnp.where(x == 0, 0, jnp.sign(x))


def subtract(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Subtract."""
    return _subtract(*operands(x1, x2))


def quotient(x1: Any, x2: Any, /) -> jax.Array:
    """Divide arrays of one floating-point dtype; one of the operands may be a Python scalar."""
    alike = getattr(x1, "shape", ()) == getattr(x2, "shape", ())
    return _divide(x1, x2) if alike else _spread_quotient(x1, x2)


@compiled
def _spread_quotient(x1: Any, x2: Any) -> jax.Array:
    return _divide(*_spread(x1, x2))


def _spread(x1: Any, x2: Any) -> tuple[jax.Array, jax.Array]:
    """Return arrays broadcast to one shape, so that XLA does not know that they were.

    It would multiply by the inverse of the smaller divisor, which is not correctly rounded and
    flushed to zero for large divisors.
    """
    x1, x2 = jnp.broadcast_arrays(x1, x2)
    return _barrier((x1, x2))


@compiled
def integer_quotient(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Divide integers of one dtype and round down; 0 where the divisor is 0."""
    by_zero = x2 == 0
    return jnp.where(by_zero, 0, jnp.floor_divide(x1, jnp.where(by_zero, 1, x2)))


@compiled
def integer_rest(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return the remainder of integers of one dtype; 0 where the divisor is 0."""
    by_zero = x2 == 0
    return jnp.where(by_zero, 0, jnp.remainder(x1, jnp.where(by_zero, 1, x2)))


@compiled
def floating_rest(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return the remainder of real numbers of one dtype; JAX's own loses the sign of zero."""
    x1, x2 = jnp.broadcast_arrays(x1, x2)
    rest = lax.rem(x1, x2)
    rest = jnp.where((rest != 0) & ((rest < 0) != (x2 < 0)), rest + x2, rest)
    return jnp.where(rest == 0, jnp.copysign(rest, x2), rest)


@compiled
def floating_quotient(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Divide real numbers of one dtype and round down."""
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
