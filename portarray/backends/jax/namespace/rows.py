"""Helpers for tables of functions: compilation by XLA, complex functions, and scalars.

Each call of a JAX function outside ``jax.jit`` is a separate kernel, compiled for each shape.
Compositions of several functions are compiled as one kernel here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
from jax import lax

from portarray.backends.types import Rows

F = TypeVar("F", bound=Callable[..., Any])
Function = Callable[..., Any]


def compiled(function: F) -> F:
    """Return a function compiled by XLA, for each shape and dtype on first use."""
    # JAX's own types lose the signature.
    return cast(F, jax.jit(function))


def as_real_pairs(parts: Callable[[Any, Any, Any], tuple[Any, Any]]) -> Function:
    """Return a function of complex arrays made from one of real and imaginary parts.

    XLA's own complex functions miss special values of the standard and lose the signs of zeros,
    which choose the side of a branch cut.
    """

    @compiled
    def function(x: jax.Array, /) -> jax.Array:
        return lax.complex(*parts(jnp, jnp.real(x), jnp.imag(x)))

    return function


def with_scalar(rows: Rows, *names: str) -> Rows:
    """Return the rows of some functions for an array and a Python scalar that its dtype holds.

    Only unsigned integers need a conversion: JAX refuses scalars beyond its default integer dtype,
    which is signed. The rows serve in-place operators too, as their result replaces x.
    """
    selected: dict[str, dict[str, Function]] = {}
    for name in names:
        selected[name] = dict(rows[name])
        for kinds, function in rows[name].items():
            if "u" in kinds:
                selected[name]["u"] = _converting(function)
    return selected


def _converting(function: Function) -> Function:
    def with_own_scalar(x1: Any, x2: Any, /) -> Any:
        if x2.__class__ is int:
            return function(x1, x1.dtype.type(x2))
        return function(x2.dtype.type(x1) if x1.__class__ is int else x1, x2)

    return with_own_scalar
