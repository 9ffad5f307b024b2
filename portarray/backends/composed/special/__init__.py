"""SciPy's special functions, composed of the standard's functions.

``xp`` is the namespace of a device's native arrays. Operands are arrays of one real floating-point
dtype, float32 or float64: 16-bit numbers are computed in float32. No step depends on values, so
that compilers can follow the functions.
"""

from __future__ import annotations

from portarray._dtypes.accepted import Accepts
from portarray.backends.composed.exponential import expit
from portarray.backends.composed.special.bessel import i0, i0e, i1, i1e
from portarray.backends.composed.special.entropy import (
    entr,
    kl_div,
    log_expit,
    logit,
    rel_entr,
    xlog1py,
    xlogy,
)
from portarray.backends.composed.special.gamma_functions import (
    beta,
    betaln,
    digamma,
    gamma,
    gammaln,
    polygamma,
    riemann_zeta,
    zeta,
)
from portarray.backends.composed.special.integrals import betainc, gammainc, gammaincc
from portarray.backends.composed.special.normal import (
    erf,
    erfc,
    erfcx,
    erfinv,
    log_ndtr,
    ndtr,
    ndtri,
)

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "expit",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_expit",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "polygamma",
    "rel_entr",
    "riemann_zeta",
    "xlog1py",
    "xlogy",
    "zeta",
]

ACCEPTED: dict[str, Accepts] = dict.fromkeys(__all__, Accepts("f", "bui", "floating"))
