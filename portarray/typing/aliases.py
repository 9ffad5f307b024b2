"""What portarray's functions accept, by name.

Used in the signatures of public functions, without importing any array library.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

Scalar: TypeAlias = bool | int | float | complex
"""A Python scalar of any kind. NumPy scalars count as the Python scalars they convert to."""

Real: TypeAlias = bool | int | float
"""A Python scalar that is not complex."""

DType: TypeAlias = np.dtype[Any]
"""portarray's dtype objects: they are NumPy's, on every device."""

DTypeName: TypeAlias = Literal[
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
"""The names of portarray's dtypes."""

DTypeLike: TypeAlias = np.dtype[Any] | type[np.generic | Scalar] | DTypeName
"""What ``dtype=`` accepts: a dtype, a scalar type of NumPy or Python, or a name.

NumPy's other texts, such as ``"f4"``, are accepted at run time: ``numpy.dtype("f4")`` has a type.
"""


KindName: TypeAlias = Literal[
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
]
"""The standard's names of kinds of dtype."""


class TypedDevice(Protocol):
    """A device object with a type: PyTorch's, MLX's or pyopencl's."""

    @property
    def type(self) -> str | int | enum.Enum:
        """What kind of device it is."""


class PlatformDevice(Protocol):
    """A device object with a platform and an identity: JAX's."""

    @property
    def platform(self) -> str:
        """What drives the device."""

    @property
    def id(self) -> int:
        """Which of the devices it is."""


class SyclDevice(Protocol):
    """A device or queue object over a SYCL device: dpnp's and dpctl's."""

    @property
    def sycl_device(self) -> Any:
        """The SYCL device."""


class NumberedDevice(Protocol):
    """A device object over a native one: clarray's."""

    @property
    def native(self) -> Any:
        """The device underneath."""

    @property
    def index(self) -> int:
        """Which of the devices it is."""


DeviceLike: TypeAlias = (
    "Device | str | TypedDevice | PlatformDevice | SyclDevice | NumberedDevice | enum.Enum"
)
"""What ``device=`` accepts: a :class:`portarray.Device`, its text form (``"torch:cuda:1"``), or a
device object of an array library (``torch.device``, ``cupy.cuda.Device``, ...).

The libraries' types cannot be named without importing them, so they are told by the attributes that
numbers and arrays do not have.
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

Lists and native arrays are not operands: :func:`portarray.asarray` makes arrays of them.
"""
