"""Sets of values in dpnp's arrays."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray._dtypes.promotion import Scalar
from portarray.backends.dpnp.namespace.scalars import pair

unique_all = dpnp.unique_all
unique_counts = dpnp.unique_counts
unique_inverse = dpnp.unique_inverse
unique_values = dpnp.unique_values


def isin(x1: ndarray | Scalar, x2: ndarray | Scalar, /, *, invert: bool = False) -> ndarray:
    """Return which elements of x1 are in x2; NaN never is."""
    return dpnp.isin(*pair(x1, x2), invert=invert)
