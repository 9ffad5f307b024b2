"""Python operators of the array object: unary, binary, reflected, in-place.

Each operator answers like its elementwise function, so it uses the rows of those categories.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.bounds import NORMWISE
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.elementwise import Row, inputs, judge
from portarray_conformance.promotion import COMPLEX_OF, COMPLEXES, FLOATS, INTEGERS, NUMERIC, PAIRS
from portarray_conformance.suite import arithmetic, bitwise, comparison
from portarray_conformance.target import Target
from portarray_conformance.ulp import wide

_BY_NAME = {
    row.name: row
    for rows in (
        arithmetic.UNARY_ROWS,
        arithmetic.BINARY_ROWS,
        bitwise.UNARY_ROWS,
        bitwise.BINARY_ROWS,
        comparison.BINARY_ROWS,
    )
    for row in rows
}

# Method: sign in messages, and the standard's function.
_UNARY = {
    "abs": ("abs", "abs"),
    "invert": ("~", "bitwise_invert"),
    "neg": ("-", "negative"),
    "pos": ("+", "positive"),
}
_COMPARISON = {
    "eq": ("==", "equal"),
    "ge": (">=", "greater_equal"),
    "gt": (">", "greater"),
    "le": ("<=", "less_equal"),
    "lt": ("<", "less"),
    "ne": ("!=", "not_equal"),
}
_BINARY = {
    "add": ("+", "add"),
    "and": ("&", "bitwise_and"),
    "floordiv": ("//", "floor_divide"),
    "lshift": ("<<", "bitwise_left_shift"),
    "mod": ("%", "remainder"),
    "mul": ("*", "multiply"),
    "or": ("|", "bitwise_or"),
    "pow": ("**", "pow"),
    "rshift": (">>", "bitwise_right_shift"),
    "sub": ("-", "subtract"),
    "truediv": ("/", "divide"),
    "xor": ("^", "bitwise_xor"),
}
Operator: TypeAlias = Callable[..., Any]


def _python(method: str) -> Operator:
    """Return the function of Python's ``operator`` module for a method."""
    function: Operator = getattr(operator, f"__{method}__")
    return function


def _unary(sign: str, apply: Operator, row: Row, target: Target, data: Draw) -> None:
    name = draw.dtype(target, data, row.dtypes)
    x = draw.array(data, name, draw.shape(data), row.domains(name)[0])
    out = apply(draw.put(target, data, x))
    judge(target, out, row, [x], name, Call(f"{sign}(x)", {"x": x}))


def _arrays(sign: str, apply: Operator, row: Row, target: Target, data: Draw) -> None:
    first, second, promoted = draw.dtype_pair(target, data, row.dtypes)
    x1, x2 = inputs(row, data, (first, second), draw.pick(data, draw.BROADCASTS, "shapes"))
    call = Call(f"x1 {sign} x2", {"x1": x1, "x2": x2})
    out = apply(draw.put(target, data, x1), target.put(x2))
    judge(target, out, row, [x1.astype(promoted), x2.astype(promoted)], promoted, call)


def _python_scalar(data: Draw, name: str, value: Any) -> Any:
    """Return a scalar as Python has it; a whole number may be an int with a floating array."""
    if name not in INTEGERS and name != "bool" and value.imag == 0:
        real = value.real
        if real == real and abs(real) < 1000 and real == int(real) and str(real)[0] != "-":
            return int(real) if draw.flag(data, "as int") else value
    return value


def _scalar(
    sign: str, apply: Operator, row: Row, reflected: bool, target: Target, data: Draw
) -> None:
    """Check an array with a Python scalar on one side: the scalar takes the array's dtype."""
    name = draw.dtype(target, data, row.dtypes)
    shape = draw.pick(data, ((4,), (2, 3), (), (0,)), "shape")
    x1, x2 = inputs(row, data, (name, name), ((), shape) if reflected else (shape, ()))
    if reflected:
        scalar = _python_scalar(data, name, x1.item())
        call = Call(f"{scalar!r} {sign} x2", {"x2": x2})
        out = apply(scalar, target.put(x2))
    else:
        scalar = _python_scalar(data, name, x2.item())
        call = Call(f"x1 {sign} {scalar!r}", {"x1": x1})
        out = apply(target.put(x1), scalar)
    judge(target, out, row, [x1, x2], name, call)


def _complex_scalar(sign: str, apply: Operator, row: Row, target: Target, data: Draw) -> None:
    """Check a real array with a Python complex: the array's precision stays."""
    name = draw.dtype(target, data, FLOATS)
    promoted = COMPLEX_OF[name]
    target.dtype(promoted)
    reflected = draw.flag(data, "scalar first")
    x = draw.array(data, name, (3,), draw.SMALL)
    scalar = draw.array(data, "complex64", (), draw.SMALL, "scalar")
    x1, x2 = (scalar, x) if reflected else (x, scalar)
    value = scalar.item()
    out = apply(value, target.put(x)) if reflected else apply(target.put(x), value)
    call = Call(f"{value!r} {sign} x" if reflected else f"x {sign} {value!r}", {"x": x})
    judge(target, out, row, [x1.astype(promoted), x2.astype(promoted)], promoted, call)


def _inplace(sign: str, apply: Operator, row: Row, target: Target, data: Draw) -> None:
    """Check ``x1 op= x2`` where x2 promotes to the dtype of x1 and broadcasts to its shape.

    Whether the array itself is changed is the library's choice; but if the statement leaves the
    same object, that object holds the result, and so does a second name for it.
    """
    pairs = [
        (a, b)
        for a, b, c in PAIRS
        if c == a and a in row.dtypes and b in row.dtypes and row.result(a) == a
    ]
    available = target.dtypes()
    first, second = draw.pick(
        data, tuple(p for p in pairs if p[0] in available and p[1] in available), "dtypes"
    )
    shapes = draw.pick(data, (((5,), (5,)), ((2, 3), (3,)), ((2, 3), ()), ((), ())), "shapes")
    x1, x2 = inputs(row, data, (first, second), shapes)
    as_number = draw.flag(data, "x2 as a number") and shapes[1] == () and first == second
    moved = target.put(x1)
    alias = moved
    operand: Any = x2.item() if as_number else target.put(x2)
    call = Call(f"x1 {sign}= x2", {"x1": x1, "x2": x2.item() if as_number else x2})
    result = apply(moved, operand)
    judge(target, result, row, [x1, x2.astype(first)], first, call)
    if result is alias:
        judge(target, alias, row, [x1, x2.astype(first)], first, call)
    elif isinstance(alias, type(result)) and hasattr(type(alias), f"__{apply.__name__}__"):
        raise call.fail("the operator is defined in place but left another object")


def _through_view(sign: str, apply: Operator, row: Row, target: Target, data: Draw) -> None:
    """Check that ``x[i] op= y`` reaches x, whether rows are views or are written back."""
    name = draw.dtype(target, data, [n for n in row.dtypes if row.result(n) == n])
    x1, x2 = inputs(row, data, (name, name), ((2, 3), (3,)))
    moved = target.put(x1)
    index = draw.pick(data, (0, 1, -1), "index")
    moved[index, ...] = apply(moved[index, ...], target.put(x2))
    call = Call(f"x1[{index}] {sign}= x2", {"x1": x1, "x2": x2})
    compare.check_dtype(target, moved, name, call)
    judge(target, moved[index, ...], row, [x1[index], x2], name, call)
    other_row = 1 - index % 2
    compare.same(target, moved[other_row, ...], x1[other_row], call)


def _matmul(kind: str, target: Target, data: Draw) -> None:
    """Check ``@``, its reflected and its in-place form on matrices."""
    name = draw.dtype(target, data, NUMERIC)
    shapes = (
        (((2, 2), (2, 2)),) if kind == "i" else (((2, 3), (3, 2)), ((3,), (3, 2)), ((3,), (3,)))
    )
    first, second = draw.pick(data, shapes, "shapes")
    x1 = draw.array(data, name, first, draw.Domain(-5, 5), "x1")
    x2 = draw.array(data, name, second, draw.Domain(-5, 5), "x2")
    call = Call("x1 @= x2" if kind == "i" else "x1 @ x2", {"x1": x1, "x2": x2})
    a, b = target.put(x1), target.put(x2)
    if kind == "i":
        a @= b
        out = a
    elif kind == "r":
        out = type(b).__rmatmul__(b, a)
    else:
        out = a @ b
    want = np.asarray(wide(x1) @ wide(x2))
    if name in FLOATS or name in COMPLEXES:
        size = np.asarray(np.abs(wide(x1)) @ np.abs(wide(x2)))
        compare.within(target, out, want, call, dtype=name, size=size, bound=NORMWISE["matmul"])
    else:
        compare.same(target, out, want.astype(name), call, dtype=name)


for _name, (_sign, _function) in _UNARY.items():
    _row = _BY_NAME[_function]
    case(f"array.__{_name}__", "values")(partial(_unary, _sign, _python(_name), _row))
for _name, (_sign, _function) in {**_COMPARISON, **_BINARY}.items():
    _row, _apply = _BY_NAME[_function], _python(_name)
    case(f"array.__{_name}__", "values")(partial(_arrays, _sign, _apply, _row))
    case(f"array.__{_name}__", "scalars")(partial(_scalar, _sign, _apply, _row, False))
for _name, (_sign, _function) in _BINARY.items():
    _row, _apply, _in_place = _BY_NAME[_function], _python(_name), _python(f"i{_name}")
    case(f"array.__r{_name}__", "scalars")(partial(_scalar, _sign, _apply, _row, True))
    if _function in ("add", "subtract", "multiply", "divide"):
        case(f"array.__{_name}__", "complex scalars")(partial(_complex_scalar, _sign, _apply, _row))
    case(f"array.__i{_name}__", "values")(partial(_inplace, _sign, _in_place, _row))
    case(f"array.__i{_name}__", "views")(partial(_through_view, _sign, _in_place, _row))
for _kind in ("", "r", "i"):
    case(f"array.__{_kind}matmul__", "values")(partial(_matmul, _kind))
