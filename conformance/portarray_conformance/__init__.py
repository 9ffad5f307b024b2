"""Conformance tests of the Python array API standard, 2025.12, for any namespace.

``run`` checks a target (a portarray device or any module that follows the standard) with the
cases that ``all_cases`` returns. The command ``portarray conformance run`` does this for every
device of the machine and writes the report.
"""

from portarray_conformance.cases import Case, case
from portarray_conformance.expected import ExpectedFailure, read_expected
from portarray_conformance.run import Result, run
from portarray_conformance.suite import all_cases
from portarray_conformance.target import NotApplicable, Target, module_target, portarray_target

__all__ = [
    "Case",
    "ExpectedFailure",
    "NotApplicable",
    "Result",
    "Target",
    "all_cases",
    "case",
    "module_target",
    "portarray_target",
    "read_expected",
    "run",
]
