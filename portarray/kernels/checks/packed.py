"""Checks of packed matrices and of products with them."""

from __future__ import annotations

from typing import Any, NamedTuple

from portarray._array import array as _array
from portarray.kernels.checks import common
from portarray.kernels.checks.common import Arrays, Options, misfit


class _Shaped(NamedTuple):
    shape: tuple[int, ...]


def packed_linear(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array and a bias for a packed matrix, which is valid."""
    x, bias, data, _ = arrays
    common.floating("linear", "x", x)
    matrix = _Shaped(options["layout"].shape(data.shape))
    if x.ndim == 0 or x.shape[-1] != matrix.shape[1]:
        raise misfit("linear", "x must be (..., in) and weight (out, in)", x=x, weight=matrix)
    common.bias("linear", x, matrix, matrix.shape[0], bias)


def packed_embedding(name: str, arrays: Arrays, options: Options) -> None:
    """Check the indices of rows of a packed table."""
    common.integers("embedding", "indices", arrays[0])


def activations(value: str, weight: Any) -> None:
    """Check the dtype that a product with a packed weight rounds its other factor to."""
    if value != "int8":
        raise ValueError(f"linear: unsupported activations={value!r}; supported: 'int8' and None")
    if type(weight) is _array.Array:
        raise ValueError(f"linear: activations={value!r} needs a packed weight")


def in_blocks(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array whose last axis is cut into groups of 32."""
    common.floating("linear", "x", arrays[0])
    if arrays[0].ndim == 0 or arrays[0].shape[-1] % 32:
        rule = "with a packed weight the last axis must be a multiple of 32"
        raise misfit("linear", rule, x=arrays[0])


def matrix(name: str, x: Any) -> None:
    """Check a matrix of floating-point numbers."""
    common.floating(name, "x", x)
    if x.ndim != 2:
        raise misfit(name, "it must be a matrix, (out, in)", x=x)
