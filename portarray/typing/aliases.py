"""What portarray's functions accept, by name.

These aliases stand in the signatures of the public functions. They import no array library: a
device, for one, may be an object of any library, so its alias cannot list the types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from portarray._array.array import Array

Scalar: TypeAlias = bool | int | float | complex
"""A Python scalar of any kind. NumPy scalars count as the Python scalars they convert to."""

Real: TypeAlias = bool | int | float
"""A Python scalar that is not complex."""

DType: TypeAlias = np.dtype[Any]
"""portarray's dtype objects: they are NumPy's, on every device."""

DTypeLike: TypeAlias = np.dtype[Any] | type[Any] | str
"""What a ``dtype=`` takes: a dtype, or what :class:`numpy.dtype` makes one from."""

DeviceLike: TypeAlias = object
"""What a ``device=`` takes: a :class:`portarray.Device`, its text form (``"torch:cuda:1"``), or a
device object of an array library (``torch.device``, ``cupy.cuda.Device``, ...).

The libraries' types cannot be listed without importing the libraries, so the alias admits
everything; what names no device is refused at run time with the nearest valid text.
"""

NativeDType: TypeAlias = Any
"""A library's own dtype object; the libraries' classes have nothing in common."""

NativeDevice: TypeAlias = Any
"""A library's own device object; the libraries' classes have nothing in common."""

ShapeLike: TypeAlias = int | Sequence[int]
"""A shape; an int is the shape of a one-dimensional array."""

Axes: TypeAlias = int | Sequence[int]
"""One axis or several; negative ones count from the last."""

FftNorm: TypeAlias = Literal["backward", "ortho", "forward"]
"""Which direction of a Fourier transform is scaled, and by how much."""

T_co = TypeVar("T_co", covariant=True)


class NestedSequence(Protocol[T_co]):
    """A sequence of values, or of such sequences, to any depth: nested lists, mostly."""

    def __getitem__(self, key: int, /) -> T_co | NestedSequence[T_co]:
        """Return the item at an index."""

    def __len__(self, /) -> int:
        """Return the number of items."""


class SupportsDLPack(Protocol):
    """An object that exports its memory by DLPack: an array of nearly any library."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """Return a DLPack capsule."""

    def __dlpack_device__(self) -> tuple[Any, int]:
        """Return DLPack's device type and the device's index."""


class SupportsBuffer(Protocol):
    """An object with the buffer protocol: ``bytes``, ``memoryview``, ``array.array``, ...

    Only Python 3.12 gives the protocol a method that Python code can see, so before that a type
    checker accepts what its library stubs declare.
    """

    def __buffer__(self, flags: int, /) -> memoryview:
        """Return a view of the memory."""


ArrayLike: TypeAlias = "Array | Scalar"
"""An operand of an elementwise function: an array or a Python scalar.

Lists and native arrays are no operands: :func:`portarray.asarray` makes arrays of them.
"""
