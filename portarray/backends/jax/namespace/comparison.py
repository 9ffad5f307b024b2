"""Comparison of JAX arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from portarray.backends.jax.namespace.rows import with_scalar
from portarray.backends.types import Rows

_PAIRS: Rows = {
    "equal": {"biufc": jnp.equal},
    "greater": {"iuf": jnp.greater},
    "greater_equal": {"iuf": jnp.greater_equal},
    "less": {"iuf": jnp.less},
    "less_equal": {"iuf": jnp.less_equal},
    "maximum": {"iuf": jnp.maximum},
    "minimum": {"iuf": jnp.minimum},
    "not_equal": {"biufc": jnp.not_equal},
}
BY_DTYPE: Rows = {
    **_PAIRS,
    "isfinite": {"iufc": jnp.isfinite},
    "isinf": {"iufc": jnp.isinf},
    "isnan": {"iufc": jnp.isnan},
}
WITH_PYTHON_SCALAR = with_scalar(_PAIRS, *_PAIRS)


def clip(
    x: jax.Array, /, min: jax.Array | float | None = None, max: jax.Array | float | None = None
) -> jax.Array:
    """Limit values; the bounds have x's dtype or are numbers that it holds."""
    return jnp.clip(x, _bound(x, min), _bound(x, max))


def _bound(x: jax.Array, bound: Any) -> Any:
    # JAX's default integer dtype may be too narrow.
    return x.dtype.type(bound) if isinstance(bound, int) else bound
