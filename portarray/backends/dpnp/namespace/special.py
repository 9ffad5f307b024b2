"""dpnp's special functions."""

from __future__ import annotations

from dpnp.scipy import special

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "erf": {"f": special.erf},
    "erfc": {"f": special.erfc},
    "erfcx": {"f": special.erfcx},
    "erfinv": {"f": special.erfinv},
}
