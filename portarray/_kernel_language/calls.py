"""Calls in kernels: Python's functions, the standard's, intrinsics, and helpers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np

from portarray._kernel_language import functions, operators, source, tree, types
from portarray._kernel_language.captures import exact
from portarray._kernel_language.constants import dtype_of, near
from portarray._kernel_language.deep import deep
from portarray._kernel_language.expressions import Expressions
from portarray._kernel_language.intrinsics import ATOMICS, LINEAR, PLACES, Helper, language_word
from portarray._kernel_language.scope import Scope, Value, Wrong
from portarray._kernel_language.types import Array, Constant, DType, Scalar, Tuple
from portarray.errors import KernelSyntaxError


class CallExpressions(Expressions):
    """Types expressions, including calls."""

    def _call(self, node: ast.Call) -> Value:
        return call(self, node)


def call(reader: Expressions, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Attribute):
        owner = reader.value(node.func.value)
        if isinstance(owner, (Array, tree.Expr)):
            raise Wrong(node, f"methods such as .{node.func.attr}() are not in the kernel language")
    function = reader.value(node.func)
    if not isinstance(function, Constant):
        raise Wrong(node, f"{ast.unparse(node.func)} is not a function")
    target = function.value
    word = language_word(target)
    if word is not None:
        return _language_call(reader, node, word)
    if isinstance(target, Helper):
        return _helper_call(reader, node, target, arguments(reader, node))
    dtype = dtype_of(target)
    if dtype is not None:
        return _cast(reader, node, dtype, arguments(reader, node))
    return _function_call(reader, node, target)


def arguments(reader: Expressions, node: ast.Call, count: int | None = None) -> list[ast.expr]:
    """Return the arguments of a call, which must be positional."""
    name = ast.unparse(node.func)
    if node.keywords:
        raise Wrong(node, f"{name} takes no keyword arguments in kernels")
    if count is not None and len(node.args) != count:
        raise Wrong(node, f"{name} takes {count} arguments, got {len(node.args)}")
    return list(node.args)


def _cast(reader: Expressions, node: ast.Call, dtype: DType, operands: list[ast.expr]) -> tree.Expr:
    operators.check_dtype(reader.setting, node, types.strong(dtype))
    values = [reader.numeric(operand) for operand in operands]
    if dtype.kind == "c" and len(values) == 2:
        part = types.part_of(types.strong(dtype)).strong_dtype
        values = [operators.converted(node, value, part) for value in values]
        return operators.row(reader.setting, node, "complex", values)
    if len(values) != 1:
        raise Wrong(node, f"{ast.unparse(node.func)} takes 1 argument, got {len(values)}")
    if dtype.kind == "b" and values[0].scalar.kind == "c":
        return operators.truth(reader.setting, node, values[0])
    return operators.converted(node, values[0], dtype)


def _function_call(reader: Expressions, node: ast.Call, target: Any) -> tree.Expr:
    name = getattr(target, "__name__", "")
    module = getattr(target, "__module__", "") or ""
    expression = ast.unparse(node.func)
    if target in (int, float, bool, complex):
        return _python_cast(reader, node, target)
    if target is len:
        (argument,) = arguments(reader, node, 1)
        array = reader.value(argument)
        if isinstance(array, tree.Expr) and isinstance(array.type, Tuple):
            count = len(array.type.items)
            return operators.after([array], tree.Literal(node, types.of_python(count), count))
        if not isinstance(array, Array) or not array.ndim:
            raise Wrong(node, "len takes an array with axes, or a tuple")
        return reader.size(node, array, 0)
    table: Mapping[str, str] | None = None
    if module == "builtins":
        table = functions.BUILTINS
    elif module == "math":
        table = functions.MATH
    elif module == "cmath":
        table = functions.CMATH
    elif module.partition(".")[0] == "portarray" or isinstance(target, np.ufunc):
        table = functions.NAMESPACE
        if name in functions.OPERATORS or name in functions.COMPARISONS:
            return _named_operator(reader, node, name)
        if name == "where":
            test, x, y = arguments(reader, node, 3)
            values = [reader.truth(test), reader.numeric(x), reader.numeric(y)]
            values = list(map(operators.shared, values))  # all of them are evaluated
            return operators.after(values, operators.select(reader.setting, node, *values))
        if name == "clip":
            x, low, high = arguments(reader, node, 3)
            lower = operators.row(
                reader.setting, node, "maximum", [reader.numeric(x), reader.numeric(low)]
            )
            return operators.row(reader.setting, node, "minimum", [lower, reader.numeric(high)])
        if name.startswith("logical_"):
            signs = {"logical_and": "and", "logical_or": "or", "logical_not": "not"}
            parts = [reader.truth(operand) for operand in arguments(reader, node)]
            if name == "logical_xor":
                return operators.comparison(reader.setting, node, "!=", *parts)
            parts = list(map(operators.shared, parts))  # all of them are evaluated
            return operators.after(parts, tree.Logic(node, types.TRUTH, signs[name], parts))
    if table is None or name not in table:
        if target is print:
            raise Wrong(
                node,
                "print is not in the kernel language; use kl.print, which prints in debug mode",
            )
        if isinstance(target, FunctionType) and not module.startswith("portarray"):
            raise Wrong(
                node, f"{expression} is not a kernel helper; mark it with @pa.kernel.function"
            )
        names = [*functions.MATH, *functions.NAMESPACE, *functions.BUILTINS]
        raise Wrong(
            node, f"{expression} is not in the kernel language{near(name or expression, names)}"
        )
    values = [reader.numeric(operand) for operand in arguments(reader, node)]
    row = table[name]
    if module == "cmath":
        values = [_complex(reader, node, [value]) for value in values]
    elif module == "math" and any(value.scalar.kind == "c" for value in values):
        namespace = "cmath" if name in functions.CMATH else "pa"
        fix = f"; call {namespace}.{name}" if functions.FUNCTIONS[row].complex else ""
        raise Wrong(node, f"{expression} takes real numbers, not complex ones{fix}")
    if row in ("min", "max") and len(values) > 2:
        out = values[0]
        for operand in values[1:]:
            out = operators.row(reader.setting, node, row, [out, operand])
        return out
    return operators.row(reader.setting, node, row, values)


def _named_operator(reader: Expressions, node: ast.Call, name: str) -> tree.Expr:
    values = [reader.numeric(argument) for argument in arguments(reader, node)]
    sign = functions.OPERATORS.get(name) or functions.COMPARISONS[name]
    if name in functions.FUNCTIONS and operators.common(reader.setting, node, *values).kind == "f":
        return operators.row(reader.setting, node, name, values)
    if len(values) != (1 if "x" in sign else 2):
        raise Wrong(node, f"{name} got {len(values)} arguments")
    if name in functions.COMPARISONS:
        return operators.comparison(reader.setting, node, sign, *values)
    if "x" in sign:
        return tree.Operation(node, values[0].scalar, sign, values, values[0].scalar)
    return operators.operation(reader.setting, node, sign, *values)


def _python_cast(reader: Expressions, node: ast.Call, target: type) -> tree.Expr:
    if target is complex:
        values = [reader.numeric(argument) for argument in arguments(reader, node)]
        return _complex(reader, node, values)
    (argument,) = arguments(reader, node, 1)
    value = reader.numeric(argument)
    if target is float and value.scalar.kind == "c":
        return operators.converted(node, value, reader.setting.default)  # refused
    if target is bool:
        return operators.truth(reader.setting, node, value)
    if target is int:
        return operators.row(reader.setting, node, "whole", [value])
    return tree.Cast(node, types.WEAK_FLOAT, value)


def _complex(reader: Expressions, node: ast.AST, parts: list[tree.Expr]) -> tree.Expr:
    """Return a complex number of the parts' dtype; of one part, or of a complex number."""
    if len(parts) == 1:
        if parts[0].scalar.kind == "c":
            return parts[0]
        parts = [*parts, tree.Literal(node, types.weak_int(1), 0)]
    return operators.row(reader.setting, node, "complex", parts)


def _language_call(reader: Expressions, node: ast.Call, word: str) -> Value:
    if word in PLACES or word in LINEAR:
        return _position(reader, node, word)
    if word in ATOMICS:
        return _atomic(reader, node, word)
    if word == "bitcast":
        return _bitcast(reader, node)
    if word == "fma":
        values = [reader.numeric(argument) for argument in arguments(reader, node, 3)]
        return operators.row(reader.setting, node, word, values)
    if word in ("local", "private"):
        raise Wrong(node, f"kl.{word} must be the whole right side of an assignment to a new name")
    if word in ("barrier", "print"):
        raise Wrong(node, f"kl.{word}(...) does not return a value; write it as a statement")
    raise Wrong(node, f"kl.{word} is only allowed in `for i in kl.{word}(range(...))`")


def _bitcast(reader: Expressions, node: ast.Call) -> tree.Expr:
    first, second = arguments(reader, node, 2)
    value, dtype = reader.numeric(first), dtype_of(reader.constant(second))
    if dtype is None:
        raise Wrong(
            node, f"{ast.unparse(second)} is not a dtype; kl.bitcast takes a number and a dtype"
        )
    operators.check_dtype(reader.setting, node, types.strong(dtype))
    source_dtype = value.scalar.dtype
    if (
        source_dtype is None
        or source_dtype.kind in "bc"
        or dtype.kind in "bc"
        or source_dtype.itemsize != dtype.itemsize
    ):
        raise Wrong(
            node,
            f"{ast.unparse(first)} is {value.type}; kl.bitcast to {dtype} takes a number of "
            f"{dtype.itemsize} bytes, not bool or complex; convert with "
            f"kl.uint{8 * dtype.itemsize}(...)",
        )
    return tree.Bitcast(node, types.strong(dtype), value)


def _position(reader: Expressions, node: ast.Call, word: str) -> tree.Expr:
    bits = reader.setting.index_bits
    if word in LINEAR:
        arguments(reader, node, 0)
        return tree.Position(node, types.weak_int(bits), LINEAR[word], None)
    axes = arguments(reader, node)
    ndim = reader.setting.ndim
    if len(axes) > 1:
        raise Wrong(node, f"kl.{word} takes at most one axis, got {len(axes)} arguments")
    if axes:
        axis = reader.constant(axes[0])
        if not isinstance(axis, int) or not -ndim <= axis < ndim:
            raise Wrong(node, f"axis {axis!r} is out of range for an ndrange of {ndim} axes")
        return tree.Position(node, types.weak_int(bits), word, axis % ndim)
    items: list[tree.Expr] = [
        tree.Position(node, types.weak_int(bits), word, axis) for axis in range(ndim)
    ]
    if ndim == 1:
        return items[0]
    return tree.Items(node, Tuple(tuple(item.scalar for item in items)), items)


def _atomic(reader: Expressions, node: ast.Call, word: str) -> tree.Expr:
    operation = ATOMICS[word]
    count = 4 if operation == "compare_exchange" else 3
    first, where, *operands = arguments(reader, node, count)
    array = reader.value(first)
    if not isinstance(array, Array) or array.space == "private":
        raise Wrong(node, f"the first argument of kl.{word} must be a parameter or local memory")
    allowed = ["int32", "uint32", "float32"]
    if reader.setting.atomics64:
        allowed += ["int64", "uint64", "float64"]
    if str(array.dtype) not in allowed:
        raise Wrong(
            node, f"kl.{word} takes {', '.join(allowed)} here; {array.name} is {array.dtype}"
        )
    index = reader.places(node, array, where)
    values = [
        operators.converted(node, reader.numeric(operand), array.dtype) for operand in operands
    ]
    reader.scope.result.written.add(array.name)
    return tree.Atomic(node, types.strong(array.dtype), operation, array, index, values)


def _helper_call(
    reader: Expressions, node: ast.Call, target: Any, argument_nodes: list[ast.expr]
) -> tree.Expr:
    """Return a call of a helper, typed for these arguments."""
    scope = reader.scope
    function = target.function
    if function in scope.shared.running:
        raise Wrong(
            node, f"{function.__name__} calls itself; recursion is not in the kernel language"
        )
    text = source.read(function, helper=True)
    names = [argument.arg for argument in text.node.args.args]
    if len(names) != len(argument_nodes):
        raise Wrong(
            node, f"{function.__name__} takes {len(names)} arguments, got {len(argument_nodes)}"
        )
    values = [reader.value(argument) for argument in argument_nodes]
    parameters: dict[str, Value] = {}
    passed: list[tree.Expr] = []
    for name, value in zip(names, values, strict=True):
        if isinstance(value, tree.Expr) and not isinstance(value, tree.Literal):
            type_ = value.type
            if isinstance(type_, Scalar) and type_.weak and type_.kind == "i":
                type_ = types.weak_int(31 if type_.bits <= 31 else types.ALL_BITS)
            parameters[name] = tree.Variable(text.node, type_, name)
            passed.append(value)
        else:
            parameters[name] = value
    key = (function, *[_key(parameters[name]) for name in names])
    helper = scope.shared.helpers.get(key)
    if helper is None:
        scope.shared.running.append(function)
        try:
            scope.shared.count += 1
            name = f"{text.node.name}_{scope.shared.count}"
            inner = Scope(text, parameters, scope.setting, scope.shared, helper=True)
            helper = scope.shared.read(inner, name)
        finally:
            scope.shared.running.pop()
        if helper.result is None:
            raise Wrong(node, f"{function.__name__} does not return a value; a helper must")
        if not _returns(text.node.body):
            problem = text.problem(text.node, "a helper must return a value on every path")
            raise KernelSyntaxError([problem])
        scope.shared.helpers[key] = helper
    scope.result.written |= helper.written
    if helper not in scope.result.helpers:
        scope.result.helpers.append(helper)
    assert helper.result is not None
    return tree.HelperCall(node, helper.result, helper, passed)


def _key(value: Value) -> Any:
    if isinstance(value, tree.Literal):
        return ("literal", value.type, exact(value.value))
    if isinstance(value, tree.Items) and all(isinstance(i, tree.Literal) for i in value.items):
        return tuple(_key(item) for item in value.items)
    return value.type if isinstance(value, tree.Expr) else value


@deep
def _returns(body: list[ast.stmt]) -> bool:
    """Return whether statements always end in a return."""
    for statement in body:
        if isinstance(statement, ast.Return):
            return True
        if (
            isinstance(statement, ast.If)
            and _returns(statement.body)
            and _returns(statement.orelse)
        ):
            return True
        if (
            isinstance(statement, ast.While)
            and isinstance(statement.test, ast.Constant)
            and statement.test.value
        ):
            return True
    return False
