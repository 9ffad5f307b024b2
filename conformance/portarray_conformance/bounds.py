"""The table of error bounds.

The standard recommends IEEE 754 accuracy for ``+ - * /`` and ``sqrt`` and leaves the rest to
the implementation. The bounds here are what good libraries reach on every device (OpenCL's full
profile and CUDA's tables lie within them): tight enough that a formula which cancels, a constant
with too few digits or a computation in lower precision is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """Bounds in ULP: for real dtypes, and for the distance in the complex plane."""

    real: float
    complex: float = 0.0


ROUNDED = 0.51
"""Correctly rounded, with room for the rounding of the reference."""

ELEMENTWISE: Mapping[str, Bound] = {
    # exact
    **dict.fromkeys(("ceil", "clip", "copysign", "floor", "maximum", "minimum"), Bound(0)),
    **dict.fromkeys(("conj", "imag", "negative", "positive", "real", "round"), Bound(0, 0)),
    **dict.fromkeys(("nextafter", "trunc"), Bound(0)),
    "abs": Bound(0, 2),
    "sign": Bound(0, 4),
    # IEEE 754 operations; one ULP where GPUs replace a division by a product
    **dict.fromkeys(("add", "subtract"), Bound(ROUNDED, 0.75)),
    **dict.fromkeys(("multiply", "square"), Bound(ROUNDED, 4)),
    **dict.fromkeys(("divide", "reciprocal"), Bound(1, 8)),
    "sqrt": Bound(1, 4),
    **dict.fromkeys(("floor_divide", "remainder"), Bound(1)),
    # functions of a library; complex ones are built from several real ones
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh"), Bound(4, 32)),
    **dict.fromkeys(("cos", "cosh", "sin", "sinh", "tan", "tanh"), Bound(4, 32)),
    **dict.fromkeys(("exp", "expm1", "log", "log10", "log1p", "log2"), Bound(4, 32)),
    **dict.fromkeys(("atan2", "hypot", "logaddexp"), Bound(4)),
    "pow": Bound(8, 128),  # complex: exp(x2 * log(x1)) multiplies the error of the logarithm
}
"""Elementwise functions."""

NORMWISE: Mapping[str, float] = {
    # sums and products: per term, relative to the sum of magnitudes
    "sum": 2,
    "prod": 2,
    "mean": 2,
    "var": 4,
    "std": 4,
    "cumulative_sum": 2,
    "cumulative_prod": 2,
    "matmul": 2,
    "vecdot": 2,
    "tensordot": 2,
    "outer": 2,
    "cross": 4,
    "trace": 2,
    "linspace": 4,
    # decompositions: per row, relative to the norm of the matrix (and its condition for inverses)
    "linalg": 32,
    # transforms: per log2(n), relative to the norm of the input
    "fft": 8,
}
"""Bounds in machine epsilons, relative to a norm; see the checks for which one."""
