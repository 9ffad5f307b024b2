"""SciPy's special functions of NumPy's arrays, where SciPy is installed."""

from __future__ import annotations

from portarray.backends.types import Rows

try:
    from scipy import special
except ImportError:  # composed of NumPy's functions
    BY_DTYPE: Rows = {}
else:
    BY_DTYPE = {
        name: {"f": getattr(special._ufuncs, name)}
        for name in (
            *("beta", "betainc", "betaln", "entr", "erf", "erfc", "erfcx", "erfinv", "expit"),
            *("gamma", "gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "kl_div"),
            *("log_expit", "log_ndtr", "logit", "ndtr", "ndtri", "rel_entr", "xlog1py", "xlogy"),
        )
    } | {
        "digamma": {"f": special._ufuncs.psi},
        "riemann_zeta": {"f": special._ufuncs._riemann_zeta},
        "zeta": {"f": special._ufuncs._zeta},
    }
