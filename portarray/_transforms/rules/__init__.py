"""The gradients of the standard's functions, by name."""

from __future__ import annotations

from portarray._transforms.rules import (
    elementwise,
    kernels,
    matrices,
    reductions,
    shapes,
    transforms,
)
from portarray._transforms.rules.table import RULES

__all__ = ["RULES", "elementwise", "kernels", "matrices", "reductions", "shapes", "transforms"]
