"""What Python's objects mean in kernels: numbers, tuples of them, dtypes and functions."""

from __future__ import annotations

import ast
import difflib
from types import ModuleType
from typing import Any

import numpy as np

from portarray._kernel_language import tree, types
from portarray._kernel_language.scope import Value, Wrong
from portarray._kernel_language.types import Constant, DType, Tuple
from portarray._kernel_language.words import Helper


def given(node: ast.AST, value: Any) -> Value:
    """Return what a Python object means in a kernel."""
    if isinstance(value, np.bool_):
        value = bool(value)
    if isinstance(value, np.generic) and value.dtype.kind in "iuf":
        literal = tree.Literal(node, types.of_python(value.item()), value.item())
        return tree.Cast(node, types.strong(value.dtype), literal)
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        if isinstance(value, int) and value.bit_length() > 64:
            raise Wrong(node, f"{value} does not fit 64 bits")
        return tree.Literal(node, types.of_python(value), value)
    if isinstance(value, tuple) and value and all(is_number(one) for one in value):
        items = [tree.Literal(node, types.of_python(one), one) for one in value]
        return tree.Items(node, Tuple(tuple(i.type for i in items)), list(items))
    if isinstance(value, complex):
        raise Wrong(node, "complex numbers are not in the kernel language yet")
    return Constant(value)


def known_value(x: tree.Expr) -> Any:
    if isinstance(x, tree.Literal):
        return x.value
    if isinstance(x, tree.Items):
        values = [known_value(one) for one in x.items]
        return None if None in values else tuple(values)
    return None


def is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def dtype_of(value: Any) -> DType | None:
    """Return the dtype that a constant is, as ``pa.float32`` or ``numpy.float32``."""
    if isinstance(value, np.dtype):  # which may equal int and float
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value)
    return None


def usable(value: Any) -> bool:
    return (
        isinstance(value, (ModuleType, np.dtype, str, np.ufunc))
        or value is None
        or callable(value)
        or isinstance(value, Helper)
    )


def described(value: Any) -> str:
    kind = type(value)
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    return f"{article} {kind.__module__}.{kind.__name__}".replace("builtins.", "")


def near(name: str, known: Any) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"; did you mean {found[0]!r}?" if found else ""
