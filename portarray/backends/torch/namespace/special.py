"""PyTorch's special functions.

Its gammainc has errors of 1e-9, ndtr and logit lose digits where they are small, zeta is NaN at
infinity, and i0 and i1 overflow early in float32: these are composed.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, special

from portarray.backends.types import Rows


def _gammaln(x: Tensor) -> Tensor:
    return torch.where(x == -math.inf, x, torch.lgamma(x))  # as in SciPy


BY_DTYPE: Rows = {
    "digamma": {"f": special.digamma},
    "entr": {"f": special.entr},
    "erf": {"f": special.erf},
    "erfc": {"f": special.erfc},
    "erfcx": {"f": special.erfcx},
    "erfinv": {"f": special.erfinv},
    "expit": {"f": special.expit},
    "gammaln": {"f": _gammaln},
    "i0": {"float64": special.i0},
    "i0e": {"f": special.i0e},
    "i1": {"float64": special.i1},
    "i1e": {"f": special.i1e},
    "log_ndtr": {"f": special.log_ndtr},
    "ndtri": {"f": special.ndtri},
    "xlog1py": {"f": special.xlog1py},
    "xlogy": {"f": special.xlogy},
}
