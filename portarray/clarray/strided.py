"""Base class and factories of arrays: strided views of memory.

:class:`~portarray.clarray.array.Array` derives from :class:`Strided`, adds operators and methods,
and registers itself as the class of new arrays. Modules import ``Array`` and its factories from
here, because the derived class imports them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.pool import Storage
from portarray.clarray.layout import is_contiguous, strides_of

DType = np.dtype[Any]
Shape = tuple[int, ...]


class Strided:
    """The fields of an array; strides and offset are counted in elements."""

    __slots__ = ("__weakref__", "contiguous", "dtype", "offset", "shape", "storage", "strides")

    storage: Storage
    dtype: DType
    shape: Shape
    strides: Shape
    offset: int
    contiguous: bool

    @property
    def device(self) -> Device:
        """The array's device."""
        return self.storage.device

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def view(self, shape: Shape, strides: Shape, offset: int) -> Array:
        """Return a view of the same memory and dtype."""
        return new_array(
            self.storage, self.dtype, shape, strides, offset, is_contiguous(shape, strides)
        )


# Type checkers see the class of all arrays; at run time its base class serves for isinstance.
if TYPE_CHECKING:
    from portarray.clarray.array import Array as Array
else:
    Array = Strided

_new = object.__new__
_class: Any = Strided
_A = TypeVar("_A", bound=Strided)


def class_of_new_arrays(cls: type[_A]) -> type[_A]:
    """Register the decorated class as that of new arrays."""
    global _class
    _class = cls
    return cls


def new_array(
    storage: Storage, dtype: DType, shape: Shape, strides: Shape, offset: int, contiguous: bool
) -> Array:
    """Return an array of elements in a storage."""
    x: Array = _new(_class)
    x.storage = storage
    x.dtype = dtype
    x.shape = shape
    x.strides = strides
    x.offset = offset
    x.contiguous = contiguous
    return x


def permuted(x: Array, order: Sequence[int]) -> Array:
    """Return a view of some axes, in an order; axes of length 1 may be left out."""
    return x.view(
        tuple([x.shape[axis] for axis in order]),
        tuple([x.strides[axis] for axis in order]),
        x.offset,
    )


def transposed(x: Array) -> Array:
    """Return a view with the last two axes exchanged."""
    return permuted(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def empty(shape: Shape, dtype: DType, device: Device) -> Array:
    """Return a new C-contiguous array with uninitialized elements."""
    storage = device.pool.take(math.prod(shape) * dtype.itemsize)
    return new_array(storage, dtype, shape, strides_of(shape), 0, True)
