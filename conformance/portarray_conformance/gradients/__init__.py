"""Gradients: of every function, and of drawn programs, against central differences."""

from portarray_conformance.gradients.case import Case
from portarray_conformance.gradients.suite import CASES, run_cases

__all__ = ["CASES", "Case", "run_cases"]
