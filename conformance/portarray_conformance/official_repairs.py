"""Adapt inputs of the official suite, which assumes 64-bit types, to devices without them.

Only the inputs change, never the expected results, and nothing changes if float64 and int64
exist. Read at the pinned revision; `test_special_cases.integers_from_dtype` draws integers
that float32 cannot hold and wants them back, and `test_signatures` finds an array for methods of
integers only where int64 is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

__all__ = ["repair"]

_INTEGER_METHODS = ("__int__", "__index__", "__lshift__", "__rshift__")


def repair(items: Iterable[pytest.Item]) -> None:
    """Make the inputs of collected tests fit devices without 64-bit types."""
    for item in items:
        parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
        case: Any = parameters.get("case")
        if getattr(case, "cond_expr", "") == "x_i.is_integer()":
            case.cond_from_dtype = _held(case.cond_from_dtype)
        expressions = getattr(getattr(item, "module", None), "func_to_specified_arg_exprs", None)
        if expressions is not None:
            for name in _INTEGER_METHODS:
                shape = "()" if name in ("__int__", "__index__") else "(5,)"
                expressions[name].setdefault("self", f"xp.ones({shape}, dtype=xp.int32)")


def _held(draw: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the strategy of whole numbers, each rounded to one that its dtype holds."""

    def from_dtype(dtype: Any) -> Any:
        if "float32" not in str(dtype):
            return draw(dtype)
        return draw(dtype).map(lambda value: float(np.float32(value)))

    return from_dtype
