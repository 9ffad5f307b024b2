"""What Python's objects mean in kernels: numbers, tuples of them, dtypes and functions."""

from __future__ import annotations

import ast
import difflib
from types import ModuleType
from typing import Any

import numpy as np

from portarray._dtypes import promotion
from portarray._kernel_language import tree, types
from portarray._kernel_language.scope import Value, Wrong
from portarray._kernel_language.types import Constant, DType, Tuple
from portarray._kernel_language.words import Helper


def given(node: ast.AST, value: Any) -> Value:
    """Return what a Python object means in a kernel; NumPy's scalars have their dtypes."""
    if isinstance(value, np.generic) and is_number(value):
        return tree.Literal(node, types.strong(value.dtype), value.item())
    if isinstance(value, (bool, int, float)):
        if isinstance(value, int) and value.bit_length() > 64:
            raise Wrong(node, f"{value} does not fit 64 bits")
        return tree.Literal(node, types.of_python(value), value)
    if isinstance(value, tuple) and value and all(is_number(one) for one in value):
        items = [given(node, one) for one in value]
        return tree.Items(node, Tuple(tuple(one.type for one in items)), items)  # type: ignore[union-attr, misc, arg-type]
    if isinstance(value, complex):
        raise Wrong(node, "complex numbers are not in the kernel language yet")
    return Constant(value)


def known_value(x: tree.Expr) -> Any:
    """Return a value that is known when the kernel is compiled, or None."""
    if isinstance(x, tree.Literal):
        return x.value
    if isinstance(x, tree.Items):
        values = [known_value(one) for one in x.items]
        return None if None in values else tuple(values)
    return None


def plain(value: Any) -> Any:
    """Return Python's numbers for NumPy's, in tuples too."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.item() if isinstance(value, np.generic) and is_number(value) else value


def is_number(value: Any) -> bool:
    """Tell whether a kernel has such numbers."""
    if isinstance(value, np.generic):
        return promotion.kind_of(value.dtype) in ("b", "i", "u", "f")
    return isinstance(value, (bool, int, float))


def dtype_of(value: Any) -> DType | None:
    """Return the dtype that a constant is, as ``pa.float32`` or ``numpy.float32``."""
    if isinstance(value, np.dtype):  # which may equal int and float
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value)
    return None


def usable(value: Any) -> bool:
    """Tell whether a kernel can use what a name around it stands for."""
    return (
        isinstance(value, (ModuleType, np.dtype, str, np.ufunc))
        or value is None
        or callable(value)
        or isinstance(value, Helper)
    )


def described(value: Any) -> str:
    """Return what kind of thing a value is, for errors."""
    kind = type(value)
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    return f"{article} {kind.__module__}.{kind.__name__}".replace("builtins.", "")


def near(name: str, known: Any) -> str:
    """Return a hint at the name that a misspelled one may mean."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"; did you mean {found[0]!r}?" if found else ""
