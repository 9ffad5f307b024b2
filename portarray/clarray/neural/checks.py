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
    found = array_of(x, function, name)
    if kind_of(found.dtype) != "real":
        raise TypeError(
            f"{function} takes arrays of a real floating-point dtype, but {name} has "
            f"{found.dtype}; convert it with astype first"
        )
    return found


def integers(x: object, function: str, name: str) -> Array:
    """Return an argument that must be an array of integers."""
    found = array_of(x, function, name)
    if found.dtype.kind not in "iu":
        raise TypeError(
            f"{function} takes {name} of an integer dtype, got {found.dtype}; convert it with "
            f"astype first"
        )
    return found


def matching(other: object, x: Array, function: str, name: str, *, dtype: bool = True) -> Array:
    """Return an argument that must be an array with the dtype and device of another."""
    found = array_of(other, function, name)
    if dtype and found.dtype != x.dtype:
        raise TypeError(
            f"{function} takes arrays of one dtype, but {name} has {found.dtype} beside "
            f"{x.dtype}; convert one with astype"
        )
    if found.device is not x.device:
        raise ValueError(
            f"{function} got arrays on {x.device} and on {found.device}; "
            f"move one with x.to_device(device)"
        )
    return found


def vector(other: object, x: Array, function: str, name: str) -> Array:
    """Return an argument that must be a vector of the length of the last axis of ``x``."""
    found = matching(other, x, function, name)
    if found.shape != x.shape[-1:]:
        raise ValueError(
            f"{function} needs {name} of shape {x.shape[-1:]} for x of shape {x.shape}, "
            f"got {found.shape}"
        )
    return found


def within(indices: Array, size: int, what: str, ignored: int | None = None) -> None:
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
            f"{what} {values[outside][0]} is out of bounds: there are {size}, counted from 0"
        )
