"""The suite, one module for each category of the standard."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from portarray_conformance import names
from portarray_conformance.cases import Case, registered
from portarray_conformance.suite import (  # noqa: F401  (each registers its cases)
    arithmetic,
    array_object,
    bitwise,
    comparison,
    complex,
    constants,
    creation,
    data_type,
    dlpack,
    exponential,
    fft,
    hyperbolic,
    indexing,
    inspection,
    linalg,
    linalg_norms,
    linalg_products,
    linear_algebra,
    logical,
    long_sums,
    manipulation,
    movement,
    operators,
    rounding,
    searching,
    set,
    sorting,
    statistical,
    trigonometric,
    utility,
)

CATEGORIES: tuple[str, ...] = tuple(names.CATEGORIES)
"""The categories in the order of reports."""


def all_cases(functions: Iterable[str] | None = None) -> list[Case]:
    """Return the cases of the suite by category, or those of some functions.

    Raises
    ------
    ValueError
        If a name has no case; the message suggests similar names.
    """
    cases = [c for category in CATEGORIES for c in registered() if c.category == category]
    if functions is None:
        return cases
    selected = list(dict.fromkeys(functions))
    available = {c.function for c in cases}
    for name in selected:
        if name not in available:
            near = difflib.get_close_matches(name, available, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise ValueError(f"no case checks a function {name!r}{hint}")
    return [c for c in cases if c.function in selected]
