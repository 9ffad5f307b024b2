"""Where numbers are drawn: by kernels if the device runs kernels, else by standard functions.

Both give the same numbers, which depend on the key and the position alone, so that any part of a
draw can be made by itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from portarray._api.creation.filled import empty
from portarray._api.creation.ranges import arange
from portarray._api.data_type import astype
from portarray._api.manipulation.joining import concat
from portarray._array import dispatch, native_arrays
from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language.decorator import why_not
from portarray.random import programs
from portarray.random.threefry import threefry

if TYPE_CHECKING:
    import numpy as np

    from portarray._devices.device import Device
    from portarray._kernel_language.kernel import Kernel

__all__ = ["Block", "Draw", "at", "block"]


class Draw(NamedTuple):
    """A kind of random numbers: what makes them, and of which dtype they are then."""

    kernel: Kernel
    formula: Callable[..., Array]
    dtype: np.dtype[Any]
    values: tuple[float, ...] = ()
    parts: int = 0  # numbers for each position, along a last axis; 0 for one without
    counters: int = 1  # random words are made of so many counters for each position


class Block(NamedTuple):
    """A part of an array: the array's shape, where the part begins, and the part's shape.

    Functions that draw numbers take it for a shape, and return the part of the array.
    """

    whole: tuple[int, ...]
    start: tuple[int, ...]
    shape: tuple[int, ...]


class Rows(NamedTuple):
    """Rows of ``length`` positions each, with a gap between; without length there is but one."""

    length: int
    gap: int


_ONE = Rows(0, 0)
_LARGEST = 2**30
"""Numbers in one launch of a kernel."""

_BLOCK = 2**15
"""Numbers that the standard's functions make at a time on a CPU: they stay in its cache."""

_FEW = 2**13
_SEVERAL = 500
"""What it takes on a CPU to start the compiler of kernels, which lasts half a second: numbers of
one draw, or draws of fewer."""

_started: set[Device] = set()
_waited: Counter[Device] = Counter()


def at(draw: Draw, key: Array, start: int, count: int, rows: Rows = _ONE) -> Array:
    """Return the numbers at the positions from ``start`` on of the draw with a key, in one axis."""
    if count == 0:
        return empty(_shape(draw, 0), dtype=draw.dtype, device=key.device)
    traced = native_arrays.is_traced(key)
    if not traced and _runs_kernels(draw, key.device, count):
        made, size = _by_kernel, _LARGEST
    elif not traced and key.device.platform == "cpu":
        # Powers of two: JAX compiles a program for each size.
        made, size = _by_formula, min(_BLOCK, 1 << (count - 1).bit_length())
    else:
        made, size = _by_formula, count
    if rows.length:  # parts are whole rows
        size = max(1, min(size, 2**32 // (rows.length + rows.gap)) // rows.length) * rows.length
    whole = size if made is _by_formula else 0
    parts = []
    for first in range(0, count, size):
        skipped = first // rows.length * rows.gap if rows.length else 0
        number = max(whole, min(size, count - first))
        parts.append(made(draw, key, start + first + skipped, number, rows))
    found = parts[0] if len(parts) == 1 else concat(parts, axis=0)
    return found if found.shape[0] == count else found[:count, ...]


def block(draw: Draw, key: Array, part: Block) -> Array:
    """Return the numbers of a part of an array, in one axis."""
    whole, begin, shape = ([*one] for one in part)
    while len(shape) > 1 and shape[-1] == whole[-1]:  # rows that lie together
        last = whole.pop()
        begin[-2:] = [begin[-2] * last]
        shape[-2:] = [shape[-2] * last]
        whole[-1] *= last
    strides = [math.prod(whole[axis + 1 :]) for axis in range(len(whole))]
    start = sum(i * stride for i, stride in zip(begin, strides, strict=True))
    count = math.prod(shape)
    if len(shape) < 2 or not count:
        return at(draw, key, start, count)
    rows = Rows(shape[-1], whole[-1] - shape[-1])
    parts = [
        at(
            draw,
            key,
            start + sum(i * stride for i, stride in zip(place, strides, strict=False)),
            shape[-2] * shape[-1],
            rows,
        )
        for place in product(*map(range, shape[:-2]))
    ]
    return parts[0] if len(parts) == 1 else concat(parts, axis=0)


def _shape(draw: Draw, count: int) -> tuple[int, ...]:
    return (count, draw.parts) if draw.parts else (count,)


def _runs_kernels(draw: Draw, device: Device, count: int) -> bool:
    if not config._tuned_kernels or config._kernel_debug:
        return False
    if draw.dtype == programs.F64 and dispatch.default_dtype(device, "f") != programs.F64:
        return False  # numbers are passed to a kernel in the default dtype
    if device in _started:
        return True
    if device.platform == "cpu" and count < _FEW and _waited[device] < _SEVERAL:
        _waited[device] += 1
        return False
    if why_not(device):
        return False
    _started.add(device)
    return True


def _by_kernel(draw: Draw, key: Array, start: int, count: int, rows: Rows) -> Array:
    high, low = divmod(start, 2**32)
    out = empty(_shape(draw, count), dtype=draw.dtype, device=key.device)
    given = bool(rows.length), *rows, *draw.values
    found: Array = draw.kernel(out, key, high, low, *given, ndrange=(count,))
    return found


def _by_formula(draw: Draw, key: Array, start: int, count: int, rows: Rows) -> Array:
    high, low = divmod(start, 2**32)
    c1 = arange(count, dtype=programs.U32, device=key.device)
    c0: Any = high
    last = count - 1
    if rows.length:
        c1 = c1 + c1 // rows.length * rows.gap
        last += last // rows.length * rows.gap
    if low + last >= 2**32:
        c1 = c1 + low
        c0 = astype(c1 < low, programs.U32) + high
    elif low:
        c1 = c1 + low
    k0, k1 = key[0], key[1]
    words = threefry(k0, k1, c0, c1)
    if draw.counters == 2:
        words = (*words, threefry(k0, k1, c0 | programs.SECOND, c1)[0])
    return draw.formula(*words, *draw.values)
