"""Sets of values in dpnp's arrays."""

from __future__ import annotations

import dpnp

unique_all = dpnp.unique_all
unique_counts = dpnp.unique_counts
unique_inverse = dpnp.unique_inverse
unique_values = dpnp.unique_values
