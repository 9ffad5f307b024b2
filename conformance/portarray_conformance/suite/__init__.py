"""The suite: one module for each chapter of the standard (elementwise is split by family)."""

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

CHAPTERS: tuple[str, ...] = tuple(names.CHAPTERS)
"""The chapters in the order of reports."""


def all_cases(functions: Iterable[str] | None = None) -> list[Case]:
    """Return the cases of the suite, chapter by chapter, or those of some functions.

    Raises
    ------
    ValueError
        Where a name has no case; the message names the nearest that do.
    """
    found = [c for chapter in CHAPTERS for c in registered() if c.chapter == chapter]
    if functions is None:
        return found
    wanted = list(dict.fromkeys(functions))
    known = {c.function for c in found}
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise ValueError(f"no case checks a function {name!r}{hint}")
    return [c for c in found if c.function in wanted]
