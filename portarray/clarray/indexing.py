"""Indexing: views by basic keys, elements by integer arrays and masks, reading and writing."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from portarray.clarray.arguments import array_of, axis_of
from portarray.clarray.array import Array
from portarray.clarray.dtypes import bfloat16, kind_of
from portarray.clarray.engine.compaction import compress
from portarray.clarray.engine.copy import assign, cast
from portarray.clarray.engine.gather import Index, Places, gather, scatter, scatter_masked
from portarray.clarray.engine.keys import Key, apart, basic, from_start, full_mask
from portarray.clarray.engine.operands import one_device, python_scalar
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.layout import broadcast_shapes, broadcast_strides

__all__ = ["getitem", "item", "setitem", "take", "take_along_axis", "tolist"]

Shape: TypeAlias = tuple[int, ...]


def getitem(x: Array, key: Any) -> Array:
    """Return ``x[key]``.

    Parameters
    ----------
    x : Array
        What is indexed.
    key : index or tuple of indices
        Integers, slices of any step, None and Ellipsis give a view. Integer arrays, which
        broadcast together, and boolean arrays, which stand for the axes of their shape, give a new
        array, as in NumPy; both may be NumPy arrays.

    Returns
    -------
    Array
        A view of the same memory, or a new array where the key has arrays.

    Raises
    ------
    IndexError
        If an index is out of bounds, there are too many, or an array is no index or does not fit.
    ValueError
        If a slice has step 0, or an index array is on another device.
    """
    if type(key) is int and x.shape:  # for loops over the first axis
        offset = x.offset + from_start(key, 0, x.shape) * x.strides[0]
        return _view(x, x.shape[1:], x.strides[1:], offset)
    found = basic(x, key)
    if found is not None:
        return found
    mask = full_mask(x, key)
    if mask is not None and x.shape:
        return compress(mask, x)
    applied = Key(x, key)
    if not applied.indices:
        return _view(x, applied.shape, applied.strides, applied.offset)
    return gather(x, applied.places(x))


def _view(x: Array, shape: Shape, strides: Shape, offset: int) -> Array:
    """Return a view; one without elements begins where the array does, and so inside its memory."""
    return x.view(shape, strides, x.offset if 0 in shape else offset)


def setitem(x: Array, key: Any, value: Any) -> None:
    """Do ``x[key] = value``.

    Parameters
    ----------
    x : Array
        What is written to; views of the same memory see it.
    key : index or tuple of indices
        As for :func:`getitem`. Where index arrays name an element several times, any of its values
        stays.
    value : Array, Python scalar or NumPy scalar
        Broadcasts to the shape of ``x[key]`` and is cast to the dtype of ``x``. It may overlap
        ``x`` in memory.

    Raises
    ------
    IndexError
        As for :func:`getitem`; nothing was written then.
    TypeError
        If the value is complex and ``x`` is not, or neither array nor scalar.
    ValueError
        If the value does not broadcast, is on another device, or is a NaN for integers.
    OverflowError
        If an integer, or an infinity, does not fit into an integer dtype.
    """
    if isinstance(value, Array):
        one_device("assignment", x, value)
        if value.dtype.kind == "c" and x.dtype.kind != "c":
            raise TypeError(
                f"complex values cannot be assigned into a {x.dtype} array; take real(value) first"
            )
    else:
        value = _scalar(value, x.dtype)
    target = basic(x, key)
    if target is not None:
        assign(target, _fitted(value, target.shape) if isinstance(value, Array) else value)
        return
    if not isinstance(value, Array) or not value.ndim:
        mask = full_mask(x, key)
        if mask is not None:
            scatter_masked(x, apart(mask, x), _values(value, x))
            return
    applied = Key(x, key)
    if not applied.indices:
        target = _view(x, applied.shape, applied.strides, applied.offset)
        assign(target, _fitted(value, target.shape) if isinstance(value, Array) else value)
        return
    places = applied.places(x, into=True)
    scatter(x, places, _fitted(_values(value, x), places.shape))


def _values(value: Any, x: Array) -> Array:
    """Return what is assigned as array of the dtype of ``x`` that shares no memory with it."""
    if not isinstance(value, Array):
        with np.errstate(over="ignore"):  # what is too large for the dtype is infinite
            return from_numpy(np.asarray(value, x.dtype), x.device)
    return apart(value, x) if value.dtype == x.dtype else cast(value, x.dtype)


def _fitted(value: Array, shape: Shape) -> Array:
    """Return what is assigned without axes of length 1 that the target lacks.

    Raises
    ------
    ValueError
        If it does not broadcast to the target.
    """
    if value.shape == shape:
        return value
    extra = max(value.ndim - len(shape), 0)
    if value.shape[:extra] == (1,) * extra:
        value = value.view(value.shape[extra:], value.strides[extra:], value.offset)
        if all(
            size in (1, wanted)
            for size, wanted in zip(reversed(value.shape), reversed(shape), strict=False)
        ):
            return value
    raise ValueError(
        f"an array of shape {value.shape} cannot be assigned to elements of shape {shape}: it does "
        f"not broadcast to it"
    )


def _scalar(value: object, dtype: np.dtype[Any]) -> complex:
    """Return a number to assign as Python scalar of a dtype's kind."""
    number = python_scalar(value, "assignment")
    kind = kind_of(dtype)
    if isinstance(number, complex) and kind != "complex":
        raise TypeError(
            f"the complex number {number} cannot be assigned into a {dtype} array; "
            f"take its real part first"
        )
    if kind == "bool":
        return bool(number)
    if kind == "complex":
        return complex(number)
    assert not isinstance(number, complex)
    if kind == "real":
        return float(number)
    found = int(number)  # NaN and infinities say themselves that they are no integers
    limits = np.iinfo(dtype)
    if not limits.min <= found <= limits.max:
        raise OverflowError(
            f"{number!r} is out of bounds for {dtype}, which holds {limits.min} to {limits.max}"
        )
    return found


def item(x: Array) -> bool | int | float | complex:
    """Return the one element of an array as Python scalar.

    Raises
    ------
    ValueError
        If there is not exactly one.
    """
    if x.size != 1:
        raise ValueError(
            f"only an array of one element is a scalar; this one has shape {x.shape}: index it "
            f"first, or use tolist()"
        )
    found: bool | int | float | complex = _plain(x).item()
    return found


def tolist(x: Array) -> Any:
    """Return an array's elements as nested lists of Python scalars; of a 0-d array its element."""
    return _plain(x).tolist()


def _plain(x: Array) -> np.ndarray[Any, Any]:
    """Return an array's elements in a dtype that has a Python form: bfloat16 as float32."""
    values = to_numpy(x)
    return values.astype(np.float32) if values.dtype == bfloat16 else values


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements at given indices along an axis.

    Parameters
    ----------
    x : Array
        Of any dtype, with at least one axis.
    indices : Array
        Of an integer dtype, usually 1-d. Negative indices count from the end.
    axis : int, optional
        Axis to select along. May be left out for a 1-d array only.

    Returns
    -------
    Array
        New array of the dtype of ``x``; the axes of ``indices`` stand in the place of ``axis``.

    Raises
    ------
    IndexError
        If an index is out of bounds; the message names it.
    numpy.exceptions.AxisError
        If there is no such axis.
    TypeError
        If an argument is no array, or ``indices`` is none of integers.
    ValueError
        If ``axis`` is missing for several axes, or the arrays are on two devices.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> cl.take(cl.asarray([10, 20, 30]), cl.asarray([2, 0])).tolist()
    [30, 10]
    """
    x, indices = _arrays(x, indices, "take")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take got an array of {x.ndim} axes without axis=; name the axis")
        axis = 0
    axis = axis_of(axis, x.ndim)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    index = Index(indices, x.shape[axis], x.strides[axis], axis)
    places = Places(
        before + indices.shape + after,
        x.offset,
        x.strides[:axis] + (0,) * indices.ndim + x.strides[axis + 1 :],
        index,
        (0,) * len(before) + indices.strides + (0,) * len(after),
    )
    return gather(x, places)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements at given indices along an axis, with indices of their own at each place.

    Parameters
    ----------
    x : Array
        Of any dtype, with at least one axis.
    indices : Array
        Of an integer dtype, with as many axes as ``x``. But for ``axis`` its shape broadcasts with
        that of ``x``. Negative indices count from the end.
    axis : int, default: -1
        Axis to select along.

    Returns
    -------
    Array
        New array of the dtype of ``x``, of the broadcast shape, with the size of ``indices`` along
        ``axis``.

    Raises
    ------
    IndexError
        If an index is out of bounds; the message names it.
    numpy.exceptions.AxisError
        If there is no such axis.
    TypeError
        If an argument is no array, or ``indices`` is none of integers.
    ValueError
        If the numbers of axes differ, shapes do not broadcast, or the arrays are on two devices.
    """
    x, indices = _arrays(x, indices, "take_along_axis")
    axis = axis_of(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ValueError(
            f"take_along_axis got x with {x.ndim} axes and indices with {indices.ndim}; "
            f"the numbers must be equal"
        )
    others = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    shape = broadcast_shapes(others, indices.shape)
    places = Places(
        shape,
        x.offset,
        broadcast_strides(others, x.strides, shape),
        Index(indices, x.shape[axis], x.strides[axis], axis),
        broadcast_strides(indices.shape, indices.strides, shape),
    )
    return gather(x, places)


def _arrays(x: object, indices: object, name: str) -> tuple[Array, Array]:
    """Return an array and integer indices on the same device."""
    array = array_of(x, name)
    found = array_of(indices, name, "indices")
    if kind_of(found.dtype) not in ("signed", "unsigned"):
        raise TypeError(
            f"{name}: indices have an integer dtype, got {found.dtype}; "
            f"convert with astype(indices, int64)"
        )
    one_device(name, array, found)
    return array, found
