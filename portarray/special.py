"""SciPy's special functions on every device.

Names, arguments and results are those of :mod:`scipy.special`, for real numbers. Each is the
library's own where that is precise, and else composed of the standard's functions.
"""

from typing import TYPE_CHECKING

from portarray import _name_hints
from portarray._api.special import (
    beta,
    betainc,
    betaln,
    digamma,
    entr,
    erf,
    erfc,
    erfcx,
    erfinv,
    expit,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    i0,
    i0e,
    i1,
    i1e,
    kl_div,
    log_expit,
    log_ndtr,
    log_softmax,
    logit,
    logsumexp,
    ndtr,
    ndtri,
    polygamma,
    psi,
    rel_entr,
    softmax,
    xlog1py,
    xlogy,
    zeta,
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
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "rel_entr",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]

if not TYPE_CHECKING:  # a type checker would take every name to be there
    __getattr__ = _name_hints.module_getattr(__name__)
