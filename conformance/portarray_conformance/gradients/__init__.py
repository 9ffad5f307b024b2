"""Gradients of every function, and of drawn programs, against central differences.

This package needs portarray; the rest of the distribution does not.
"""

from portarray_conformance.gradients.case import Case
from portarray_conformance.gradients.programs import run_programs
from portarray_conformance.gradients.suite import CASES, cases_of, run_cases

__all__ = ["CASES", "Case", "cases_of", "run_cases", "run_programs"]
