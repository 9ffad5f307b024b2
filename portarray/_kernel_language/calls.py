"""Calls in kernels: of Python's functions, the standard's, the language's own, and of helpers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._kernel_language import functions, operators, source, tree, types
from portarray._kernel_language.constants import dtype_of, near
from portarray._kernel_language.operators import scalar
from portarray._kernel_language.scope import Scope, Value, Wrong
from portarray._kernel_language.types import Array, Constant, DType, Scalar, Tuple
from portarray._kernel_language.words import ATOMICS, LINEAR, PLACES, Helper, language_word
from portarray.errors import KernelSyntaxError

if TYPE_CHECKING:
    from portarray._kernel_language.expressions import Expressions


def call(reader: Expressions, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Attribute):
        owner = reader.value(node.func.value)
        if isinstance(owner, (Array, tree.Expr)):
            raise Wrong(node, f"methods such as .{node.func.attr}() are not in the kernel language")
    function = reader.value(node.func)
    if not isinstance(function, Constant):
        raise Wrong(node, f"{ast.unparse(node.func)} is no function")
    target = function.value
    word = language_word(target)
    if word is not None:
        return _language_call(reader, node, word)
    if isinstance(target, Helper):
        return _helper_call(reader, node, target, arguments(reader, node))
    dtype = dtype_of(target)
    if dtype is not None:
        return _cast(reader, node, dtype, *arguments(reader, node, 1))
    return _function_call(reader, node, target)


def arguments(reader: Expressions, node: ast.Call, count: int | None = None) -> list[ast.expr]:
    """Return the arguments of a call, which are positional."""
    name = ast.unparse(node.func)
    if node.keywords:
        raise Wrong(node, f"{name} takes no keyword arguments in kernels")
    if count is not None and len(node.args) != count:
        raise Wrong(node, f"{name} takes {count} arguments, got {len(node.args)}")
    return list(node.args)


def _cast(reader: Expressions, node: ast.AST, dtype: DType, argument: ast.expr) -> tree.Expr:
    """Return a conversion."""
    operators.check_dtype(reader.scope.setting, node, types.strong(dtype))
    return operators.converted(node, reader.number(argument), dtype)


def _function_call(reader: Expressions, node: ast.Call, target: Any) -> tree.Expr:
    name = getattr(target, "__name__", "")
    module = getattr(target, "__module__", "") or ""
    told = ast.unparse(node.func)
    if target in (int, float, bool):
        return _python_cast(reader, node, target)
    if target is len:
        (argument,) = arguments(reader, node, 1)
        array = reader.value(argument)
        if isinstance(array, tree.Expr) and isinstance(array.type, Tuple):
            count = len(array.type.items)
            return tree.Literal(node, types.of_python(count), count)
        if not isinstance(array, Array) or not array.ndim:
            raise Wrong(node, "len takes an array with axes, or a tuple")
        return reader.size(node, array, 0)
    table: Mapping[str, str] | None = None
    if module == "builtins":
        table = functions.BUILTINS
    elif module == "math":
        table = functions.MATH
    elif module.partition(".")[0] == "portarray" or isinstance(target, np.ufunc):
        table = functions.NAMESPACE
        if name in functions.OPERATORS or name in functions.COMPARISONS:
            return _named_operator(reader, node, name)
        if name == "where":
            test, x, y = arguments(reader, node, 3)
            return operators.select(
                reader.scope.setting, node, reader.truth(test), reader.number(x), reader.number(y)
            )
        if name == "clip":
            x, low, high = arguments(reader, node, 3)
            lower = operators.row(
                reader.scope.setting, node, "maximum", [reader.number(x), reader.number(low)]
            )
            return operators.row(
                reader.scope.setting, node, "minimum", [lower, reader.number(high)]
            )
        if name.startswith("logical_"):
            words = {"logical_and": "and", "logical_or": "or", "logical_not": "not"}
            parts = [reader.truth(one) for one in arguments(reader, node)]
            if name == "logical_xor":
                return operators.comparison(reader.scope.setting, node, "!=", *parts)
            return tree.Logic(node, types.TRUTH, words[name], parts)
    if table is None or name not in table:
        if target is print:
            raise Wrong(node, "print is not in the kernel language; kl.print is, in debug mode")
        if isinstance(target, FunctionType) and not module.startswith("portarray"):
            raise Wrong(node, f"{told} is no helper of kernels; mark it with @pa.kernel.function")
        known = [*functions.MATH, *functions.NAMESPACE, *functions.BUILTINS]
        raise Wrong(node, f"{told} is not in the kernel language{near(name or told, known)}")
    values = [reader.number(one) for one in arguments(reader, node)]
    row = table[name]
    if row in ("min", "max") and len(values) > 2:
        out = values[0]
        for one in values[1:]:
            out = operators.row(reader.scope.setting, node, row, [out, one])
        return out
    return operators.row(reader.scope.setting, node, row, values)


def _named_operator(reader: Expressions, node: ast.Call, name: str) -> tree.Expr:
    values = [reader.number(one) for one in arguments(reader, node)]
    sign = functions.OPERATORS.get(name) or functions.COMPARISONS[name]
    if len(values) != (1 if "x" in sign else 2):
        raise Wrong(node, f"{name} got {len(values)} arguments")
    if name in functions.COMPARISONS:
        return operators.comparison(reader.scope.setting, node, sign, *values)
    if "x" in sign:
        return tree.Operation(node, scalar(values[0]), sign, values, scalar(values[0]))
    return operators.operation(reader.scope.setting, node, sign, *values)


def _python_cast(reader: Expressions, node: ast.Call, target: type) -> tree.Expr:
    (argument,) = arguments(reader, node, 1)
    value = reader.number(argument)
    if target is bool:
        if scalar(value).kind == "b":
            return value
        return operators.comparison(
            reader.scope.setting, node, "!=", value, tree.Literal(node, types.weak_int(1), 0)
        )
    if target is int:
        return operators.row(reader.scope.setting, node, "whole", [value])
    return tree.Cast(node, types.WEAK_FLOAT, value)


def _language_call(reader: Expressions, node: ast.Call, word: str) -> Value:
    if word in PLACES or word in LINEAR:
        return _place(reader, node, word)
    if word in ATOMICS:
        return _atomic(reader, node, word)
    if word == "bitcast":
        return _bitcast(reader, node)
    if word == "fma":
        values = [reader.number(one) for one in arguments(reader, node, 3)]
        return operators.row(reader.scope.setting, node, word, values)
    if word in ("local", "private"):
        raise Wrong(
            node, f"kl.{word} stands alone on the right side of an assignment to a new name"
        )
    if word in ("barrier", "print"):
        raise Wrong(node, f"kl.{word}(...) is a statement of its own, without a value")
    raise Wrong(node, f"kl.{word} stands only in `for i in kl.{word}(range(...))`")


def _bitcast(reader: Expressions, node: ast.Call) -> tree.Expr:
    first, second = arguments(reader, node, 2)
    value, dtype = reader.number(first), dtype_of(reader.constant(second))
    if dtype is None:
        raise Wrong(node, f"{ast.unparse(second)} is no dtype; kl.bitcast takes a number and one")
    operators.check_dtype(reader.scope.setting, node, types.strong(dtype))
    own = scalar(value).dtype
    if own is None or own.kind == "b" or dtype.kind == "b" or own.itemsize != dtype.itemsize:
        raise Wrong(
            node,
            f"{ast.unparse(first)} is {value.type}; kl.bitcast to {dtype} takes a number of "
            f"{dtype.itemsize} bytes that is no truth value: kl.uint{8 * dtype.itemsize}(...)",
        )
    return tree.Bitcast(node, types.strong(dtype), value)


def _place(reader: Expressions, node: ast.Call, word: str) -> tree.Expr:
    bits = reader.scope.setting.index_bits
    if word in LINEAR:
        arguments(reader, node, 0)
        return tree.Place(node, types.weak_int(bits), LINEAR[word], None)
    given = arguments(reader, node)
    ndim = reader.scope.setting.ndim
    if len(given) > 1:
        raise Wrong(node, f"kl.{word} takes an axis or nothing, got {len(given)} arguments")
    if given:
        axis = reader.constant(given[0])
        if not isinstance(axis, int) or not -ndim <= axis < ndim:
            raise Wrong(node, f"{axis!r} is no axis of an ndrange of {ndim}")
        return tree.Place(node, types.weak_int(bits), word, axis % ndim)
    items: list[tree.Expr] = [
        tree.Place(node, types.weak_int(bits), word, axis) for axis in range(ndim)
    ]
    if ndim == 1:
        return items[0]
    return tree.Items(node, Tuple(tuple(scalar(one) for one in items)), items)


def _atomic(reader: Expressions, node: ast.Call, word: str) -> tree.Expr:
    operation = ATOMICS[word]
    count = 4 if operation == "compare_exchange" else 3
    first, where, *rest = arguments(reader, node, count)
    array = reader.value(first)
    if not isinstance(array, Array) or array.space == "private":
        raise Wrong(node, f"kl.{word} takes a parameter or local memory first")
    allowed = ["int32", "uint32", "float32"]
    if reader.scope.setting.atomics64:
        allowed += ["int64", "uint64", "float64"]
    if str(array.dtype) not in allowed:
        raise Wrong(
            node, f"kl.{word} takes {', '.join(allowed)} here; {array.name} is {array.dtype}"
        )
    index = reader.places(node, array, where)
    values = [operators.converted(node, reader.number(one), array.dtype) for one in rest]
    reader.scope.result.written.add(array.name)
    return tree.Atomic(node, types.strong(array.dtype), operation, array, index, values)


def _helper_call(
    reader: Expressions, node: ast.Call, target: Any, given: list[ast.expr]
) -> tree.Expr:
    """Return a call of a helper, read for the types of these arguments."""
    scope = reader.scope
    function = target.function
    if function in scope.shared.running:
        raise Wrong(node, f"{function.__name__} calls itself; recursion is not in the language")
    found = source.read(function, helper=True)
    names = [one.arg for one in found.node.args.args]
    if len(names) != len(given):
        raise Wrong(node, f"{function.__name__} takes {len(names)} arguments, got {len(given)}")
    values = [reader.value(one) for one in given]
    parameters: dict[str, Value] = {}
    passed: list[tree.Expr] = []
    for name, value in zip(names, values, strict=True):
        if isinstance(value, tree.Expr) and not isinstance(value, tree.Literal):
            type_ = value.type
            if isinstance(type_, Scalar) and type_.weak and type_.kind == "i":
                type_ = types.weak_int(31 if type_.bits <= 31 else types.ALL_BITS)
            parameters[name] = tree.Variable(found.node, type_, name)
            passed.append(value)
        else:
            parameters[name] = value
    key = (function, *[_key(parameters[name]) for name in names])
    made = scope.shared.helpers.get(key)
    if made is None:
        scope.shared.running.append(function)
        try:
            scope.shared.count += 1
            name = f"{found.node.name}_{scope.shared.count}"
            inner = Scope(found, parameters, scope.setting, scope.shared, helper=True)
            made = scope.shared.read(inner, name)
        finally:
            scope.shared.running.pop()
        if made.result is None:
            raise Wrong(node, f"{function.__name__} returns nothing; a helper returns a value")
        if not _returns(found.node.body):
            problem = found.problem(found.node, "a helper returns a value on every way through it")
            raise KernelSyntaxError([problem])
        scope.shared.helpers[key] = made
    scope.result.written |= made.written
    if made not in scope.result.helpers:
        scope.result.helpers.append(made)
    assert made.result is not None
    return tree.HelperCall(node, made.result, made, passed)


def _key(value: Value) -> Any:
    if isinstance(value, tree.Literal):
        return ("literal", value.type, type(value.value), value.value)
    if isinstance(value, tree.Items) and all(isinstance(i, tree.Literal) for i in value.items):
        return tuple(_key(one) for one in value.items)
    return value.type if isinstance(value, tree.Expr) else value


def _returns(body: list[ast.stmt]) -> bool:
    """Tell whether statements always end in a return."""
    for one in body:
        if isinstance(one, ast.Return):
            return True
        if isinstance(one, ast.If) and _returns(one.body) and _returns(one.orelse):
            return True
        if isinstance(one, ast.While) and isinstance(one.test, ast.Constant) and one.test.value:
            return True
    return False
