"""The gradients of the standard's functions, by name."""

from __future__ import annotations

from portarray._transforms.rules import elementwise, matrices, reductions, shapes, transforms
from portarray._transforms.rules.table import RULES, NoGradientError

__all__ = ["RULES", "NoGradientError", "elementwise", "matrices", "reductions", "shapes", "transforms"]
