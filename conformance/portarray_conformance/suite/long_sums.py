"""Sums of a million numbers, whose error grows with the logarithm of their count."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from portarray.backends import registry
from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.target import NumpyArray, Target

_COUNT = 1_000_003

# Each function, and the exact result and sum of magnitudes of equal numbers, in long double.
_FUNCTIONS: Mapping[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "sum": (lambda f, x: f(x), lambda value: value * _COUNT),
    "mean": (lambda f, x: f(x), lambda value: value),
    "cumulative_sum": (lambda f, x: f(x)[-1], lambda value: value * _COUNT),
    "vecdot": (lambda f, x: f(x, x), lambda value: value**2 * _COUNT),
    "linalg.vector_norm": (lambda f, x: f(x), lambda value: value * np.sqrt(np.longdouble(_COUNT))),
}


def _many_equal(function: str, target: Target, data: Draw) -> None:
    """Check sums of equal numbers, whose rounding errors add up one after another."""
    called, exact = _FUNCTIONS[function]
    # A quarter more for lanes of up to 64 numbers, and a few for products, quotients and roots.
    bound = (2 + math.log2(_COUNT)) * 1.25 + 4
    # The standard itself bounds no error: that of NumPy and of plugins may grow faster.
    package = "" if target.device is None else registry.package_of(target.library)
    if not package.startswith("portarray.backends."):
        bound = _COUNT
    for name in draw.available(target, ("float32",)):
        x: NumpyArray = np.full(_COUNT, 0.1, dtype=name)
        out = called(target.function(function), target.put(x))
        want = np.asarray(exact(np.longdouble(x[0])))
        call = Call(f"{function} of {_COUNT} {name} numbers {x[0]}")
        compare.within(target, out, want, call, dtype=name, size=abs(want), bound=bound)


for _name in _FUNCTIONS:
    case(_name, "a million")(partial(_many_equal, _name))
