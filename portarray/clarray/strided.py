"""Arrays as the engine and the functions of the namespace know them: strided views of memory.

:class:`~portarray.clarray.array.Array` derives from :class:`Strided` and adds the operators and
methods, which call those functions; it registers itself as the class of new arrays. So modules
import this one for ``Array`` and its factories, and only the package imports the derived class.
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
        """Where the array is."""
        return self.storage.device

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements there are."""
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
    """Return an array of elements that lie in a storage."""
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
        tuple([x.shape[one] for one in order]), tuple([x.strides[one] for one in order]), x.offset
    )


def transposed(x: Array) -> Array:
    """Return a view with the last two axes exchanged."""
    return permuted(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def empty(shape: Shape, dtype: DType, device: Device) -> Array:
    """Return a new C-contiguous array; its elements are whatever was in memory."""
    storage = device.pool.take(math.prod(shape) * dtype.itemsize)
    return new_array(storage, dtype, shape, strides_of(shape), 0, True)
