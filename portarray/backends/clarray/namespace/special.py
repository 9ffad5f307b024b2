"""OpenCL's special functions."""

from __future__ import annotations

from functools import partial

from portarray.backends.types import Rows
from portarray.clarray.engine.elementwise import unary
from portarray.clarray.engine.operation import Operation

_FORMS = {
    "erf": "erf(a)",
    "erfc": "erfc(a)",
    "gamma": "tgamma(a)",
    "gammaln": "isinf(a) && a < 0 ? a : lgamma(a)",  # as in SciPy
}
BY_DTYPE: Rows = {
    name: {"f": partial(unary, Operation(name, {"real": form}))} for name, form in _FORMS.items()
}
