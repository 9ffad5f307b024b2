"""Functions that XLA compiles as one, made from several of JAX's.

Each call of a function of JAX outside ``jax.jit`` is a kernel of its own, compiled for each shape:
what takes several is one kernel here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["by_parts", "compiled"]

F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[[jax.Array], jax.Array]


def compiled(function: F) -> F:
    """Return a function compiled by XLA, for each shape and dtype on first use."""
    # JAX's own types lose the signature.
    return cast(F, jax.jit(function))


def by_parts(parts: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Function:
    """Return a function of complex arrays made from one of real and imaginary parts.

    XLA's own complex functions miss special values of the standard and lose the signs of zeros,
    which choose the side of a branch cut. The compositions are right for every backend.
    """

    @compiled
    def function(x: jax.Array, /) -> jax.Array:
        return lax.complex(*parts(jnp, jnp.real(x), jnp.imag(x)))

    return function
