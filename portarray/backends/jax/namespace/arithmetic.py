"""Arithmetic on JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from portarray.backends.composed import arithmetic as composed
from portarray.backends.composed.arithmetic import sign_parts
from portarray.backends.jax.namespace.rows import as_real_pairs, compiled, with_scalar
from portarray.backends.types import Rows

# JAX has no types for it.
_barrier: Callable[[tuple[Any, Any]], tuple[jax.Array, jax.Array]] = lax.optimization_barrier


def positive(x: jax.Array, /) -> jax.Array:
    """Return the array itself, which is immutable."""
    return x


@compiled
def _modulus(x: jax.Array, /) -> jax.Array:
    """Return absolute values of complex numbers: infinite if a part is, even next to NaN."""
    is_inf = jnp.isinf(jnp.real(x)) | jnp.isinf(jnp.imag(x))
    return jnp.where(is_inf, jnp.inf, jnp.abs(x))


@compiled
def _floating_sign(x: jax.Array, /) -> jax.Array:
    """Return the sign; +0 for zeros of any sign, where jnp.sign returns the operand."""
    return jnp.where(x == 0, 0, jnp.sign(x))


strong_multiply = compiled(partial(composed.strong_multiply, jnp))


@compiled
def strong_divide(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return ``x1 / x2``, but zero where x1 is zero."""
    quotient = jnp.divide(*_hidden_from_xla(x1, x2))
    result: jax.Array = composed.with_strong_zero(jnp, x1, quotient)
    return result


def _quotient(x1: Any, x2: Any, /) -> jax.Array:
    alike = getattr(x1, "shape", ()) == getattr(x2, "shape", ())
    return jnp.divide(x1, x2) if alike else _broadcast_quotient(x1, x2)


@compiled
def _broadcast_quotient(x1: Any, x2: Any) -> jax.Array:
    return jnp.divide(*_hidden_from_xla(x1, x2))


def _hidden_from_xla(x1: Any, x2: Any) -> tuple[jax.Array, jax.Array]:
    """Return arrays broadcast to one shape, hidden from XLA's optimizer.

    It would multiply by the inverse of the smaller divisor, which is not correctly rounded, and
    flushed to zero for large divisors.
    """
    return _barrier(_broadcast(x1, x2))


def _broadcast(x1: Any, x2: Any) -> tuple[jax.Array, jax.Array]:
    """Return arrays of one shape and dtype; scalars become arrays too."""
    dtype = jnp.result_type(x1, x2)
    x1, x2 = jnp.broadcast_arrays(x1, x2)
    return x1.astype(dtype), x2.astype(dtype)


def _zero_by_zero(function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Return a division of integers that is 0 for a divisor of 0."""

    @compiled
    def divide(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
        by_zero = x2 == 0
        return jnp.where(by_zero, 0, function(x1, jnp.where(by_zero, 1, x2)))

    return divide


@compiled
def _floating_remainder(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return the remainder of real numbers; jnp.remainder loses the sign of zero."""
    x1, x2 = _broadcast(x1, x2)
    result: jax.Array = composed.floored_remainder(jnp, x2, lax.rem(x1, x2))
    return result


@compiled
def _floating_quotient(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Divide real numbers and round down."""
    x1, x2 = _hidden_from_xla(x1, x2)
    result: jax.Array = composed.floored_quotient(jnp, x1, x2, lax.rem(x1, x2))
    return result


_OPERATORS: Rows = {
    "add": {"iufc": jnp.add},
    "divide": {"fc": _quotient},
    "floor_divide": {"iu": _zero_by_zero(jnp.floor_divide), "f": _floating_quotient},
    "multiply": {"iufc": jnp.multiply},
    "remainder": {"iu": _zero_by_zero(jnp.remainder), "f": _floating_remainder},
    "subtract": {"iufc": jnp.subtract},
}
BY_DTYPE: Rows = {
    **_OPERATORS,
    "abs": {"iuf": jnp.abs, "c": _modulus},
    "copysign": {"f": jnp.copysign},
    "negative": {"iufc": jnp.negative},
    "nextafter": {"f": jnp.nextafter},
    "reciprocal": {"fc": jnp.reciprocal},
    "sign": {"iu": jnp.sign, "f": _floating_sign, "c": as_real_pairs(sign_parts)},
    "signbit": {"f": jnp.signbit},
}
WITH_PYTHON_SCALAR = with_scalar(BY_DTYPE, *_OPERATORS, "copysign", "nextafter")
IN_PLACE = with_scalar(BY_DTYPE, *_OPERATORS)
