"""The gradients of the standard's functions, by name."""

from portarray._transforms.rules import (  # noqa: F401  (each adds its rules to the table)
    elementwise,
    fourier,
    kernels,
    matrices,
    reductions,
    shapes,
    special,
)
from portarray._transforms.rules.table import RULES

__all__ = ["RULES"]
