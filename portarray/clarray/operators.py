"""Implementations of operators and conversions; the methods of ``Array`` call these."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from portarray.clarray import linear_algebra, strided
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine import copy, elementwise, transfer
from portarray.clarray.engine.operands import pair, python_scalar, same_kind
from portarray.clarray.engine.operation import Operation
from portarray.clarray.exponential import power
from portarray.clarray.strided import Array

Method = Callable[[Array, Array | complex], Array]

_SCALARS = (bool, int, float, complex, np.generic)
_REFUSED = (np.ndarray, list, tuple)
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


def binary(operation: Operation, x: Array, y: Array | complex) -> Array:
    """Do ``x op other``."""
    if isinstance(y, Array) or _is_operand(y):
        return elementwise.binary(operation, x, y)
    return NotImplemented  # type: ignore[no-any-return]


def reflected(operation: Operation, x: Array, y: Array | complex) -> Array:
    """Do ``other op x``."""
    if _is_operand(y):
        return elementwise.binary(operation, y, x)
    return NotImplemented  # type: ignore[no-any-return]


def inplace(operation: Operation, x: Array, y: Array | complex) -> Array:
    """Do ``x op= other``, keeping the dtype and shape of ``x``.

    If both promote to a wider dtype of the same kind, the result is computed in it and cast back.
    """
    if not _is_operand(y):
        return NotImplemented  # type: ignore[no-any-return]
    if not isinstance(y, Array) or y.dtype is not x.dtype:
        _check_kind(operation.name, x, y)
    return elementwise.binary(operation, x, y, x)


def methods(operation: Operation) -> tuple[Method, Method, Method]:
    """Return an operation's operator method, its reflection, and the in-place one."""

    def forward(self: Array, y: Array | complex, /) -> Array:
        return binary(operation, self, y)

    def backward(self: Array, y: Array | complex, /) -> Array:
        return reflected(operation, self, y)

    def update(self: Array, y: Array | complex, /) -> Array:
        return inplace(operation, self, y)

    return forward, backward, update


def pow(x: Array, y: Array | complex) -> Array:
    """Do ``x ** other``."""
    return power(x, y) if _is_operand(y) else NotImplemented


def reflected_pow(x: Array, y: complex) -> Array:
    """Do ``other ** x``."""
    return power(y, x) if _is_operand(y) else NotImplemented


def inplace_pow(x: Array, y: Array | complex) -> Array:
    """Do ``x **= other``."""
    if not _is_operand(y):
        return NotImplemented  # type: ignore[no-any-return]
    _check_kind("pow", x, y)
    return power(x, y, x)


def matmul(x: Array, y: Array) -> Array:
    """Do ``x @ other``."""
    return linear_algebra.matmul(x, y) if _is_operand(y) else NotImplemented


def reflected_matmul(x: Array, y: Array) -> Array:
    """Do ``other @ x``."""
    return linear_algebra.matmul(y, x) if _is_operand(y) else NotImplemented


def inplace_matmul(x: Array, y: Array) -> Array:
    """Do ``x @= other``, keeping the dtype and shape of ``x``."""
    if not _is_operand(y):
        return NotImplemented  # type: ignore[no-any-return]
    _check_kind("matmul", x, y)
    result = linear_algebra.matmul(x, y)
    if result.shape != x.shape:
        raise ValueError(
            f"in-place matmul: the result has shape {result.shape}, x has shape {x.shape}\n"
            f"Hint: write x = x @ y"
        )
    copy.assign(x, result)
    return x


def _is_operand(y: object) -> bool:
    """Return whether an operand is handled here, not by its class."""
    return isinstance(y, (Array, *_SCALARS, *_REFUSED))


def _check_kind(name: str, x: Array, y: object) -> None:
    """Raise TypeError unless the result of ``x op other`` is of x's kind."""
    if isinstance(y, (Array, *_SCALARS)):
        _, _, dtype = pair(x, y, name)
        if same_kind(dtype, x.dtype):
            return
        raise TypeError(
            f"in-place {name}: the result has dtype {dtype}, x has dtype {x.dtype}\n"
            f"Hint: write x = x op y, or convert the operand first"
        )
    python_scalar(y, name)


def scalar(x: Array, function: str) -> Any:
    """Return the value of a 0-d array, for ``bool(x)`` and other conversions."""
    if x.shape:
        raise TypeError(
            f"{function}: only 0-d arrays convert to a scalar, got shape {x.shape}\n"
            f"Hint: index it, or reduce it with any, all or sum"
        )
    return x.item()


def index(x: Array) -> int:
    """Return the value of a 0-d integer array."""
    if kind_of(x.dtype) not in ("signed", "unsigned"):
        raise TypeError(
            f"only 0-d integer arrays are indices, got dtype {x.dtype}\n"
            f"Hint: convert it with int(x)"
        )
    return int(scalar(x, "operator.index"))


def transposed(x: Array, attribute: str) -> Array:
    """Return a view with the last two axes exchanged, for ``x.T`` and ``x.mT``."""
    if x.ndim < 2 or (x.ndim > 2 and attribute == "T"):
        raise ValueError(
            f"x.{attribute} needs {'two' if attribute == 'T' else 'two or more'} axes, got shape "
            f"{x.shape}\nHint: use permute_dims"
        )
    return strided.transposed(x)


def namespace(api_version: str | None) -> ModuleType:
    """Return the clarray module."""
    if api_version not in (None, *_VERSIONS):
        raise ValueError(
            f"clarray follows the array API standard {', '.join(_VERSIONS)}, not {api_version!r}"
        )
    return sys.modules[__package__]


def representation(x: Array) -> str:
    """Return the text of an array, formatted by NumPy."""
    text = np.array2string(transfer.to_numpy(x), separator=", ", prefix="Array(")
    shape = f", shape={x.shape}" if 0 in x.shape else ""
    return f"Array({text}{shape}, dtype={x.dtype})"
