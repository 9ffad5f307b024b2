"""Checks of arguments, and calls of NumPy's LAPACK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portarray.clarray.arguments import array_of
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine import host
from portarray.clarray.strided import Array


def matrices(x: object, function: str, name: str = "x", *, integers: bool = False) -> Array:
    """Return an argument that must be an array of matrices with a floating-point dtype."""
    array = array_of(x, function, name)
    kinds = ("real", "complex", "signed", "unsigned") if integers else ("real", "complex")
    if kind_of(array.dtype) not in kinds:
        raise TypeError(
            f"{function} takes floating-point arrays, but {name} is of dtype {array.dtype}\n"
            f"Hint: convert it with astype first"
        )
    if array.ndim < 2:
        raise ValueError(
            f"{function} takes arrays of two or more axes, but {name} has shape {array.shape}"
        )
    return array


def square(x: object, function: str, name: str = "x", *, integers: bool = False) -> Array:
    """Return an argument that must be an array of square matrices; see :func:`matrices`."""
    array = matrices(x, function, name, integers=integers)
    if array.shape[-1] != array.shape[-2]:
        raise ValueError(
            f"{function} takes square matrices, but {name} has shape {array.shape}, "
            f"whose last two sizes differ"
        )
    return array


def on_host(function: Callable[..., Any], *arrays: Array) -> Any:
    """Return the results of a function of NumPy arrays; 16-bit dtypes compute in float32."""
    dtype = arrays[0].dtype
    halves = dtype.itemsize == 2
    return host.run(
        lambda *views: function(*map(host.full, views)), *arrays, dtype=dtype if halves else None
    )
