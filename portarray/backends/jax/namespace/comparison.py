"""Comparison of JAX arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

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
ROWS: Rows = {
    **_PAIRS,
    "isfinite": {"iufc": jnp.isfinite},
    "isinf": {"iufc": jnp.isinf},
    "isnan": {"iufc": jnp.isnan},
}
WITH_SCALAR = with_scalar(_PAIRS, *_PAIRS)


def clip(
    x: jax.Array,
    /,
    min: jax.Array | float | None = None,
    max: jax.Array | float | None = None,
) -> jax.Array:
    """Limit values; a scalar bound beyond what x's integer dtype holds limits nothing."""
    return jnp.clip(x, _bound(x, min, lower=True), _bound(x, max, lower=False))


def _bound(x: jax.Array, bound: jax.Array | float | None, *, lower: bool) -> Any:
    if isinstance(bound, jax.Array):
        return bound if bound.dtype == x.dtype else bound.astype(x.dtype)
    if bound is None or x.dtype.kind not in "iu":
        return bound if bound is None else float(bound)
    limits = np.iinfo(x.dtype)
    if (bound <= limits.min) if lower else (bound >= limits.max):
        return None
    if not limits.min <= bound <= limits.max:
        raise OverflowError(
            f"clip's bound {bound} leaves no value of {x.dtype}, "
            f"whose range is {limits.min} to {limits.max}"
        )
    return x.dtype.type(bound)
