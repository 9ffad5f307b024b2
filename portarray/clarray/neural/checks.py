"""Checks of arguments of neural network functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.arguments import array_of
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.strided import Array

DType = np.dtype[Any]

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def real(x: object, function: str, name: str = "x") -> Array:
    """Return an argument that must be an array of a real floating-point dtype."""
    array = array_of(x, function, name)
    if kind_of(array.dtype) != "real":
        raise TypeError(
            f"{function} takes arrays of a real floating-point dtype, but {name} has "
            f"{array.dtype}\nHint: convert it with astype first"
        )
    return array


def integers(x: object, function: str, name: str) -> Array:
    """Return an argument that must be an array of integers."""
    array = array_of(x, function, name)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"{function} takes {name} of an integer dtype, got {array.dtype}\n"
            f"Hint: convert it with "
            f"astype first"
        )
    return array


def matching(value: object, x: Array, function: str, name: str, *, dtype: bool = True) -> Array:
    """Return an argument that must be an array with the dtype and device of another."""
    array = array_of(value, function, name)
    if dtype and array.dtype != x.dtype:
        raise TypeError(
            f"{function} takes arrays of one dtype, but {name} has {array.dtype} and x has "
            f"{x.dtype}\nHint: convert one with astype"
        )
    if array.device is not x.device:
        raise ValueError(
            f"{function} got arrays on {x.device} and on {array.device}\n"
            f"Hint: move one with x.to_device(device)"
        )
    return array


def vector(value: object, x: Array, function: str, name: str) -> Array:
    """Return an argument that must be a vector of the length of the last axis of ``x``."""
    array = matching(value, x, function, name)
    if array.shape != x.shape[-1:]:
        raise ValueError(
            f"{function} needs {name} of shape {x.shape[-1:]} for x of shape {x.shape}, "
            f"got {array.shape}"
        )
    return array


def within(indices: Array, size: int, name: str, ignored: int | None = None) -> None:
    """Wait, and raise unless indices are from 0 to below ``size``, or equal to ``ignored``."""
    values = to_numpy(indices)
    # Negative indices are large as unsigned numbers: above all of their dtype.
    bound = min(size, np.iinfo(values.dtype).max + 1)
    if not values.size or values.view(_UNSIGNED[values.itemsize]).max() < bound:
        return
    outside = (values < 0) | (values >= size)
    if ignored is not None:
        outside &= values != ignored
    if outside.any():
        raise IndexError(
            f"{name} {values[outside][0]} is out of bounds: there are {size}, counted from 0"
        )
