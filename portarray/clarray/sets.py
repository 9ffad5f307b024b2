"""Sets of values, by NumPy on the host view."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portarray.clarray.arguments import array_of
from portarray.clarray.array import Array
from portarray.clarray.dtypes import bfloat16
from portarray.clarray.engine.host import fill, place, served, view
from portarray.clarray.engine.operands import Operand, pair

__all__ = [
    "UniqueAllResult",
    "UniqueCountsResult",
    "UniqueInverseResult",
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

NumpyArray = np.ndarray[Any, Any]

_INDEX = np.dtype(np.int64)


class UniqueAllResult(NamedTuple):
    """What :func:`unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What :func:`unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What :func:`unique_inverse` returns."""

    values: Array
    inverse_indices: Array


@served
def isin(x1: Operand, x2: Operand, /, *, invert: bool = False) -> Array:
    """Test for each element of one array whether another array contains it.

    Computed by the host.

    Parameters
    ----------
    x1 : Array or Python scalar
        Elements to look for.
    x2 : Array or Python scalar
        Array, of any shape, to look in. At least one of the two is an array. They are promoted
        together.
    invert : bool, default: False
        Whether to answer "is not in" instead.

    Returns
    -------
    Array
        Boolean array of the shape of ``x1``, 0-d for a scalar. NaN is in no array; 0.0 is -0.0.

    Raises
    ------
    TypeError
        If none is an array, one is neither array nor scalar, or no dtype holds both.
    OverflowError
        If an integer scalar does not fit into the array's dtype.
    ValueError
        If the arrays are on two devices.
    """
    first, second, dtype = pair(x1, x2, "isin")
    device = next(one.device for one in (first, second) if isinstance(one, Array))
    # bfloat16 goes into float32 without loss, and NumPy sorts that.
    compared: np.dtype[Any] = np.dtype(np.float32) if dtype == bfloat16 else dtype
    with np.errstate(over="ignore"):  # a scalar too large for the dtype is infinite
        elements, members = (
            view(one).astype(compared, copy=False)
            if isinstance(one, Array)
            else np.asarray(one, compared)
            for one in (first, second)
        )

    def test(out: NumpyArray) -> None:
        out[...] = np.isin(elements, members, invert=invert)

    return fill(elements.shape, np.dtype(np.bool_), device, test)


@served
def unique_all(x: Array, /) -> UniqueAllResult:
    """Return the unique elements with their places, what rebuilds the array, and their counts.

    Computed by the host.

    Parameters
    ----------
    x : Array
        Of any shape and dtype; it is read as if flattened.

    Returns
    -------
    UniqueAllResult
        Named tuple ``(values, indices, inverse_indices, counts)``: the unique elements in
        ascending order (1-d, dtype of ``x``), the index of the first occurrence of each in
        flattened ``x``, the index into ``values`` for each element (shape of ``x``), and how often
        each occurs. The last three are int64.

    Raises
    ------
    TypeError
        If ``x`` is no array.

    Notes
    -----
    Each NaN is an element of its own; 0.0 and -0.0 are one element.
    """
    x = array_of(x, "unique_all")
    values, indices, inverse, counts = np.unique(
        _comparable(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    return UniqueAllResult(
        place(values, x.device, x.dtype),
        place(indices, x.device, _INDEX),
        place(inverse.reshape(x.shape), x.device, _INDEX),
        place(counts, x.device, _INDEX),
    )


@served
def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Return the unique elements and how often each occurs.

    Computed by the host.

    Parameters
    ----------
    x : Array
        Of any shape and dtype; it is read as if flattened.

    Returns
    -------
    UniqueCountsResult
        Named tuple ``(values, counts)`` of two 1-d arrays: the unique elements in ascending order,
        in the dtype of ``x``, and their counts, int64.

    Raises
    ------
    TypeError
        If ``x`` is no array.

    Notes
    -----
    Each NaN is an element of its own; 0.0 and -0.0 are one element.
    """
    x = array_of(x, "unique_counts")
    values, counts = np.unique(_comparable(x), return_counts=True, equal_nan=False)
    return UniqueCountsResult(place(values, x.device, x.dtype), place(counts, x.device, _INDEX))


@served
def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Return the unique elements and the indices that rebuild the array from them.

    Computed by the host.

    Parameters
    ----------
    x : Array
        Of any shape and dtype; it is read as if flattened.

    Returns
    -------
    UniqueInverseResult
        Named tuple ``(values, inverse_indices)``: the unique elements in ascending order (1-d,
        dtype of ``x``) and int64 indices of the shape of ``x``: ``values[inverse_indices]`` is
        ``x``.

    Raises
    ------
    TypeError
        If ``x`` is no array.

    Notes
    -----
    Each NaN is an element of its own; 0.0 and -0.0 are one element.
    """
    x = array_of(x, "unique_inverse")
    values, inverse = np.unique(_comparable(x), return_inverse=True, equal_nan=False)
    return UniqueInverseResult(
        place(values, x.device, x.dtype), place(inverse.reshape(x.shape), x.device, _INDEX)
    )


@served
def unique_values(x: Array, /) -> Array:
    """Return the unique elements.

    Computed by the host.

    Parameters
    ----------
    x : Array
        Of any shape and dtype; it is read as if flattened.

    Returns
    -------
    Array
        1-d array of the dtype of ``x``, in ascending order.

    Raises
    ------
    TypeError
        If ``x`` is no array.

    Notes
    -----
    Each NaN is an element of its own; 0.0 and -0.0 are one element.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> cl.unique_values(cl.asarray([2, 1, 2])).tolist()
    [1, 2]
    """
    x = array_of(x, "unique_values")
    return place(np.unique(_comparable(x), equal_nan=False), x.device, x.dtype)


def _comparable(x: Array) -> NumpyArray:
    """Return an array's elements in a dtype that NumPy sorts."""
    values = view(x)
    return values.astype(np.float32) if x.dtype == bfloat16 else values
