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
    found = array_of(x, function, name)
    kinds = ("real", "complex", "signed", "unsigned") if integers else ("real", "complex")
    if kind_of(found.dtype) not in kinds:
        raise TypeError(
            f"{function} takes floating-point arrays, but {name} is of dtype {found.dtype}; "
            f"convert it with astype first"
        )
    if found.ndim < 2:
        raise ValueError(
            f"{function} takes arrays of two or more axes, but {name} has shape {found.shape}"
        )
    return found


def square(x: object, function: str, name: str = "x", *, integers: bool = False) -> Array:
    """Return an argument that must be an array of square matrices; see :func:`matrices`."""
    found = matrices(x, function, name, integers=integers)
    if found.shape[-1] != found.shape[-2]:
        raise ValueError(
            f"{function} takes square matrices, but {name} has shape {found.shape}, "
            f"whose last two sizes differ"
        )
    return found


def on_host(function: Callable[..., Any], *arrays: Array) -> Any:
    """Return the results of a function of NumPy arrays; 16-bit dtypes compute in float32."""
    dtype = arrays[0].dtype
    halves = dtype.itemsize == 2
    return host.run(
        lambda *views: function(*map(host.full, views)), *arrays, dtype=dtype if halves else None
    )
