"""Constants."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from portarray_conformance.cases import Draw, case
from portarray_conformance.target import Target

_VALUES: dict[str, Any] = {
    "e": 2.718281828459045235360287,
    "inf": math.inf,
    "nan": math.nan,
    "newaxis": None,
    "pi": 3.141592653589793238462643,
}


def _constant(name: str, target: Target, data: Draw) -> None:
    """A constant is a Python scalar of this value (newaxis is None)."""
    got, want = target.function(name), _VALUES[name]
    if want is None:
        good = got is None
    elif math.isnan(want):
        good = isinstance(got, float) and math.isnan(got)
    else:
        good = isinstance(got, float) and got == want
    if not good:
        raise AssertionError(f"{name}: got {got!r} ({type(got).__name__}), wanted {want!r}")


for _name in _VALUES:
    case(_name, "values")(partial(_constant, _name))
