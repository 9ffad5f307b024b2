"""Operators and functions of numbers whose types are known: the typed tree of each."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

import numpy as np

from portarray._kernel_language import tree, types
from portarray._kernel_language.functions import FUNCTIONS
from portarray._kernel_language.scope import Wrong
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.types import DType, Scalar, Tuple

_FIX_COMPLEX = "; take pa.abs(...), pa.real(...) or pa.imag(...)"


def operation(setting: Setting, node: ast.AST, sign: str, x: tree.Expr, y: tree.Expr) -> tree.Expr:
    work = common(setting, node, x, y)
    kind = work.kind
    if sign in ("<<", ">>", "&", "|", "^"):
        if kind in "fc" or (kind == "b" and sign in ("<<", ">>")):
            raise Wrong(node, f"{sign} takes integers, not {x.type} and {y.type}")
    elif kind == "c" and sign in ("//", "%", "**"):
        if sign == "**" and isinstance(y, tree.Literal) and y.value == 2:
            return row(setting, node, "square", [x])
        fix = "; write a product, except for ** 2" if sign == "**" else ""
        raise Wrong(node, f"{sign} takes real numbers, not {x.type} and {y.type}{fix}")
    elif kind == "b":
        work = types.weak_int(1)  # True + True is 2
    if sign == "/" and work.kind in "iu":
        work = types.WEAK_FLOAT if work.weak else types.strong(setting.default)
    check_literals(node, work, x, y)
    if sign == "**" and not work.weak and work.kind in "iu" and _negative(y):
        raise Wrong(node, "integers are not raised to negative powers; convert x with float(x)")
    result = work
    if work.weak and work.kind == "i":
        result = types.weak_int(_bits(sign, x.scalar, y.scalar, y))
        if result.bits > work.bits:
            work = result  # computed as wide as the value may be
        if sign == "**" and not (isinstance(y, tree.Literal) and y.value >= 0):
            work = result = types.WEAK_FLOAT if _negative(y) else types.weak_int(63)
    folded = _folded(sign, x, y)
    if isinstance(folded, int) and folded.bit_length() > types.ALL_BITS:
        raise Wrong(node, f"{folded} does not fit 64 bits")
    if folded is not None:
        return tree.Literal(node, types.of_python(folded), folded)
    return tree.Operation(node, result, sign, [x, y], work)


def common(setting: Setting, node: ast.AST, *operands: tree.Expr) -> Scalar:
    """Return the type in which operands are computed."""
    work = operands[0].scalar
    try:
        for operand in operands[1:]:
            work = types.promoted(work, operand.scalar, setting.default)
    except types.Mismatch as error:
        raise Wrong(node, str(error)) from None
    check_dtype(setting, node, work)
    return work


def check_dtype(setting: Setting, node: ast.AST, type_: Scalar) -> None:
    """Refuse a dtype that the device does not support."""
    if type_.dtype is not None and type_.dtype not in setting.dtypes:
        raise Wrong(node, f"{setting.device or 'the device'} does not support {type_.dtype}")


def check_literals(node: ast.AST, work: Scalar, *operands: tree.Expr) -> None:
    """Refuse literals that do not fit the dtype of the other operands."""
    if work.dtype is None or work.dtype.kind not in "iu":
        return
    limits = np.iinfo(work.dtype)
    for operand in operands:
        if isinstance(operand, tree.Literal) and not limits.min <= operand.value <= limits.max:
            raise Wrong(
                node, f"{operand.value} does not fit {work.dtype}, the dtype of the other operand"
            )


def comparison(setting: Setting, node: ast.AST, sign: str, x: tree.Expr, y: tree.Expr) -> tree.Expr:
    work = common(setting, node, x, y)
    if work.kind == "c" and sign not in ("==", "!="):
        raise Wrong(
            node,
            f"{sign} needs an order, which {x.type} and {y.type} do not have; compare pa.abs(...) "
            f"or pa.real(...)",
        )
    check_literals(node, work, x, y)
    return tree.Compare(node, types.TRUTH, sign, x, y, work)


def select(
    setting: Setting, node: ast.AST, condition: tree.Expr, x: tree.Expr, y: tree.Expr
) -> tree.Expr:
    return tree.Select(node, common(setting, node, x, y), condition, x, y)


def truth(setting: Setting, node: ast.AST, value: tree.Expr) -> tree.Expr:
    """Return a number as a bool."""
    if value.scalar.kind == "b":
        return value
    if isinstance(value, tree.Literal):
        return tree.Literal(node, types.TRUTH, bool(value.value))
    zero = tree.Literal(node, types.weak_int(1), 0)
    return comparison(setting, node, "!=", value, zero)


def items_of(x: tree.Expr) -> tuple[list[tree.Expr], list[tree.Expr]]:
    """Return the items of a tuple, and what is to be evaluated before one of them is used.

    A tuple with effects is evaluated once, and as a whole.
    """
    assert isinstance(x.type, Tuple)
    if isinstance(x, tree.Items):
        if not tree.has_effects(x):
            return x.items, []
        items = list(map(shared, x.items))
        return items, items
    owner = shared(x)
    items = [tree.Item(x.at, type_, owner, n) for n, type_ in enumerate(x.type.items)]
    return items, [owner]


def shared(x: tree.Expr, *, assigned: bool = False) -> tree.Expr:
    """Return a value that several expressions may contain, and that is computed once."""
    trivial = (tree.Literal, tree.Size, tree.Position)
    if isinstance(x, trivial) or (isinstance(x, tree.Variable) and not assigned):
        return x
    return tree.Shared(x.at, x.type, x, assigned)


def after(evaluated: list[tree.Expr], value: tree.Expr) -> tree.Expr:
    """Return a value that is computed after others, of which the effects count."""
    if not any(map(tree.has_effects, evaluated)):
        return value
    values = [*evaluated, value]
    items = tree.Items(value.at, Tuple(tuple(x.type for x in values)), values)  # type: ignore[misc]
    return tree.Item(value.at, value.type, items, len(evaluated))


def row(setting: Setting, node: ast.AST, name: str, values: list[tree.Expr]) -> tree.Expr:
    """Return a call of a function of the table."""
    row = FUNCTIONS[name]
    if len(values) != row.count:
        arguments = "1 argument" if row.count == 1 else f"{row.count} arguments"
        raise Wrong(node, f"{name.removeprefix('whole_')} takes {arguments}, got {len(values)}")
    work = common(setting, node, *values)
    if work.kind == "b":
        work = types.weak_int(1)
    if work.kind in "iu" and not row.whole:
        work = types.WEAK_FLOAT if work.weak else types.strong(setting.default)
    if work.kind == "c" and not row.complex:
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else name
        raise Wrong(node, f"{called} takes real numbers, not {work}{_FIX_COMPLEX}")
    if name == "imag" and work.kind != "c":
        zero = tree.Literal(node, types.weak_int(1), 0)
        return after(values, zero if work.weak else converted(node, zero, work.strong_dtype))
    check_literals(node, work, *values)
    result: Scalar = work
    if row.result == "bool":
        result = types.TRUTH
    elif row.result == "complex":
        result = types.complex_of(work)
    elif row.result == "part":
        result = types.part_of(work) if work.kind == "c" else work
    elif row.result == "int":
        result = types.weak_int(work.bits if work.weak and work.kind == "i" else 63)
    return tree.Call(node, result, row, values, work)


def converted(node: ast.AST, value: tree.Expr, dtype: DType) -> tree.Expr:
    """Return a value converted to an array's dtype."""
    source = value.scalar
    if types.same_dtype(source.dtype, dtype):
        return value
    if source.kind == "c" and dtype.kind != "c":
        raise Wrong(node, f"a value of {source} does not fit {dtype}{_FIX_COMPLEX}")
    if isinstance(value, tree.Literal) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not math.isfinite(value.value) or not limits.min <= int(value.value) <= limits.max:
            raise Wrong(node, f"{value.value} does not fit {dtype}")
    return tree.Cast(node, types.strong(dtype), value)


def _negative(y: tree.Expr) -> bool:
    return isinstance(y, tree.Literal) and y.value < 0


def _folded(sign: str, x: tree.Expr, y: tree.Expr) -> int | float | None:
    """Return the result of an operator on literal numbers, or None.

    It is Python's, so that devices without float64 do not round on the way.
    """
    if not (isinstance(x, tree.Literal) and isinstance(y, tree.Literal)):
        return None
    if not (x.scalar.weak and y.scalar.weak):
        return None
    a, b = x.value, y.value
    if float in (type(a), type(b)) and {type(a), type(b)} <= {int, float}:
        return _folded_floats(sign, float(a), float(b))
    if type(a) is not int or type(b) is not int or sign not in ("+", "-", "*", "//", "%", "**"):
        return None
    if sign == "**":
        return a**b if 0 <= b < types.ALL_BITS * 2 else None
    if sign in ("//", "%") and not b:
        return None
    result = {"+": a + b, "-": a - b, "*": a * b}.get(sign)
    if result is None:
        result = a // b if sign == "//" else a % b
    return result


def _folded_floats(sign: str, a: float, b: float) -> float | None:
    """Return the result of an operator on finite numbers, or None."""
    operators: dict[str, Callable[[float, float], float]] = {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv
    }  # fmt: skip
    if sign not in operators or (sign == "/" and not b):
        return None
    result = operators[sign](a, b)
    return result if math.isfinite(result) else None


def _bits(sign: str, x: Scalar, y: Scalar, right: tree.Expr) -> int:
    """Return the bits that the absolute value of an integer result needs at most."""
    a, b = max(x.bits, 1), max(y.bits, 1)
    if sign in ("+", "-"):
        return max(a, b) + 1
    if sign == "*":
        return a + b
    if sign == "//":
        return a  # by zero it is 0
    if sign == "%":
        return b
    if sign in ("&", "|", "^", ">>"):
        return max(a, b) if sign != ">>" else a
    if isinstance(right, tree.Literal) and type(right.value) is int and right.value < 64:
        return a + right.value if sign == "<<" else a * max(right.value, 1)
    return types.ALL_BITS
