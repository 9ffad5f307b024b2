"""Comparison of JAX arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.jax.namespace.promotion import Scalar, kind_of, operands

_equal = jnp.equal
_greater = jnp.greater
_greater_equal = jnp.greater_equal
_less = jnp.less
_less_equal = jnp.less_equal
_maximum = jnp.maximum
_minimum = jnp.minimum
_not_equal = jnp.not_equal

isfinite = jnp.isfinite
isinf = jnp.isinf
isnan = jnp.isnan


def equal(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where x1 equals x2."""
    return _equal(*operands(x1, x2))


def greater(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where ``x1 > x2``."""
    return _greater(*operands(x1, x2))


def greater_equal(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where ``x1 >= x2``."""
    return _greater_equal(*operands(x1, x2))


def less(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where ``x1 < x2``."""
    return _less(*operands(x1, x2))


def less_equal(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where ``x1 <= x2``."""
    return _less_equal(*operands(x1, x2))


def maximum(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return the larger of each two; NaN where one is NaN."""
    return _maximum(*operands(x1, x2))


def minimum(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return the smaller of each two; NaN where one is NaN."""
    return _minimum(*operands(x1, x2))


def not_equal(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where x1 differs from x2."""
    return _not_equal(*operands(x1, x2))


def clip(
    x: jax.Array,
    /,
    min: jax.Array | float | None = None,
    max: jax.Array | float | None = None,
) -> jax.Array:
    """Limit values to a range; the result keeps x's dtype.

    Bounds broadcast with x. A bound beyond what x's integer dtype holds limits nothing. NaN in x
    or in a bound gives NaN.
    """
    low = _bound(x, min, lower=True)
    high = _bound(x, max, lower=False)
    if low is not None:
        x = jnp.maximum(x, low)
    return x if high is None else jnp.minimum(x, high)


def _bound(x: jax.Array, bound: jax.Array | float | None, *, lower: bool) -> jax.Array | None:
    if bound is None:
        return None
    if isinstance(bound, jax.Array):
        return bound.astype(x.dtype)
    if kind_of(x.dtype) in "iu":
        limits = np.iinfo(x.dtype)
        if (bound <= limits.min) if lower else (bound >= limits.max):
            return None
        if not limits.min <= bound <= limits.max:
            raise OverflowError(
                f"clip's bound {bound} leaves no value of {x.dtype}, "
                f"whose range is {limits.min} to {limits.max}"
            )
    return jnp.asarray(bound, dtype=x.dtype)
