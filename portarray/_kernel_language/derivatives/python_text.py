"""Prints typed expressions as text of the kernel language.

Reading the text gives the same types, as those of variables and arrays are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from portarray._kernel_language import functions, tree, types
from portarray._kernel_language.deep import deep
from portarray._kernel_language.types import Array, Scalar

_CALLED_AS = {
    **{row: f"np.{name}" for name, row in functions.NAMESPACE.items() if hasattr(np, name)},
    **{row: f"math.{name}" for name, row in functions.MATH.items()},
    **{row: name for name, row in functions.BUILTINS.items()},
    "whole": "int",
    "floor": "np.floor",
    "ceil": "np.ceil",
    "trunc": "np.trunc",
    "rint": "np.rint",
    "floor_divide": "np.floor_divide",
    "fma": "kl.fma",
}
"""How the functions of the table are called in text whose globals are kl, math and np."""

_SIGNS = {"-x": "-", "+x": "+", "~x": "~"}


class PythonText:
    """Prints expressions.

    Parameters
    ----------
    size : callable
        Returns an array's length along an axis as text.
    ndim : int
        Axes of the ndrange.
    """

    def __init__(self, size: Callable[[Array, int], str], ndim: int) -> None:
        self.size = size
        self.ndim = ndim

    @deep
    def text(self, x: tree.Expr) -> str:
        """Return an expression, in brackets where it is an operand."""
        return str(getattr(self, f"_{type(x).__name__.lower()}")(x))

    def opened(self, x: tree.Expr) -> str:
        """Return an expression without brackets around it."""
        text = self.text(x)
        bracketed = (tree.Operation, tree.Compare, tree.Logic, tree.Select)
        return text[1:-1] if isinstance(x, bracketed) else text

    def element(self, name: str, index: list[tree.Expr]) -> str:
        """Return an element of an array."""
        return f"{name}[{', '.join(map(self.opened, index)) or '()'}]"

    def _literal(self, x: tree.Literal) -> str:
        return literal(x.value, x.scalar)

    def _variable(self, x: tree.Variable) -> str:
        return x.name

    def _size(self, x: tree.Size) -> str:
        return self.size(x.array, x.axis)

    def _position(self, x: tree.Position) -> str:
        if x.axis is None:
            return "kl.linear_index()" if x.name == "index" else "kl.local_linear_index()"
        return f"kl.{x.name}({x.axis if self.ndim > 1 else ''})"

    def _load(self, x: tree.Load) -> str:
        return self.element(x.array.name, x.index)

    def _operation(self, x: tree.Operation) -> str:
        if len(x.operands) == 1:
            return f"({_SIGNS[x.sign]}{self.text(x.operands[0])})"
        first, second = map(self.text, x.operands)
        return f"({first} {x.sign} {second})"

    def _compare(self, x: tree.Compare) -> str:
        return f"({self.text(x.first)} {x.sign} {self.text(x.second)})"

    def _logic(self, x: tree.Logic) -> str:
        if x.sign == "not":
            return f"(not {self.text(x.operands[0])})"
        return f"({f' {x.sign} '.join(map(self.text, x.operands))})"

    def _select(self, x: tree.Select) -> str:
        first, second = self.text(x.first), self.text(x.second)
        return f"({first} if {self.text(x.condition)} else {second})"

    def _call(self, x: tree.Call) -> str:
        return f"{function(x.row.name)}({', '.join(map(self.opened, x.arguments))})"

    def _cast(self, x: tree.Cast) -> str:
        return cast(self.opened(x.value), x.scalar)

    def _bitcast(self, x: tree.Bitcast) -> str:
        return f"kl.bitcast({self.opened(x.value)}, kl.{x.scalar.strong_dtype.name})"


def function(row: str) -> str:
    """Return the name of a function of the table."""
    return _CALLED_AS[row]


def cast(text: str, to: Scalar) -> str:
    """Return a number converted to a type."""
    if to.dtype is None:
        return f"{'float' if to.kind == 'f' else 'int'}({text})"
    return f"kl.{to.dtype.name}({text})"


def literal(value: bool | int | float, type_: Scalar) -> str:
    """Return a number of a type."""
    if type_.kind == "b":
        return str(bool(value))
    if isinstance(value, float) and not math.isfinite(value):
        text = "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "(-math.inf)"
    else:
        text = repr(float(value) if type_.kind == "f" and type_.weak else value)
    if not type_.weak:
        return cast(text, type_)
    return f"({text})" if text.startswith("-") else text


def zero(type_: Scalar) -> str:
    """Return the zero that a variable of a type begins with."""
    return literal(0, type_ if type_.kind != "f" or not type_.weak else types.WEAK_FLOAT)
