"""Operators and functions of numbers whose types are known: the typed tree of each."""

from __future__ import annotations

import ast
import math

import numpy as np

from portarray._kernel_language import tree, types
from portarray._kernel_language.functions import ROWS
from portarray._kernel_language.scope import Wrong
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.types import DType, Scalar


def operation(setting: Setting, node: ast.AST, sign: str, x: tree.Expr, y: tree.Expr) -> tree.Expr:
    """Return an operator's value."""
    work = common(setting, node, x, y)
    kind = work.kind
    if sign in ("<<", ">>", "&", "|", "^"):
        if kind == "f" or (kind == "b" and sign in ("<<", ">>")):
            raise Wrong(node, f"{sign} takes integers, not {x.type} and {y.type}")
    elif kind == "b":
        work = types.weak_int(1)  # True + True is 2
    if sign == "/" and work.kind in "iu":
        work = types.WEAK_FLOAT if work.weak else types.strong(setting.default)
    check_literals(setting, node, work, x, y)
    result = work
    if work.weak and work.kind == "i":
        result = types.weak_int(_bits(sign, scalar(x), scalar(y), y))
        if result.bits > work.bits:
            work = result  # computed as wide as the value may be
        if sign == "**" and not (isinstance(y, tree.Literal) and y.value >= 0):
            work = result = types.WEAK_FLOAT if _negative(y) else types.weak_int(63)
    known = _folded(sign, x, y)
    if known is not None and known.bit_length() > types.ALL_BITS:
        raise Wrong(node, f"{known} does not fit 64 bits")
    if known is not None:
        return tree.Literal(node, types.of_python(known), known)
    return tree.Operation(node, result, sign, [x, y], work)


def common(setting: Setting, node: ast.AST, *operands: tree.Expr) -> Scalar:
    """Return the type that operands are computed in."""
    found = scalar(operands[0])
    try:
        for one in operands[1:]:
            found = types.promoted(found, scalar(one), setting.default)
    except types.Mismatch as error:
        raise Wrong(node, str(error)) from None
    check_dtype(setting, node, found)
    return found


def check_dtype(setting: Setting, node: ast.AST, type_: Scalar) -> None:
    """Refuse a dtype that the device has not."""
    if type_.dtype is not None and type_.dtype not in setting.dtypes:
        raise Wrong(node, f"{setting.device or 'the device'} has no {type_.dtype}")


def check_literals(setting: Setting, node: ast.AST, work: Scalar, *operands: tree.Expr) -> None:
    """Refuse literals that the dtype of the others does not hold."""
    if work.dtype is None or work.dtype.kind not in "iu":
        return
    limits = np.iinfo(work.dtype)
    for one in operands:
        if isinstance(one, tree.Literal) and not limits.min <= one.value <= limits.max:
            raise Wrong(node, f"{one.value} does not fit {work.dtype}, that of the other operand")


def comparison(setting: Setting, node: ast.AST, sign: str, x: tree.Expr, y: tree.Expr) -> tree.Expr:
    """Return a comparison's truth."""
    work = common(setting, node, x, y)
    check_literals(setting, node, work, x, y)
    return tree.Compare(node, types.TRUTH, sign, x, y, work)


def select(
    setting: Setting, node: ast.AST, condition: tree.Expr, x: tree.Expr, y: tree.Expr
) -> tree.Expr:
    """Return one of two numbers."""
    return tree.Select(node, common(setting, node, x, y), condition, x, y)


def row(setting: Setting, node: ast.AST, name: str, values: list[tree.Expr]) -> tree.Expr:
    """Return a call of a function of the table."""
    row = ROWS[name]
    if len(values) != row.count:
        raise Wrong(node, f"{name} takes {row.count} arguments, got {len(values)}")
    work = common(setting, node, *values)
    if work.kind == "b":
        work = types.weak_int(1)
    if work.kind in "iu" and not row.whole:
        work = types.WEAK_FLOAT if work.weak else types.strong(setting.default)
    check_literals(setting, node, work, *values)
    result: Scalar = work
    if row.result == "bool":
        result = types.TRUTH
    elif row.result == "int":
        result = types.weak_int(work.bits if work.weak and work.kind == "i" else 63)
    return tree.Call(node, result, row, values, work)


def converted(node: ast.AST, value: tree.Expr, dtype: DType) -> tree.Expr:
    """Return a value as it is stored in an array of a dtype."""
    own = scalar(value)
    if own.dtype == dtype:
        return value
    if isinstance(value, tree.Literal) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not math.isfinite(value.value) or not limits.min <= int(value.value) <= limits.max:
            raise Wrong(node, f"{value.value} does not fit {dtype}")
    return tree.Cast(node, types.strong(dtype), value)


def scalar(x: tree.Expr) -> Scalar:
    assert isinstance(x.type, Scalar)
    return x.type


def _negative(y: tree.Expr) -> bool:
    return isinstance(y, tree.Literal) and y.value < 0


def _folded(sign: str, x: tree.Expr, y: tree.Expr) -> int | None:
    """Return the value of an operator on literal integers, for shapes."""
    if not (isinstance(x, tree.Literal) and isinstance(y, tree.Literal)):
        return None
    if not (scalar(x).weak and scalar(y).weak):
        return None
    a, b = x.value, y.value
    if type(a) is not int or type(b) is not int or sign not in ("+", "-", "*", "//", "%", "**"):
        return None
    if sign == "**":
        return a**b if 0 <= b < types.ALL_BITS * 2 else None
    if sign in ("//", "%") and not b:
        return None
    found = {"+": a + b, "-": a - b, "*": a * b}.get(sign)
    if found is None:
        found = a // b if sign == "//" else a % b
    return found


def _bits(sign: str, x: Scalar, y: Scalar, right: tree.Expr) -> int:
    """Return how many bits the absolute value of an integer result takes at most."""
    a, b = max(x.bits, 1), max(y.bits, 1)
    if sign in ("+", "-"):
        return max(a, b) + 1
    if sign == "*":
        return a + b
    if sign == "//":
        return a + 1
    if sign == "%":
        return b
    if sign in ("&", "|", "^", ">>"):
        return max(a, b) if sign != ">>" else a
    if isinstance(right, tree.Literal) and type(right.value) is int and right.value < 64:
        return a + right.value if sign == "<<" else a * max(right.value, 1)
    return types.ALL_BITS
