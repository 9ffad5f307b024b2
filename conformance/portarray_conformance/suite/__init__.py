"""The suite: one module for each chapter of the standard (elementwise is split by family)."""

from __future__ import annotations

from portarray_conformance import names
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
