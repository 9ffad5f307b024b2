"""Dtype functions of native namespaces, by the rules on NumPy's dtypes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portarray._dtypes import promotion

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "result_type"]


class IInfo(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: Any


def can_cast(xp: Any, from_: Any, to: Any, /) -> bool:
    """Return whether a dtype promotes to another."""
    source, target = xp.numpy_dtype(from_), xp.numpy_dtype(to)
    try:
        return bool(promotion.promote(source, target) == target)
    except TypeError:  # uint64 and a signed integer
        return False


def finfo(xp: Any, type: Any, /) -> promotion.FInfo:
    """Return the limits of a floating-point dtype."""
    limits = promotion.float_limits(xp.numpy_dtype(type))
    return limits._replace(dtype=xp.native_dtype(limits.dtype))


def iinfo(xp: Any, type: Any, /) -> IInfo:
    """Return the limits of an integer dtype."""
    dtype = xp.numpy_dtype(type)
    limits = np.iinfo(dtype)
    return IInfo(int(limits.bits), int(limits.max), int(limits.min), xp.native_dtype(dtype))


def isdtype(xp: Any, dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind."""
    numpy_dtype = xp.numpy_dtype(dtype)
    for item in kind if isinstance(kind, tuple) else (kind,):
        if not isinstance(item, str):
            if numpy_dtype == xp.numpy_dtype(item):
                return True
        elif item not in promotion.KINDS:
            raise ValueError(
                f"isdtype: unknown kind {item!r}; supported: {', '.join(sorted(promotion.KINDS))}"
            )
        elif promotion.kind_of(numpy_dtype) in promotion.KINDS[item]:
            return True
    return False


def result_type(xp: Any, *arrays_and_dtypes: Any) -> Any:
    """Return the dtype that arrays, dtypes and Python scalars promote to."""
    scalars = [x for x in arrays_and_dtypes if type(x) in _PYTHON_SCALARS]
    dtypes = [xp.numpy_dtype(x) for x in arrays_and_dtypes if type(x) not in _PYTHON_SCALARS]
    if not dtypes:
        raise ValueError("result_type: needs at least one array or dtype")
    dtype = promotion.promote(*dtypes)
    for scalar in scalars:
        dtype = promotion.scalar_dtype(scalar, dtype, xp.default_dtype)
    return xp.native_dtype(dtype)


_PYTHON_SCALARS = frozenset((bool, int, float, complex))
