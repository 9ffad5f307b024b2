"""Rounding of dpnp's arrays."""

from __future__ import annotations

import dpnp

ceil = dpnp.ceil
floor = dpnp.floor
round = dpnp.round
trunc = dpnp.trunc
