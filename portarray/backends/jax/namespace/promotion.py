"""Which dtype operands meet in, and Python scalars made into arrays.

The rule is :mod:`portarray.backends.promotion`'s. JAX's own differs (arrays that began as
Python scalars are "weak" and yield), and the user may change it.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends import promotion
from portarray.backends.jax import devices
from portarray.backends.promotion import Scalar, kind_of, promote

__all__ = [
    "Scalar",
    "default_complex",
    "default_float",
    "default_integer",
    "default_unsigned",
    "inexact",
    "kind_of",
    "operands",
    "pair",
    "promote",
    "scalar_dtype",
    "together",
]

DType = np.dtype[Any]


_WIDE: dict[str, DType] = {
    "i": np.dtype(np.int64),
    "u": np.dtype(np.uint64),
    "f": np.dtype(np.float64),
    "c": np.dtype(np.complex128),
}
_NARROW: dict[str, DType] = {
    "i": np.dtype(np.int32),
    "u": np.dtype(np.uint32),
    "f": np.dtype(np.float32),
    "c": np.dtype(np.complex64),
}


def _widest() -> dict[str, DType]:
    """Return the widest dtype of each kind under the user's present setting."""
    return _WIDE if devices.configuration() else _NARROW


def default_float() -> DType:
    """Return the default real dtype under the user's present setting."""
    return _widest()["f"]


def default_complex() -> DType:
    """Return the default complex dtype."""
    return _widest()["c"]


def default_integer() -> DType:
    """Return the default integer dtype, that of places and of sums."""
    return _widest()["i"]


def default_unsigned() -> DType:
    """Return the dtype of sums of unsigned integers."""
    return _widest()["u"]


def scalar_dtype(scalar: Scalar, dtype: DType) -> DType:
    """Return the dtype that a Python scalar and a dtype meet in."""
    return promotion.scalar_dtype(scalar, dtype, _widest().__getitem__)


def operands(x1: jax.Array | Scalar, x2: jax.Array | Scalar) -> tuple[Any, Any]:
    """Return two operands for a function of JAX that promotes: arrays of one dtype, or as they are.

    One of them may be a Python scalar. JAX takes an integer for its default integer dtype, which
    may be too narrow, and one before an array of 8 bits makes some functions promote: beside
    integers it becomes a scalar of their dtype.
    """
    if isinstance(x1, jax.Array):
        if isinstance(x2, jax.Array):
            if x1.dtype == x2.dtype:
                return x1, x2
            dtype = promote(x1.dtype, x2.dtype)
            return x1.astype(dtype), x2.astype(dtype)
        return _beside(x1, x2)
    if isinstance(x2, jax.Array):
        second, first = _beside(x2, x1)
        return first, second
    raise TypeError(
        f"at least one operand must be an array, got {type(x1).__name__} and {type(x2).__name__}"
    )


def _beside(x: jax.Array, value: Scalar) -> tuple[jax.Array, Any]:
    """Return an array and a scalar that keeps its dtype, which is the one that the two meet in."""
    dtype: DType = x.dtype
    # The usual cases first: looking a dtype up in a table costs more than all this.
    kind = dtype.kind
    if kind == "f" and value.__class__ in _REAL:
        return x, float(value)
    if kind in "iu" and value.__class__ is int:
        return x, dtype.type(value)
    meeting = scalar_dtype(value, dtype)
    return x if meeting == dtype else x.astype(meeting), _scalar(value, meeting)


_REAL = (float, int)


def _scalar(value: Scalar, dtype: DType) -> Any:
    """Return a scalar of a dtype's kind, which JAX converts to that dtype exactly."""
    kind = kind_of(dtype)
    if kind in "iu":
        return dtype.type(value)
    if kind == "f":
        return float(value)  # type: ignore[arg-type]  # a complex one made the dtype complex
    return complex(value) if kind == "c" else value


def pair(x1: jax.Array | Scalar, x2: jax.Array | Scalar) -> tuple[jax.Array, jax.Array]:
    """Return two operands as arrays of one dtype; one of them may be a Python scalar."""
    first, second = operands(x1, x2)
    if not isinstance(first, jax.Array):
        first = jnp.asarray(first, dtype=second.dtype)
    elif not isinstance(second, jax.Array):
        second = jnp.asarray(second, dtype=first.dtype)
    return first, second


def together(arrays: tuple[jax.Array, ...] | list[jax.Array]) -> list[jax.Array]:
    """Return arrays converted to the dtype that they all meet in."""
    dtype = promote(*[x.dtype for x in arrays])
    return [x if x.dtype == dtype else x.astype(dtype) for x in arrays]


def inexact(x: jax.Array) -> jax.Array:
    """Return an array as it is where it is floating-point, else in the default real dtype."""
    return x if kind_of(x.dtype) in "fc" else x.astype(default_float())
