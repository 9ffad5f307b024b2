"""Constants in kernels: numbers, tuples of numbers, dtypes and functions."""

from __future__ import annotations

import ast
import difflib
from types import ModuleType
from typing import Any

import numpy as np

from portarray._dtypes import promotion
from portarray._kernel_language import tree, types
from portarray._kernel_language.intrinsics import Helper
from portarray._kernel_language.scope import Value, Wrong
from portarray._kernel_language.types import Constant, DType, Tuple


def from_python(node: ast.AST, value: Any) -> Value:
    """Return the meaning of a Python object in kernels; NumPy scalars keep their dtypes."""
    if isinstance(value, np.generic) and is_number(value):
        return tree.Literal(node, types.strong(value.dtype), value.item())
    if isinstance(value, (bool, int, float, complex)):
        if isinstance(value, int) and value.bit_length() > 64:
            raise Wrong(node, f"{value} does not fit 64 bits")
        return tree.Literal(node, types.of_python(value), value)
    if isinstance(value, tuple) and value and all(is_number(item) for item in value):
        items = [from_python(node, item) for item in value]
        return tree.Items(node, Tuple(tuple(item.type for item in items)), items)  # type: ignore[union-attr, misc, arg-type]
    return Constant(value)


def known_value(x: tree.Expr) -> Any:
    """Return a value known at compile time, or None."""
    if isinstance(x, tree.Literal):
        return x.value
    if isinstance(x, tree.Items):
        values = [known_value(item) for item in x.items]
        return None if None in values else tuple(values)
    return None


def plain(value: Any) -> Any:
    """Convert NumPy scalars to Python numbers, in tuples too."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) and is_number(value) else value


def is_static(value: Any) -> bool:
    """Return whether an argument is a constant of the program, although no parameter is static."""
    return value is None or isinstance(value, (tuple, str, np.dtype, type))


def is_number(value: Any) -> bool:
    """Return whether kernels support a number."""
    if isinstance(value, np.generic):
        if value.dtype.kind in "OSUMm":
            return False
        return promotion.kind_of(value.dtype) in promotion.KIND_ORDER
    return isinstance(value, (bool, int, float, complex))


def dtype_of(value: Any) -> DType | None:
    """Return a constant as a dtype, for example ``numpy.float32``; None if it is not one."""
    if isinstance(value, np.dtype):  # which may equal int and float
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value)
    return None


def usable(value: Any) -> bool:
    """Return whether kernels can use an outside name's value."""
    return (
        isinstance(value, (ModuleType, np.dtype, str, np.ufunc))
        or value is None
        or callable(value)
        or isinstance(value, Helper)
    )


def described(value: Any) -> str:
    """Return a value's type with an article, for errors."""
    kind = type(value)
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    return f"{article} {kind.__module__}.{kind.__name__}".replace("builtins.", "")


def near(name: str, names: Any) -> str:
    """Return a "did you mean" hint, or an empty string."""
    matches = difflib.get_close_matches(name, list(names), n=1, cutoff=0.7)
    return f"; did you mean {matches[0]!r}?" if matches else ""
