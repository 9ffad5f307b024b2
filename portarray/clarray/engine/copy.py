"""Copies, casts and fills."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from portarray.clarray.engine.copy_kernels import copy_elements, item_kernel, pieces
from portarray.clarray.engine.elementwise import apply
from portarray.clarray.engine.operation import Operation, every
from portarray.clarray.engine.overlap import overlap, same_elements
from portarray.clarray.layout import broadcast_strides, broadcasts_to, repeats
from portarray.clarray.strided import Array, empty

_IDENTITY = Operation("copy", every("a"))
_FILL = (np.int64, np.int64, np.int64, np.uint64, np.uint64)


def copy(x: Array) -> Array:
    """Return a new C-contiguous array with the same elements."""
    out = empty(x.shape, x.dtype, x.device)
    if 0 not in x.shape:
        copy_elements(out, x)
    return out


def contiguous(x: Array) -> Array:
    """Return the array itself if it is C-contiguous, else a copy."""
    return x if x.contiguous else copy(x)


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return a new array of another dtype."""
    return apply(_IDENTITY, (x,), dtype, dtype)


def assign(out: Array, value: Array | complex) -> None:
    """Write a value, broadcast and cast, into an array. The two may overlap in memory."""
    if not isinstance(value, Array):
        fill(out, value)
        return
    shape, target = value.shape, out.shape
    if shape != target:
        if not broadcasts_to(shape, target):
            raise ValueError(
                f"assignment: shape {shape} cannot be broadcast to {target}, the shape of the "
                f"target"
            )
        value = value.view(target, broadcast_strides(shape, value.strides, target), value.offset)
    if 0 in target or (value.dtype == out.dtype and same_elements(out, value)):
        return
    if repeats(target, out.strides):
        raise ValueError(
            f"assignment: several elements of the target of shape {target} share memory, as after "
            f"broadcast_to\nHint: copy it first"
        )
    if overlap(out, value):
        value = copy(value)
    if value.dtype == out.dtype:
        copy_elements(out, value)
    else:
        apply(_IDENTITY, (value,), out.dtype, out.dtype, out=out)


def fill(out: Array, value: complex) -> None:
    """Write a Python scalar that the dtype can hold into every element."""
    if 0 in out.shape:
        return
    if not out.contiguous:
        scalar = empty((), out.dtype, out.device)
        fill(scalar, value)
        copy_elements(out, scalar.view(out.shape, (0,) * len(out.shape), 0))
        return
    device, itemsize = out.device, out.dtype.itemsize
    size = math.prod(out.shape)
    run, _, group = pieces(device, itemsize, size)
    kernel = item_kernel(device, itemsize, "fill", "fill", 1, _FILL)
    items = (-(-size // run), 1, 1)
    kernel.launch(items, group, (out.storage,), out.offset, size, run, *_halves(value, out.dtype))


def _halves(value: complex, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the bits of a value as two unsigned numbers of at most 64 bits."""
    # The cache compares by value, which does not tell 0.0 from -0.0, alone or in a complex number.
    if value and dtype.kind != "c":
        return _cached_bits(value, dtype)
    return _bits(value, dtype) if value or "-" in repr(value) else (0, 0)


@lru_cache(maxsize=256)
def _cached_bits(value: complex, dtype: np.dtype[Any]) -> tuple[int, int]:
    return _bits(value, dtype)


def _bits(value: complex, dtype: np.dtype[Any]) -> tuple[int, int]:
    with np.errstate(over="ignore"):  # overflow gives infinity
        bits = int.from_bytes(np.asarray(value).astype(dtype).tobytes(), sys.byteorder)
    return bits & 0xFFFF_FFFF_FFFF_FFFF, bits >> 64
