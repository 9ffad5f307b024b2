"""What JAX's tracing takes away: values.

Under ``jax.jit``, ``jax.vmap`` and the like a function is called with arrays that have a shape and
a dtype and no values yet (tracers). Whatever needs values in Python cannot be done then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

__all__ = ["explained", "is_traced", "values_needed"]


def is_traced(x: object) -> bool:
    """Tell whether an array stands for values that a function will be called with."""
    return isinstance(x, jax.core.Tracer)


def explained(error: BaseException) -> Exception | None:
    """Return the error that says in plain words what JAX's own say; None for all others.

    Its class is the same: TypeError for values, IndexError for masks as indices.
    """
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        return IndexError(
            "a boolean array is the index, and its values are not known while JAX traces the "
            "function (jax.jit, jax.vmap, jax.grad): the result's shape would depend on them. "
            "Use pa.where, or do this outside the traced function"
        )
    if isinstance(
        error, (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)
    ):
        return TypeError(
            "this needs an array's values, and they are not known while JAX traces the function "
            "(jax.jit, jax.vmap, jax.grad). bool(), int(), float(), NumPy, other devices and "
            "results whose shape depends on values are out of reach there; use pa.where and the "
            "like, or do this outside the traced function"
        )
    return None


@contextmanager
def values_needed() -> Iterator[None]:
    """Run a block that needs values; JAX's error for want of them is explained."""
    try:
        yield
    except TypeError as error:
        plain = explained(error)
        if plain is None:
            raise
        raise plain from error
