"""The array: a strided view of a block of device memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray.clarray.layout import is_contiguous, strides_of

if TYPE_CHECKING:
    from portarray.clarray.runtime.device import Device
    from portarray.clarray.runtime.pool import Storage

__all__ = ["Array", "empty"]

DType = np.dtype[Any]
Shape = tuple[int, ...]


class Array:
    """An n-dimensional array on an OpenCL device, after the Python array API standard.

    Made by :func:`~portarray.clarray.asarray` and its kin. Basic indexing, ``.T``,
    ``permute_dims`` and ``broadcast_to`` give views of the same memory.

    Attributes
    ----------
    dtype : numpy.dtype
        Of the elements.
    shape : tuple of int
        Lengths of the axes.
    storage : Storage
        The memory.
    strides : tuple of int
        Steps along the axes in *elements*.
    offset : int
        Where the first element lies in the storage, in elements.
    contiguous : bool
        Whether the elements lie in C order without gaps.
    """

    __slots__ = ("__weakref__", "contiguous", "dtype", "offset", "shape", "storage", "strides")

    # NumPy leaves its binary operators to ours.
    __array_ufunc__ = None

    def __init__(
        self,
        storage: Storage,
        dtype: DType,
        shape: Shape,
        strides: Shape,
        offset: int,
        contiguous: bool,
    ) -> None:
        self.storage = storage
        self.dtype = dtype
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.contiguous = contiguous

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
        return Array(
            self.storage, self.dtype, shape, strides, offset, is_contiguous(shape, strides)
        )

    # --- among others. Imported late: these modules need this one, and nobody calls them in loops.

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        from portarray.clarray import interop

        return interop.dlpack(
            self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        from portarray.clarray import interop

        return interop.dlpack_device(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        from portarray.clarray import interop

        return interop.array(self, dtype, copy)

    def __reduce__(self) -> tuple[Any, ...]:
        from portarray.clarray import interop

        return interop.reduce(self)

    def to_device(self, device: object, /, *, stream: object = None) -> Array:
        """Return the array on another clarray device; itself where it is there.

        Parameters
        ----------
        device : Device, int or pyopencl.Device
            Where to.
        stream : None
            Work is ordered without.
        """
        from portarray.clarray import interop

        return interop.to_device(self, device, stream=stream)

    def __getitem__(self, key: Any, /) -> Array:
        from portarray.clarray import indexing

        return indexing.getitem(self, key)

    def __setitem__(self, key: Any, value: Array | complex, /) -> None:
        from portarray.clarray import indexing

        indexing.setitem(self, key, value)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a 0-d array has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise TypeError("a 0-d array cannot be iterated over")
        return (self[index] for index in range(self.shape[0]))

    def item(self) -> bool | int | float | complex:
        """Return the one element as Python scalar.

        Raises
        ------
        ValueError
            If there is not exactly one.
        """
        from portarray.clarray import indexing

        return indexing.item(self)

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python scalars; of a 0-d array its element."""
        from portarray.clarray import indexing

        return indexing.tolist(self)


def empty(shape: Shape, dtype: DType, device: Device) -> Array:
    """Return a new C-contiguous array; its elements are whatever was in memory."""
    storage = device.pool.take(math.prod(shape) * dtype.itemsize)
    return Array(storage, dtype, shape, strides_of(shape), 0, True)
