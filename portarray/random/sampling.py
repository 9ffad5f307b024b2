"""Choices and permutations of what is there already."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._api import arguments
from portarray._api.constants import inf
from portarray._api.creation.ranges import arange
from portarray._api.data_type import astype
from portarray._api.indexing import take
from portarray._api.manipulation.shapes import reshape
from portarray._api.rounding import round
from portarray._api.searching import count_nonzero, searchsorted, where
from portarray._api.sorting import argsort
from portarray._api.statistical.cumulative import cumulative_sum
from portarray._api.statistical.totals import min, sum
from portarray._array import dispatch, dtypes, native_arrays
from portarray._array.array import Array
from portarray.errors import DeviceMismatchError
from portarray.random import distributions, drawing
from portarray.random.keys import WORDS, one_key
from portarray.random.numbers import exponential, integers

if TYPE_CHECKING:
    from collections.abc import Sequence

I64 = dtypes.STANDARD["int64"]


def permutation(key: Array, x: int | Array, *, axis: int = 0) -> Array:
    """Return an array in random order, all orders being equally probable.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    x : int or Array
        The array, or n for the integers below n.
    axis : int, default: 0
        The axis along which slices change their places.

    Returns
    -------
    Array
        A new array on the key's device.

    Raises
    ------
    TypeError
        If `x` is neither an integer nor an array with axes, or `key` is not a key.
    DeviceMismatchError
        If `x` is on another device than the key.
    AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.sort(pa.random.permutation(pa.random.key(0), 5)).tolist()
    [0, 1, 2, 3, 4]
    """
    key = one_key(key, "permutation")
    if type(x) is not Array:
        return _order(key, arguments.size(x, "x"))
    axis = _slices(key, x, axis, "permutation")
    return take(x, _order(key, x.shape[axis]), axis=axis)


def choice(
    key: Array,
    a: int | Array,
    shape: int | Sequence[int] = (),
    *,
    replace: bool = True,
    p: Array | None = None,
    axis: int = 0,
) -> Array:
    """Return random elements of an array.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    a : int or Array
        The array to choose from, or n for the integers below n.
    shape : int or sequence of int, default: ()
        Shape of what is chosen.
    replace : bool, default: True
        Whether an element may be chosen more than once.
    p : Array, optional
        The probability of each element, a floating-point array of one axis on the key's device with
        sum 1; by default all are equally probable.
    axis : int, default: 0
        The axis along which slices of `a` are chosen.

    Returns
    -------
    Array
        The chosen elements, or slices: the axes of `shape` stand in the place of `axis`.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If there are too few elements, or `p` is not a distribution on them.
    DeviceMismatchError
        If an array is on another device than the key.

    Notes
    -----
    Probabilities count in units of 2**-52, or of 2**-30 on devices without int64. They are checked,
    which waits for them, unless the library traces the function. Without replacement they divide
    exponential numbers, which are sorted: devices that round those differently may exchange two
    neighbours whose quotients are equal up to rounding.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([10, 20, 30])
    >>> pa.random.choice(pa.random.key(0), x, 2, p=pa.asarray([0.0, 1.0, 0.0])).tolist()
    [20, 20]
    """
    key = one_key(key, "choice")
    sizes = arguments.shape(shape)
    if type(a) is Array:
        axis = _slices(key, a, axis, "choice")
        count = a.shape[axis]
    else:
        count = arguments.size(a, "a")
    draws = math.prod(sizes)
    replace = arguments.flag(replace, "replace")
    if draws and not count:
        raise ValueError("choice: nothing to choose from; a must not be empty")
    if not replace and draws > count:
        raise ValueError(
            f"choice: {draws} elements from {count} with replace=False"
            f"\nHint: choose at most {count}, or pass replace=True"
        )
    if p is not None:
        _check_distribution(key, p, count, 1 if replace else draws)
    chosen = _chosen(key, count, draws, p, replace=replace)
    chosen_values = take(a, chosen, axis=axis) if type(a) is Array else chosen
    if len(sizes) == 1:
        return chosen_values
    outer = chosen_values.shape[:axis] if type(a) is Array else ()
    inner = chosen_values.shape[len(outer) + 1 :]
    return reshape(chosen_values, (*outer, *sizes, *inner))


def _chosen(key: Array, count: int, draws: int, p: Array | None, *, replace: bool) -> Array:
    """Return the chosen indices."""
    if not draws:
        return arange(0, dtype=dispatch.default_dtype(key.device, "i"), device=key.device)
    if p is None:
        return integers(key, 0, count, (draws,)) if replace else _order(key, count)[:draws]
    if not replace:
        # The smallest of exponential numbers with rates p: Efraimidis and Spirakis, "Weighted
        # random sampling with a reservoir", Information Processing Letters 97 (2006).
        times = exponential(key, (count,), dtype=p.dtype) / where(p > 0, p, 1.0)
        return argsort(where(p > 0, times, inf))[:draws]
    return _weighted(key, draws, p)


def _weighted(key: Array, draws: int, p: Array) -> Array:
    """Return random indices, each as often as its probability says.

    Probabilities become integers, whose sums are the same on every device, and 0 where they are 0.
    """
    x = drawing.at(WORDS, key, 0, draws)
    if p.dtype.itemsize == 2:
        p = astype(p, distributions.F32)
    if I64 in dispatch.dtypes_of(key.device):
        ends = cumulative_sum(astype(round(p * 2.0**52), I64))
        total = astype(ends[-1], distributions.U64)
        scaled = distributions.WIDE_INTEGERS.formula(
            x[:, 0], x[:, 1], x[:, 1] * 0, total & 0xFFFFFFFF, total >> 32
        )
        return searchsorted(ends, astype(scaled, I64), side="right")
    ends = cumulative_sum(astype(round(p * 2.0**30), distributions.U32), dtype=distributions.U32)
    total = ends[-1]
    scaled = distributions.INTEGERS.formula(x[:, 0], x[:, 1], total & 0xFFFF, total >> 16)
    return searchsorted(ends, scaled, side="right")


def _order(key: Array, count: int) -> Array:
    """Return the integers below a number in random order.

    By sorting 64 random bits for each: two are equal, and keep their order, once in 2**65 / n**2
    permutations.
    """
    integer = dispatch.default_dtype(key.device, "i")
    if distributions.U64 in dispatch.dtypes_of(key.device):
        draw = drawing.Draw(distributions.BITS64)
        return astype(argsort(drawing.at(draw, key, 0, count)), integer, copy=False)
    halves = drawing.at(WORDS, key, 0, count)
    low = argsort(halves[:, 1])
    return astype(take(low, argsort(take(halves[:, 0], low))), integer, copy=False)


def _slices(key: Array, x: Array, axis: int, function: str) -> int:
    """Return a nonnegative axis; check that the array has it and is on the key's device."""
    if x.device is not key.device:
        raise DeviceMismatchError(function, str(key.device), str(x.device))
    if not x.ndim:
        raise TypeError(
            f"{function}: expected an array with axes, not a 0-d array\nHint: pass int(x)"
        )
    return arguments.axis(axis, x) % x.ndim


def _check_distribution(key: Array, p: Any, count: int, needed: int) -> None:
    if type(p) is not Array:
        raise TypeError(
            f"choice: p={p!r} is not an array\nHint: pass pa.asarray(p, device=key.device)"
        )
    if p.device is not key.device:
        raise DeviceMismatchError("choice", str(key.device), str(p.device))
    if p.dtype.kind != "f":
        raise TypeError(f"choice: p has dtype {p.dtype}; probabilities must be float32 or float64")
    if p.shape != (count,):
        raise ValueError(
            f"choice: p has shape {p.shape}; it must have one probability for each of {count} items"
        )
    if native_arrays.is_traced(p):
        return
    least, total = float(min(p)), float(sum(p))
    if not least >= 0:
        raise ValueError(f"choice: p has {least}; probabilities must not be negative")
    if not abs(total - 1) <= math.sqrt(np.finfo(p.dtype).eps):
        raise ValueError(f"choice: p has sum {total}, not 1\nHint: pass p / pa.sum(p)")
    positive = int(count_nonzero(p))
    if positive < needed:
        raise ValueError(
            f"choice: {needed} elements with replace=False from {positive} of positive probability"
            f"\nHint: choose at most {positive}"
        )
