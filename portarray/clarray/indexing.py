"""Indexing, to read and to write: basic keys, integer arrays and masks."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from portarray.clarray.arguments import array_of, axis_of
from portarray.clarray.dtypes import bfloat16, kind_of
from portarray.clarray.engine.compaction import compress
from portarray.clarray.engine.copy import assign, cast
from portarray.clarray.engine.gather import Index, Places, gather, scatter, scatter_masked
from portarray.clarray.engine.keys import Key, basic, from_start, full_mask, unaliased
from portarray.clarray.engine.operands import one_device, python_scalar
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.layout import broadcast_shapes, broadcast_strides, broadcasts_to
from portarray.clarray.strided import Array

Shape: TypeAlias = tuple[int, ...]


def getitem(x: Array, key: Any) -> Array:
    """Return ``x[key]``."""
    if type(key) is int and x.shape:  # fast path of loops over the first axis
        offset = x.offset + from_start(key, 0, x.shape) * x.strides[0]
        return _view(x, x.shape[1:], x.strides[1:], offset)
    view = basic(x, key)
    if view is not None:
        return view
    mask = full_mask(x, key)
    if mask is not None and x.shape:
        return compress(mask, x)
    applied = Key(x, key)
    if not applied.indices:
        return _view(x, applied.shape, applied.strides, applied.offset)
    return gather(x, applied.places(x))


def _view(x: Array, shape: Shape, strides: Shape, offset: int) -> Array:
    """Return a view; an empty one keeps the offset of the array, which is inside its memory."""
    return x.view(shape, strides, x.offset if 0 in shape else offset)


def setitem(x: Array, key: Any, value: Any) -> None:
    """Do ``x[key] = value``."""
    if isinstance(value, Array):
        one_device("assignment", x, value)
        if value.dtype.kind == "c" and x.dtype.kind != "c":
            raise TypeError(
                f"complex values cannot be assigned into a {x.dtype} array\n"
                f"Hint: take real(value) first"
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
            scatter_masked(x, unaliased(mask, x), _values(value, x))
            return
    applied = Key(x, key)
    if not applied.indices:
        target = _view(x, applied.shape, applied.strides, applied.offset)
        assign(target, _fitted(value, target.shape) if isinstance(value, Array) else value)
        return
    places = applied.places(x, into=True)
    scatter(x, places, _fitted(_values(value, x), places.shape))


def _values(value: Any, x: Array) -> Array:
    """Return the assigned values as an array of the dtype of ``x`` that does not overlap it."""
    if not isinstance(value, Array):
        with np.errstate(over="ignore"):  # overflow gives infinity
            return from_numpy(np.asarray(value, x.dtype), x.device)
    return unaliased(value, x) if value.dtype == x.dtype else cast(value, x.dtype)


def _fitted(value: Array, shape: Shape) -> Array:
    """Return the assigned values without leading axes of length 1 that the target lacks."""
    if value.shape == shape:
        return value
    extra = max(value.ndim - len(shape), 0)
    if value.shape[:extra] == (1,) * extra:
        value = value.view(value.shape[extra:], value.strides[extra:], value.offset)
        if broadcasts_to(value.shape, shape):
            return value
    raise ValueError(
        f"an array of shape {value.shape} cannot be assigned to elements of shape {shape}: it does "
        f"not broadcast to it"
    )


def _scalar(value: object, dtype: np.dtype[Any]) -> complex:
    """Return an assigned number as a Python scalar of a dtype's kind."""
    scalar = python_scalar(value, "assignment")
    kind = kind_of(dtype)
    if isinstance(scalar, complex) and kind != "complex":
        raise TypeError(
            f"the complex number {scalar} cannot be assigned into a {dtype} array\n"
            f"Hint: take its real part first"
        )
    if kind == "bool":
        return bool(scalar)
    if kind == "complex":
        return complex(scalar)
    assert not isinstance(scalar, complex)
    if kind == "real":
        return float(scalar)
    integer = int(scalar)  # raises for NaN and infinities
    limits = np.iinfo(dtype)
    if not limits.min <= integer <= limits.max:
        raise OverflowError(
            f"{scalar!r} is out of bounds for {dtype}, which holds {limits.min} to {limits.max}"
        )
    return integer


def item(x: Array) -> bool | int | float | complex:
    """Return the one element of an array as a Python scalar."""
    if x.size != 1:
        raise ValueError(
            f"only an array of one element is a scalar; this one has shape {x.shape}: index it "
            f"first, or use tolist()"
        )
    scalar: bool | int | float | complex = _plain(x).item()
    return scalar


def tolist(x: Array) -> Any:
    """Return an array's elements as nested lists of Python scalars; of a 0-d array its element."""
    return _plain(x).tolist()


def _plain(x: Array) -> np.ndarray[Any, Any]:
    """Return an array's elements as a NumPy array, bfloat16 as float32."""
    values = to_numpy(x)
    return values.astype(np.float32) if values.dtype == bfloat16 else values


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements at given indices along an axis."""
    x, indices = _arrays(x, indices, "take")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(
                f"take got an array of {x.ndim} axes without axis=\nHint: name the axis"
            )
        axis = 0
    axis = axis_of(axis, x.ndim)
    leading, trailing = x.shape[:axis], x.shape[axis + 1 :]
    index = Index(indices, x.shape[axis], x.strides[axis], axis)
    places = Places(
        leading + indices.shape + trailing,
        x.offset,
        x.strides[:axis] + (0,) * indices.ndim + x.strides[axis + 1 :],
        index,
        (0,) * len(leading) + indices.strides + (0,) * len(trailing),
    )
    return gather(x, places)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements that an array of indices selects along an axis."""
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
    integers = array_of(indices, name, "indices")
    if kind_of(integers.dtype) not in ("signed", "unsigned"):
        raise TypeError(
            f"{name}: indices have an integer dtype, got {integers.dtype}\n"
            f"Hint: convert with astype(indices, int64)"
        )
    one_device(name, array, integers)
    return array, integers
