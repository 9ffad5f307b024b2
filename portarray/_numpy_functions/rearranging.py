"""Array manipulation: splitting, order of elements, padding."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray._namespace import pa
from portarray._numpy_functions.common import axes_of, flat, index_array, joined
from portarray._numpy_functions.manipulation import size, swapaxes
from portarray._numpy_functions.table import category

serves = category("Array manipulation")


# --- splitting ---------------------------------------------------------------------------------


@serves()
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    (axis,) = axes_of(ary, axis)
    n = ary.shape[axis]
    if np.ndim(indices_or_sections):
        ends = [operator.index(part) for part in indices_or_sections]
    else:
        ends = [len(part) for part in np.array_split(np.empty(n), indices_or_sections)]
        ends = list(itertools.accumulate(ends))[:-1]
    leading = (slice(None),) * axis
    return [ary[(*leading, slice(*pair))] for pair in itertools.pairwise((0, *ends, n))]


@serves()
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if not np.ndim(indices_or_sections) and size(ary, axis) % indices_or_sections:
        raise ValueError(
            f"split: {size(ary, axis)} elements along axis {axis} are not divisible by "
            f"{indices_or_sections}\nHint: use np.array_split"
        )
    return array_split(ary, indices_or_sections, axis)


@serves()
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


# --- order of elements -------------------------------------------------------------------------


@serves()
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    first, second = axes_of(m, tuple(axes))
    if k % 4 == 0:
        return m.copy()
    if k % 4 == 2:
        return pa.flip(m, axis=(first, second))
    if k % 4 == 1:
        return swapaxes(pa.flip(m, axis=second), first, second)
    return pa.flip(swapaxes(m, first, second), axis=second)


@serves(order="filt trim axis")
def trim_zeros(filt: Any, trim: str = "fb") -> Any:
    if filt.ndim != 1:
        raise TypeError(f"trim_zeros: the array has {filt.ndim} axes, and only 1 is supported")
    (positions,) = pa.nonzero(filt)
    if not positions.size:
        return filt[:0]
    first = int(positions[0]) if "f" in trim.lower() else 0
    last = int(positions[-1]) + 1 if "b" in trim.lower() else filt.shape[0]
    return filt[first:last]


@serves()
def pad(
    array: Any,
    pad_width: Any,
    mode: Any = "constant",
    *,
    constant_values: Any = 0,
    reflect_type: str = "even",
) -> Any:
    widths: Any = _pairs(pad_width, array.ndim)
    values: Any = _pairs(constant_values, array.ndim)
    for axis, (leading, trailing) in enumerate(widths):
        if mode in ("constant", "empty"):
            array = joined(
                (
                    _block(array, axis, leading, values[axis][0]),
                    array,
                    _block(array, axis, trailing, values[axis][1]),
                ),
                axis,
            )
        elif mode in ("edge", "reflect", "symmetric", "wrap") and reflect_type == "even":
            index = np.pad(np.arange(array.shape[axis]), (leading, trailing), mode=mode)
            array = pa.take(array, index_array(index, array), axis=axis)
        else:
            raise TypeError(
                f"pad: mode={mode!r}, reflect_type={reflect_type!r} is not supported; supported: "
                f"mode= constant, edge, reflect, symmetric or wrap, and reflect_type= even"
            )
    return array


def _pairs(value: Any, ndim: int) -> Any:
    if isinstance(value, dict):
        pairs = [(0, 0)] * ndim
        for axis, pair in value.items():
            pairs[axis] = tuple(np.broadcast_to(pair, (2,)).tolist())
        return pairs
    return np.broadcast_to(np.asarray(value), (ndim, 2)).tolist()


def _block(x: Any, axis: int, length: int, value: Any) -> Any:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    return pa.full(shape, value, dtype=x.dtype, device=x.device)


@serves("lib.stride_tricks.sliding_window_view", order="x window_shape axis")
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    lengths = tuple(window_shape) if np.ndim(window_shape) else (window_shape,)
    axes = axes_of(x, axis)
    if len(lengths) != len(axes):
        raise ValueError(
            f"sliding_window_view: {len(lengths)} lengths in window_shape for {len(axes)} axes"
        )
    for position, length in zip(axes, lengths, strict=True):
        count = x.shape[position] - length + 1
        if count < 1 or length < 0:
            raise ValueError(f"a window of {length} does not fit {x.shape[position]} elements")
        index = index_array(np.arange(count)[:, None] + np.arange(length), x)
        taken = pa.take(x, flat(index), axis=position)
        shape = (*x.shape[:position], count, length, *x.shape[position + 1 :])
        x = pa.moveaxis(pa.reshape(taken, shape), position + 1, -1)
    return x


# Functions of one expression.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "dsplit": lambda ary, indices_or_sections: split(ary, indices_or_sections, 2),
    "flip": lambda m, axis=None: pa.flip(m, axis=axis),
    "fliplr": lambda m: pa.flip(m, axis=1),
    "flipud": lambda m: pa.flip(m, axis=0),
    "roll": lambda a, shift, axis=None: pa.roll(a, shift, axis=axis),
    "unstack": lambda x, axis=0: pa.unstack(x, axis=axis),
    "vsplit": lambda ary, indices_or_sections: split(ary, indices_or_sections, 0),
}
for _name, _function in _FUNCTIONS.items():
    serves(_name)(_function)
