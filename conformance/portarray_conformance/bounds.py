"""How accurate an answer must be: the one table of bounds.

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
    """Bounds in ULP.

    Parameters
    ----------
    real
        For real dtypes, element by element.
    complex
        For complex dtypes, as a distance in the plane, at the magnitude of the exact answer.
    """

    real: float
    complex: float = 0.0


ROUNDED = 0.51
"""Correctly rounded, with room for the rounding of the reference."""

ELEMENTWISE: Mapping[str, Bound] = {
    # exact
    "abs": Bound(0, 2),
    "ceil": Bound(0),
    "clip": Bound(0),
    "conj": Bound(0, 0),
    "copysign": Bound(0),
    "floor": Bound(0),
    "imag": Bound(0, 0),
    "maximum": Bound(0),
    "minimum": Bound(0),
    "negative": Bound(0, 0),
    "nextafter": Bound(0),
    "positive": Bound(0, 0),
    "real": Bound(0, 0),
    "round": Bound(0, 0),
    "sign": Bound(0, 4),
    "trunc": Bound(0),
    # IEEE 754 operations; one ULP where GPUs replace a division by a product
    "add": Bound(ROUNDED, 0.75),
    "subtract": Bound(ROUNDED, 0.75),
    "multiply": Bound(ROUNDED, 4),
    "square": Bound(ROUNDED, 4),
    "divide": Bound(1, 8),
    "reciprocal": Bound(1, 8),
    "sqrt": Bound(1, 4),
    "floor_divide": Bound(1),
    "remainder": Bound(1),
    # functions of a library; complex ones are built from several real ones
    "acos": Bound(4, 32),
    "acosh": Bound(4, 32),
    "asin": Bound(4, 32),
    "asinh": Bound(4, 32),
    "atan": Bound(4, 32),
    "atan2": Bound(4),
    "atanh": Bound(4, 32),
    "cos": Bound(4, 32),
    "cosh": Bound(4, 32),
    "exp": Bound(4, 32),
    "expm1": Bound(4, 32),
    "hypot": Bound(4),
    "log": Bound(4, 32),
    "log10": Bound(4, 32),
    "log1p": Bound(4, 32),
    "log2": Bound(4, 32),
    "logaddexp": Bound(4),
    "pow": Bound(8, 128),  # complex: exp(x2 * log(x1)) multiplies the error of the logarithm
    "sin": Bound(4, 32),
    "sinh": Bound(4, 32),
    "tan": Bound(4, 32),
    "tanh": Bound(4, 32),
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
