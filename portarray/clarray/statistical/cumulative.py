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
    "cumulative_prod", PROD.combine, {"unsigned": "1", "real": "1", "complex": "1, 0"}
)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Return running sums."""
    return _running(_CUMULATIVE_SUM, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
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
            f"{name}: x has {ndim} axes and axis is None\nHint: pass axis=, or reshape a 0-d array"
        )
    along = axis_of(0 if axis is None else axis, ndim)
    target = total_dtype(x, dtype, name)
    x = converted(x, target)
    if operation is _CUMULATIVE_SUM and target.kind == "c":
        parts = scan(operation, as_parts(x), along, real_dtype_of(target), include_initial)
        return as_complex(parts, target)
    return scan(operation, x, along, target, include_initial)
