"""CuPy's special functions, which are SciPy's."""

from __future__ import annotations

from cupyx.scipy import special

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    name: {"f": getattr(special, name)}
    for name in (
        *("beta", "betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv"),
        *("expit", "gamma", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e"),
        *("kl_div", "log_expit", "log_ndtr", "logit", "ndtr", "ndtri", "rel_entr", "xlog1py"),
        *("xlogy", "zeta"),
    )
}
