"""How functions of the standard are written in the kernel language."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._kernel_language.functions import COMPARISONS, NAMESPACE, OPERATORS

__all__ = ["COSTLY", "ELEMENTWISE", "REDUCTIONS", "Reduction", "expression", "literal"]

ELEMENTWISE = frozenset(
    {
        *OPERATORS, *COMPARISONS, *NAMESPACE, "astype", "clip", "conj", "logical_and",
        "kernels.gelu", "kernels.relu", "kernels.silu", "logical_not", "logical_or",
        "logical_xor", "real", "where",
    }
)  # fmt: skip
"""Functions that have the same text for each element."""

COSTLY = frozenset(
    (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp"),
        *("expm1", "hypot", "kernels.gelu", "kernels.silu", "log", "log10", "log1p", "log2"),
        *("logaddexp", "pow", "sin", "sinh", "tan", "tanh"),
    )
)
"""Those that take longer than to read a number that was written a moment ago."""


def expression(
    name: str, operands: Sequence[str], dtype: np.dtype[Any], options: Mapping[str, Any]
) -> str:
    """Return the text of a call whose operands are texts; the dtype is that of the result."""
    if name in ("conj", "real", "positive"):
        return operands[0]
    if name == "astype":
        return cast(operands[0], dtype)
    if name == "clip":
        x, low, high = (*operands, "None", "None")[:3]
        x = x if low == "None" else f"pa.maximum({x}, {low})"
        return x if high == "None" else f"pa.minimum({x}, {high})"
    if name in _KERNELS:
        half = dtype.itemsize == 2
        x = f"kl.float32({operands[0]})" if half else operands[0]
        text = _KERNELS[name][options.get("approximate", "")].format(x)
        return cast(text, dtype) if half else text
    return f"pa.{name}({', '.join(operands)})"


_KERNELS: Mapping[str, Mapping[str, str]] = {
    "kernels.relu": {"": "pa.where({0} <= 0, 0, {0})"},
    "kernels.silu": {"": "({0} / (1 + pa.exp(-{0})))"},
    "kernels.gelu": {
        # The error function's complement is as precise far below 0 as it is at 0.
        "none": "({0} * 0.5 * math.erfc({0} * -0.7071067811865476))",
        "tanh": (
            "({0} / (1 + pa.exp(pa.clip({0}, -30.0, 30.0) * (-1.5957691216057308 "
            "- 0.07135481282553505 * pa.square(pa.clip({0}, -30.0, 30.0))))))"
        ),
    },
}
"""Core kernels that are elementwise."""


def cast(x: str, dtype: np.dtype[Any]) -> str:
    """Return the text of a conversion."""
    return f"({x} != 0)" if dtype.kind == "b" else f"kl.{dtype.name}({x})"


def literal(value: complex) -> str:
    """Return the text of a real number."""
    if isinstance(value, (bool, np.bool_)):
        return repr(bool(value))
    if isinstance(value, (int, np.integer)):
        return repr(int(value))
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        return "pa.nan"
    if math.isinf(number):
        return "pa.inf" if number > 0 else "-pa.inf"
    return repr(number)


@dataclass(frozen=True, slots=True)
class Reduction:
    """How a reduction begins, combines two numbers, and ends."""

    begin: Callable[[np.dtype[Any]], str]
    combine: str
    end: str = "{0}"


def _lowest(dtype: np.dtype[Any]) -> str:
    return literal(-math.inf if dtype.kind not in "iu" else np.iinfo(dtype).min)


def _highest(dtype: np.dtype[Any]) -> str:
    return literal(math.inf if dtype.kind not in "iu" else np.iinfo(dtype).max)


REDUCTIONS: Mapping[str, Reduction] = {
    "sum": Reduction(lambda _: "0", "{0} + {1}"),
    "prod": Reduction(lambda _: "1", "{0} * {1}"),
    "mean": Reduction(lambda _: "0", "{0} + {1}", "{0} / {n}"),
    "max": Reduction(_lowest, "pa.maximum({0}, {1})"),
    "min": Reduction(_highest, "pa.minimum({0}, {1})"),
}
"""Reductions along rows."""
