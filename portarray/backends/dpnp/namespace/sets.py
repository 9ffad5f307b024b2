"""Sets of values in dpnp's arrays."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.composed.results import (
    UniqueAllResult,
    UniqueCountsResult,
    UniqueInverseResult,
)

unique_values = dpnp.unique_values


def unique_all(x: ndarray, /) -> UniqueAllResult[ndarray]:
    """Return values, first indices, what rebuilds x from the values, and counts."""
    return UniqueAllResult(*dpnp.unique_all(x))


def unique_counts(x: ndarray, /) -> UniqueCountsResult[ndarray]:
    """Return values, and how often each occurs."""
    return UniqueCountsResult(*dpnp.unique_counts(x))


def unique_inverse(x: ndarray, /) -> UniqueInverseResult[ndarray]:
    """Return values, and what rebuilds x from the values."""
    return UniqueInverseResult(*dpnp.unique_inverse(x))
