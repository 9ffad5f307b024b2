"""What portarray's functions accept, by name.

Used in the signatures of public functions, without importing any array library.
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
"""What ``dtype=`` accepts: a dtype, or what :class:`numpy.dtype` converts to one."""

DeviceLike: TypeAlias = object
"""What ``device=`` accepts: a :class:`portarray.Device`, its text form (``"torch:cuda:1"``), or a
device object of an array library (``torch.device``, ``cupy.cuda.Device``, ...).

The libraries' types cannot be listed without importing them, so type checkers accept everything;
invalid values raise at run time.
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

    ``__buffer__`` exists since Python 3.12; before, type checkers go by their stubs.
    """

    def __buffer__(self, flags: int, /) -> memoryview:
        """Return a view of the memory."""


ArrayLike: TypeAlias = "Array | Scalar"
"""An operand of an elementwise function: an array or a Python scalar.

Lists and native arrays are no operands: :func:`portarray.asarray` makes arrays of them.
"""
