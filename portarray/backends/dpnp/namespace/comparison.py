"""Comparisons, tests for finite values, and limits on dpnp arrays."""

from __future__ import annotations

import dpnp

from portarray.backends.dpnp.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

clip = dpnp.clip
isfinite = dpnp.isfinite
isinf = dpnp.isinf
isnan = dpnp.isnan

DIRECT: Rows = {
    "equal": {"biufc": dpnp.equal},
    "greater": {"iuf": dpnp.greater},
    "greater_equal": {"iuf": dpnp.greater_equal},
    "less": {"iuf": dpnp.less},
    "less_equal": {"iuf": dpnp.less_equal},
    "maximum": {"iuf": dpnp.maximum},
    "minimum": {"iuf": dpnp.minimum},
    "not_equal": {"biufc": dpnp.not_equal},
}
BY_DTYPE = taking_scalars(DIRECT)
