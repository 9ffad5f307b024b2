"""Running sums and products."""

from __future__ import annotations

from typing import Any

from portarray.clarray.arguments import array_of, axis_of
from portarray.clarray.dtypes import real_dtype_of
from portarray.clarray.engine.parts import as_complex, as_parts
from portarray.clarray.engine.scan import Scan, scan
from portarray.clarray.statistical.terms import PROD, converted, total_dtype
from portarray.clarray.strided import Array

_CUMULATIVE_SUM = Scan(
    "cumulative_sum",
    # Negative zero changes nothing, while positive zero would change negative zero.
    {"unsigned": ("a + b", "0"), "real": ("a + b", "-0.0f")},
    {"unsigned": "0", "real": "0"},
)
_CUMULATIVE_PROD = Scan(
    "cumulative_prod",
    PROD.combine,
    {"unsigned": "1", "real": "1", "complex": "1, 0"},
)


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Return running sums."""
    return _running(_CUMULATIVE_SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Return running products."""
    return _running(_CUMULATIVE_PROD, x, axis, dtype, include_initial)


def _running(
    operation: Scan, x: Array, axis: int | None, dtype: Any, include_initial: bool
) -> Array:
    name = operation.name
    ndim = array_of(x, name).ndim
    if ndim == 0 or (axis is None and ndim > 1):
        raise ValueError(
            f"{name} needs an axis to run along, and x has {ndim}; name one with axis=, or give "
            f"a 0-d array one by reshape"
        )
    along = axis_of(0 if axis is None else axis, ndim)
    found = total_dtype(x, dtype, name)
    x = converted(x, found)
    if operation is _CUMULATIVE_SUM and found.kind == "c":
        parts = scan(operation, as_parts(x), along, real_dtype_of(found), include_initial)
        return as_complex(parts, found)
    return scan(operation, x, along, found, include_initial)
