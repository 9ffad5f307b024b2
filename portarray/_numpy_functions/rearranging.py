"""Array manipulation: splitting, order of elements, padding."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

import portarray as pa
from portarray._numpy_functions.common import axes_of, flat, index_array, joined
from portarray._numpy_functions.manipulation import size, swapaxes
from portarray._numpy_functions.table import chapter

serves = chapter("Array manipulation")


# --- splitting ---------------------------------------------------------------------------------


@serves()
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    (axis,) = axes_of(ary, axis)
    n = ary.shape[axis]
    if np.ndim(indices_or_sections):
        ends = [operator.index(one) for one in indices_or_sections]
    else:
        ends = [len(one) for one in np.array_split(np.empty(n), indices_or_sections)]
        ends = list(itertools.accumulate(ends))[:-1]
    before = (slice(None),) * axis
    return [ary[(*before, slice(*pair))] for pair in itertools.pairwise((0, *ends, n))]


@serves()
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if not np.ndim(indices_or_sections) and size(ary, axis) % indices_or_sections:
        raise ValueError(
            f"{size(ary, axis)} elements along axis {axis} are not divided by "
            f"{indices_or_sections}; use np.array_split"
        )
    return array_split(ary, indices_or_sections, axis)


@serves()
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@serves()
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 0)


@serves()
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return split(ary, indices_or_sections, 2)


@serves()
def unstack(x: Any, axis: int = 0) -> Any:
    return pa.unstack(x, axis=axis)


# --- order of elements -------------------------------------------------------------------------


@serves()
def flip(m: Any, axis: Any = None) -> Any:
    return pa.flip(m, axis=axis)


@serves()
def fliplr(m: Any) -> Any:
    return pa.flip(m, axis=1)


@serves()
def flipud(m: Any) -> Any:
    return pa.flip(m, axis=0)


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


@serves()
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return pa.roll(a, shift, axis=axis)


@serves(order="filt trim axis")
def trim_zeros(filt: Any, trim: str = "fb") -> Any:
    if filt.ndim != 1:
        raise TypeError(f"trim_zeros takes vectors here, and this array has {filt.ndim} axes")
    (places,) = pa.nonzero(filt)
    if not places.size:
        return filt[:0]
    first = int(places[0]) if "f" in trim.lower() else 0
    last = int(places[-1]) + 1 if "b" in trim.lower() else filt.shape[0]
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
    for axis, (before, after) in enumerate(widths):
        if mode in ("constant", "empty"):
            array = joined(
                (
                    _block(array, axis, before, values[axis][0]),
                    array,
                    _block(array, axis, after, values[axis][1]),
                ),
                axis,
            )
        elif mode in ("edge", "reflect", "symmetric", "wrap") and reflect_type == "even":
            places = np.pad(np.arange(array.shape[axis]), (before, after), mode=mode)
            array = pa.take(array, index_array(places, array), axis=axis)
        else:
            raise TypeError(
                f"mode={mode!r}, reflect_type={reflect_type!r}: use mode= constant, edge, reflect, "
                f"symmetric or wrap, and reflect_type= even"
            )
    return array


def _pairs(value: Any, ndim: int) -> Any:
    if isinstance(value, dict):
        found = [(0, 0)] * ndim
        for axis, pair in value.items():
            found[axis] = tuple(np.broadcast_to(pair, (2,)).tolist())
        return found
    return np.broadcast_to(np.asarray(value), (ndim, 2)).tolist()


def _block(x: Any, axis: int, length: int, value: Any) -> Any:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    return pa.full(shape, value, dtype=x.dtype, device=x.device)


@serves("lib.stride_tricks.sliding_window_view", order="x window_shape axis")
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    lengths = tuple(window_shape) if np.ndim(window_shape) else (window_shape,)
    axes = axes_of(x, axis)
    if len(lengths) != len(axes):
        raise ValueError(f"window_shape={window_shape} has not one length for each of axes {axes}")
    for place, length in zip(axes, lengths, strict=True):
        count = x.shape[place] - length + 1
        if count < 1 or length < 0:
            raise ValueError(f"a window of {length} does not fit {x.shape[place]} elements")
        places = index_array(np.arange(count)[:, None] + np.arange(length), x)
        taken = pa.take(x, flat(places), axis=place)
        shape = (*x.shape[:place], count, length, *x.shape[place + 1 :])
        x = pa.moveaxis(pa.reshape(taken, shape), place + 1, -1)
    return x
