"""Functions of the standard as expressions of the kernel language."""

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
        "logical_xor", "real", "strong_divide", "strong_multiply", "where",
    }
)  # fmt: skip
"""Elementwise functions that a kernel can contain."""

COSTLY = frozenset(
    (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp"),
        *("expm1", "hypot", "kernels.gelu", "kernels.silu", "log", "log10", "log1p", "log2"),
        *("logaddexp", "pow", "sin", "sinh", "tan", "tanh"),
    )
)
"""Elementwise functions that cost more than a read from the cache."""


def expression(
    name: str,
    operands: Sequence[str],
    dtype: np.dtype[Any],
    source: np.dtype[Any],
    options: Mapping[str, Any],
) -> str:
    """Return the source of a call on operands given as source.

    ``dtype`` is the result's, ``source`` that of the first array.
    """
    if name in _IDENTITIES or (name in _ROUNDING and dtype.kind in "biu"):
        return operands[0]
    if name == "astype":
        return converted(operands[0], source, dtype)
    if name == "clip":
        x, low, high = (*operands, "None", "None")[:3]
        x = x if low == "None" else f"pa.maximum({x}, {low})"
        return x if high == "None" else f"pa.minimum({x}, {high})"
    if name in _STRONG:
        first, second = operands
        value = f"{first} {_STRONG[name]} {second}"
        return f"pa.where(({first} == 0) & pa.isnan({value}), 0, {value})"
    if name in _KERNELS:
        half = dtype.itemsize == 2
        x = f"kl.float32({operands[0]})" if half else operands[0]
        text = _KERNELS[name][options.get("approximate", "")].format(x)
        return cast(text, dtype) if half else text
    return f"pa.{name}({', '.join(operands)})"


_STRONG: Mapping[str, str] = {"strong_divide": "/", "strong_multiply": "*"}
"""Operators of the products in gradients, which are zero where the first operand is."""
_IDENTITIES = frozenset(("conj", "positive", "real"))
_ROUNDING = frozenset(("ceil", "floor", "round", "trunc"))
"""Functions that return integers unchanged."""

_KERNELS: Mapping[str, Mapping[str, str]] = {
    "kernels.relu": {"": "pa.where({0} <= 0, 0, {0})"},
    "kernels.silu": {"": "({0} / (1 + pa.exp(-{0})))"},
    "kernels.gelu": {
        # erfc is as precise far below 0 as at 0.
        "none": "({0} * 0.5 * math.erfc({0} * -0.7071067811865476))",
        "tanh": (
            "({0} / (1 + pa.exp(pa.clip({0}, -30.0, 30.0) * (-1.5957691216057308 "
            "- 0.07135481282553505 * pa.square(pa.clip({0}, -30.0, 30.0))))))"
        ),
    },
}
"""Core kernels that are elementwise."""


def converted(x: str, source: np.dtype[Any], dtype: np.dtype[Any]) -> str:
    """Return the source of ``astype`` of a variable.

    C leaves numbers beyond an integer's range undefined: a compiler may use another value in each
    of the calls that read the result. They become the nearest integer, and NaN the lowest.
    """
    if dtype.kind not in "iu" or source.kind in "biu":
        return cast(x, dtype)
    limits = np.iinfo(dtype)
    real = np.float32 if source.itemsize < 8 else np.float64
    past = float(limits.max + 1)
    last = min(float(limits.max), float(np.nextafter(real(past), real(0))))
    x = f"kl.float32({x})" if source.itemsize == 2 else x
    below = f"pa.where({x} < {past!r}, {x}, {last!r})"
    lowest = float(limits.min)
    return cast(f"pa.where({x} > {lowest - 1!r}, {below}, {lowest!r})", dtype)


def cast(x: str, dtype: np.dtype[Any]) -> str:
    """Return the source of a conversion."""
    return f"({x} != 0)" if dtype.kind == "b" else f"kl.{dtype.name}({x})"


def literal(value: complex) -> str:
    """Return the source of a real number."""
    if isinstance(value, (bool, np.bool_)):
        return repr(bool(value))
    if isinstance(value, (int, np.integer)):
        return repr(int(value))
    value_as_float = float(value)  # type: ignore[arg-type]
    if math.isnan(value_as_float):
        return "pa.nan"
    if math.isinf(value_as_float):
        return "pa.inf" if value_as_float > 0 else "-pa.inf"
    return repr(value_as_float)


@dataclass(frozen=True, slots=True)
class Reduction:
    """Source of a reduction: its initial value, combination of two values, and final step."""

    initial: Callable[[np.dtype[Any]], str]
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
