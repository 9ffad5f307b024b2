"""Sums, products, means and extremes of dpnp's arrays."""

from __future__ import annotations

import dpnp

cumulative_prod = dpnp.cumulative_prod
cumulative_sum = dpnp.cumulative_sum
max = dpnp.max
mean = dpnp.mean
min = dpnp.min
prod = dpnp.prod
std = dpnp.std
sum = dpnp.sum
var = dpnp.var
