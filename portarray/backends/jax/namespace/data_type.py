"""Dtypes of JAX arrays: converting, asking and promoting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.jax.namespace.promotion import (
    Scalar,
    kind_of,
    promote,
    scalar_dtype,
)

__all__ = ["FInfo", "IInfo", "astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

DType = np.dtype[Any]

# JAX has no types for it.
_finfo: Callable[[DType], Any] = jnp.finfo

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


@dataclass(frozen=True, slots=True)
class FInfo:
    """Limits of a floating-point dtype; of its parts for a complex one."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True, slots=True)
class IInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def astype(
    x: jax.Array, dtype: Any, /, *, copy: bool = True, device: jax.Device | None = None
) -> jax.Array:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    dtype = np.dtype(dtype)
    if x.dtype != dtype:
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x != 0 if dtype.kind == "b" else jnp.real(x)
        x = x.astype(dtype)
    elif copy:
        x = jnp.array(x, copy=True)
    return x if device is None else jax.device_put(x, device)


def _dtype_of(x: Any) -> DType:
    dtype: DType = x.dtype if isinstance(x, jax.Array) else np.dtype(x)
    return dtype


def can_cast(from_: Any, to: Any, /) -> bool:
    """Tell whether promotion takes a dtype to another."""
    source, target = _dtype_of(from_), np.dtype(to)
    if np.dtype(np.uint64) in (source, target) and "i" in kind_of(source) + kind_of(target):
        # They have no common dtype, which is an answer here and no error.
        return False
    return bool(promote(source, target) == target)


def finfo(type: Any, /) -> FInfo:
    """Return the limits of a floating-point dtype."""
    dtype = _dtype_of(type)
    limits = _finfo(dtype)
    return FInfo(
        bits=int(limits.bits),
        eps=float(limits.eps),
        max=float(limits.max),
        min=float(limits.min),
        smallest_normal=float(limits.smallest_normal),
        dtype=np.dtype(limits.dtype),
    )


def iinfo(type: Any, /) -> IInfo:
    """Return the limits of an integer dtype."""
    dtype = _dtype_of(type)
    limits = np.iinfo(dtype)
    return IInfo(bits=limits.bits, max=int(limits.max), min=int(limits.min), dtype=dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Tell whether a dtype is of a kind: a name, a dtype, or a tuple of these."""
    own = np.dtype(dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str):
            if one not in _KINDS:
                raise ValueError(f"{one!r} is no kind of dtype; the kinds are {sorted(_KINDS)}")
            if kind_of(own) in _KINDS[one]:
                return True
        elif own == np.dtype(one):
            return True
    return False


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that arrays, dtypes and Python scalars meet in."""
    scalars: list[Scalar] = []
    dtypes: list[DType] = []
    for item in arrays_and_dtypes:
        if isinstance(item, (bool, int, float, complex)):
            scalars.append(item)
        else:
            dtypes.append(_dtype_of(item))
    if not dtypes:
        raise ValueError("result_type needs at least one array or dtype")
    dtype = promote(*dtypes)
    for scalar in scalars:
        dtype = scalar_dtype(scalar, dtype)
    return dtype
