"""Operations that need values, which tracers do not have.

Under ``jax.jit``, ``jax.vmap`` and the like functions are called with tracers, which have a shape
and a dtype but no values. Operations that need values in Python fail then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

__all__ = ["explained", "is_traced", "values_needed"]


def is_traced(x: object) -> bool:
    """Return whether an array is a tracer."""
    return isinstance(x, jax.core.Tracer)


def explained(error: BaseException) -> Exception | None:
    """Return a clearer error for JAX's tracing errors; None for other errors.

    Of the same class: TypeError for values, IndexError for boolean masks.
    """
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        return IndexError(
            "the index is a boolean array, and its values are not known while JAX traces the "
            "function (jax.jit, jax.vmap, jax.grad): the result's shape would depend on them\n"
            "Hint: use pa.where, or do this outside the traced function"
        )
    if isinstance(
        error, (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)
    ):
        return TypeError(
            "the array's values are needed, and they are not known while JAX traces the function "
            "(jax.jit, jax.vmap, jax.grad): bool(), int(), float(), NumPy, other devices and "
            "results whose shape depends on values do not work there\n"
            "Hint: use pa.where, or do this outside the traced function"
        )
    return None


@contextmanager
def values_needed() -> Iterator[None]:
    """Run a block that needs values; JAX's tracing errors are explained."""
    try:
        yield
    except TypeError as error:
        plain = explained(error)
        if plain is None:
            raise
        raise plain from error
