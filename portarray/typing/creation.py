"""Creation of arrays, dtypes and constants in a namespace of native arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeVar

from portarray.typing.aliases import (
    KindName,
    NativeDevice,
    NativeDType,
    NestedSequence,
    Real,
    Scalar,
    SupportsBuffer,
    SupportsDLPack,
)

A = TypeVar("A")


class CreationNamespace(Protocol[A]):
    """Functions that make arrays; ``device=None`` is the library's own default device."""

    def arange(
        self,
        start: Real,
        /,
        stop: Real | None = None,
        step: Real = 1,
        *,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return evenly spaced numbers from start to before stop."""

    def asarray(
        self,
        obj: A | Scalar | NestedSequence[Any] | SupportsBuffer,
        /,
        *,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
        copy: bool | None = None,
    ) -> A:
        """Return an array of the given values."""

    def empty(
        self,
        shape: int | tuple[int, ...],
        *,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return an array of undefined elements."""

    def empty_like(
        self, x: A, /, *, dtype: NativeDType | None = None, device: NativeDevice | None = None
    ) -> A:
        """Return an array of undefined elements, shaped like another."""

    def eye(
        self,
        n_rows: int,
        n_cols: int | None = None,
        /,
        *,
        k: int = 0,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return a matrix of zeros with ones on one diagonal."""

    def from_dlpack(
        self, x: SupportsDLPack, /, *, device: NativeDevice | None = None, copy: bool | None = None
    ) -> A:
        """Return an array of an object that exports DLPack."""

    def full(
        self,
        shape: int | tuple[int, ...],
        fill_value: Scalar,
        *,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return an array of one value."""

    def full_like(
        self,
        x: A,
        /,
        fill_value: Scalar,
        *,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return an array of one value, shaped like another."""

    def linspace(
        self,
        start: Scalar,
        stop: Scalar,
        /,
        num: int,
        *,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
        endpoint: bool = True,
    ) -> A:
        """Return a given count of evenly spaced numbers."""

    def meshgrid(self, *arrays: A, indexing: Literal["xy", "ij"] = "xy") -> tuple[A, ...] | list[A]:
        """Return coordinate arrays of the grid of 1-d arrays."""

    def ones(
        self,
        shape: int | tuple[int, ...],
        *,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return an array of ones."""

    def ones_like(
        self, x: A, /, *, dtype: NativeDType | None = None, device: NativeDevice | None = None
    ) -> A:
        """Return an array of ones, shaped like another."""

    def tril(self, x: A, /, *, k: int = 0) -> A:
        """Return the lower triangle of matrices."""

    def triu(self, x: A, /, *, k: int = 0) -> A:
        """Return the upper triangle of matrices."""

    def zeros(
        self,
        shape: int | tuple[int, ...],
        *,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return an array of zeros."""

    def zeros_like(
        self, x: A, /, *, dtype: NativeDType | None = None, device: NativeDevice | None = None
    ) -> A:
        """Return an array of zeros, shaped like another."""


class FloatLimits(Protocol):
    """Limits of a floating-point dtype."""

    @property
    def bits(self) -> int:
        """Bits of one number, or of one part of a complex number."""

    @property
    def eps(self) -> float:
        """Distance from one to the next greater number."""

    @property
    def max(self) -> float:
        """Greatest finite number."""

    @property
    def min(self) -> float:
        """Least finite number."""

    @property
    def smallest_normal(self) -> float:
        """Smallest positive number of full precision."""

    @property
    def dtype(self) -> NativeDType:
        """The real dtype."""


class IntegerLimits(Protocol):
    """Limits of an integer dtype."""

    @property
    def bits(self) -> int:
        """Bits of one number."""

    @property
    def max(self) -> int:
        """Greatest number."""

    @property
    def min(self) -> int:
        """Least number."""

    @property
    def dtype(self) -> NativeDType:
        """The dtype."""


class DataTypeNamespace(Protocol[A]):
    """Functions about dtypes."""

    def astype(
        self, x: A, dtype: NativeDType, /, *, copy: bool = True, device: NativeDevice | None = None
    ) -> A:
        """Return an array converted to a dtype."""

    def can_cast(self, from_: NativeDType | A, to: NativeDType, /) -> bool:
        """Return whether promotion leads from one dtype to another."""

    def finfo(self, type: NativeDType | A, /) -> FloatLimits:
        """Return the limits of a floating-point dtype."""

    def iinfo(self, type: NativeDType | A, /) -> IntegerLimits:
        """Return the limits of an integer dtype."""

    def isdtype(
        self, dtype: NativeDType, kind: NativeDType | KindName | tuple[NativeDType | KindName, ...]
    ) -> bool:
        """Return whether a dtype is of a kind."""

    def result_type(self, *arrays_and_dtypes: A | Scalar | NativeDType) -> NativeDType:
        """Return the dtype to which all promote."""


class DTypeNamesNamespace(Protocol):
    """The dtypes under their standard names; a device need not have all of them."""

    @property
    def bool(self) -> NativeDType:
        """True and false."""

    @property
    def int8(self) -> NativeDType:
        """Signed integers of 8 bits."""

    @property
    def int16(self) -> NativeDType:
        """Signed integers of 16 bits."""

    @property
    def int32(self) -> NativeDType:
        """Signed integers of 32 bits."""

    @property
    def int64(self) -> NativeDType:
        """Signed integers of 64 bits."""

    @property
    def uint8(self) -> NativeDType:
        """Unsigned integers of 8 bits."""

    @property
    def uint16(self) -> NativeDType:
        """Unsigned integers of 16 bits."""

    @property
    def uint32(self) -> NativeDType:
        """Unsigned integers of 32 bits."""

    @property
    def uint64(self) -> NativeDType:
        """Unsigned integers of 64 bits."""

    @property
    def float32(self) -> NativeDType:
        """Real numbers of single precision."""

    @property
    def float64(self) -> NativeDType:
        """Real numbers of double precision."""

    @property
    def complex64(self) -> NativeDType:
        """Complex numbers of single precision."""

    @property
    def complex128(self) -> NativeDType:
        """Complex numbers of double precision."""


class ConstantsNamespace(Protocol):
    """The constants."""

    @property
    def e(self) -> float:
        """Euler's number."""

    @property
    def inf(self) -> float:
        """Positive infinity."""

    @property
    def nan(self) -> float:
        """Not a number."""

    @property
    def newaxis(self) -> None:
        """A new axis, in an index."""

    @property
    def pi(self) -> float:
        """Half a turn, in radians."""


class NamespaceInfo(Protocol):
    """Inspection of a namespace."""

    def capabilities(self) -> Mapping[str, Any]:
        """Return which optional behaviour the namespace has."""

    def default_device(self) -> NativeDevice:
        """Return the default device."""

    def default_dtypes(self, *, device: NativeDevice | None = None) -> Mapping[str, NativeDType]:
        """Return the default dtype of each kind on a device."""

    def devices(self) -> list[NativeDevice] | tuple[NativeDevice, ...]:
        """Return the devices."""

    def dtypes(
        self, *, device: NativeDevice | None = None, kind: str | tuple[str, ...] | None = None
    ) -> Mapping[str, NativeDType]:
        """Return the dtypes of a device by standard name."""


class InspectionNamespace(Protocol):
    """Attributes of a standard namespace other than its functions."""

    @property
    def __array_api_version__(self) -> str:
        """Version of the standard, ``"2025.12"``."""

    def __array_namespace_info__(self) -> NamespaceInfo:
        """Return what the namespace says about itself."""
