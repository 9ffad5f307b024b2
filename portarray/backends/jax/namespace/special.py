"""JAX's special functions.

Others of JAX are composed: erfcx, log_ndtr and logit underflow or lose digits where they are small,
digamma is NaN at 0, gammaln not 0 at 1, zeta wrong below 0, kl_div NaN at infinity, and betaln,
gammainc and betainc have errors up to 1e-2 for large arguments.
"""

from __future__ import annotations

from jax.scipy import special

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "entr": {"f": special.entr},
    "erf": {"f": special.erf},
    "erfc": {"f": special.erfc},
    "erfinv": {"f": special.erfinv},
    "expit": {"f": special.expit},
    "i0e": {"f": special.i0e},
    "i1e": {"f": special.i1e},
    "ndtr": {"f": special.ndtr},
    "ndtri": {"f": special.ndtri},
    "xlog1py": {"f": special.xlog1py},
    "xlogy": {"f": special.xlogy},
}
