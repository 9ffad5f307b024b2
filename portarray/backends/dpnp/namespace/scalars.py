"""Python scalars as operands of dpnp arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray

from portarray._dtypes.promotion import Scalar
from portarray.backends.types import Rows


def constant(value: Scalar, like: ndarray) -> ndarray:
    """Return a 0-d array of a scalar, with an array's dtype, device and kind of memory.

    The arrays are cached and never written: creating one takes longer than the operation, and
    dpnp's own conversion, which copies the scalar from the host, takes seven times as long.
    """
    # The text distinguishes -0.0 from 0.0, which are equal as keys.
    return _constant(value, repr(value), like.dtype, like.sycl_queue, like.usm_type)


@lru_cache(maxsize=1024)
def _constant(value: Scalar, text: str, dtype: np.dtype[Any], queue: Any, usm_type: str) -> ndarray:
    return dpnp.full((), value, dtype=dtype, usm_type=usm_type, sycl_queue=queue)


def pair(x1: ndarray | Scalar, x2: ndarray | Scalar) -> tuple[ndarray, ndarray]:
    """Return two operands as arrays; one may be a scalar, which gets the other's dtype."""
    if not isinstance(x2, ndarray):
        return x1, constant(x2, x1)
    return (x1 if isinstance(x1, ndarray) else constant(x1, x2)), x2


def taking_scalars(rows: Rows) -> Rows:
    """Return rows whose functions of two arrays accept a scalar for one of them."""
    return {
        name: {kinds: _taking_scalars(function) for kinds, function in row.items()}
        for name, row in rows.items()
    }


def _taking_scalars(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    def of_two(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
        return function(*pair(x1, x2))

    return of_two
