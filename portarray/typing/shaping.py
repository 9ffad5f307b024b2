"""Indexing, manipulation, searching, sorting, sets and statistics of native arrays."""

from __future__ import annotations

from typing import Literal, Protocol, TypeVar

from portarray.typing.aliases import NativeDType, Real, Scalar
from portarray.typing.results import UniqueAll, UniqueCounts, UniqueInverse

A = TypeVar("A")


class IndexingNamespace(Protocol[A]):
    """Functions that pick elements by index arrays."""

    def take(self, x: A, indices: A, /, *, axis: int | None = None) -> A:
        """Return the elements at indices along an axis."""

    def take_along_axis(self, x: A, indices: A, /, *, axis: int = -1) -> A:
        """Return the elements at indices along an axis; the other axes broadcast."""


class ManipulationNamespace(Protocol[A]):
    """Functions that rearrange elements."""

    def broadcast_arrays(self, *arrays: A) -> tuple[A, ...] | list[A]:
        """Return arrays broadcast to one shape."""

    def broadcast_shapes(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape to which shapes broadcast."""

    def broadcast_to(self, x: A, /, shape: tuple[int, ...]) -> A:
        """Return an array broadcast to a shape."""

    def concat(self, arrays: tuple[A, ...] | list[A], /, *, axis: int | None = 0) -> A:
        """Return arrays joined along an axis they have."""

    def expand_dims(self, x: A, /, axis: int | tuple[int, ...]) -> A:
        """Return an array with new axes of length one."""

    def flip(self, x: A, /, *, axis: int | tuple[int, ...] | None = None) -> A:
        """Return an array reversed along axes."""

    def moveaxis(
        self, x: A, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
    ) -> A:
        """Return an array with axes moved to other places."""

    def permute_dims(self, x: A, /, axes: tuple[int, ...]) -> A:
        """Return an array with its axes in another order."""

    def repeat(self, x: A, repeats: int | A, /, *, axis: int | None = None) -> A:
        """Return an array with each element repeated."""

    def reshape(self, x: A, /, shape: tuple[int, ...], *, copy: bool | None = None) -> A:
        """Return an array in another shape."""

    def roll(
        self, x: A, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None
    ) -> A:
        """Return an array with its elements moved around along axes."""

    def squeeze(self, x: A, /, axis: int | tuple[int, ...]) -> A:
        """Return an array without axes of length one."""

    def stack(self, arrays: tuple[A, ...] | list[A], /, *, axis: int = 0) -> A:
        """Return arrays joined along a new axis."""

    def tile(self, x: A, repetitions: tuple[int, ...], /) -> A:
        """Return an array repeated as a whole."""

    def unstack(self, x: A, /, *, axis: int = 0) -> tuple[A, ...] | list[A]:
        """Return the arrays of which an array is the stack."""


class SearchingNamespace(Protocol[A]):
    """Functions that find elements."""

    def argmax(self, x: A, /, *, axis: int | None = None, keepdims: bool = False) -> A:
        """Return the index of the first greatest element."""

    def argmin(self, x: A, /, *, axis: int | None = None, keepdims: bool = False) -> A:
        """Return the index of the first least element."""

    def count_nonzero(
        self, x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> A:
        """Return how many elements are not zero."""

    def nonzero(self, x: A, /) -> tuple[A, ...]:
        """Return the indices of the elements that are not zero."""

    def searchsorted(
        self,
        x1: A,
        x2: A | Real,
        /,
        *,
        side: Literal["left", "right"] = "left",
        sorter: A | None = None,
    ) -> A:
        """Return where elements belong in a sorted array."""

    def where(self, condition: A, x1: A | Scalar, x2: A | Scalar, /) -> A:
        """Return elements of the first or of the second as a condition says."""


class SetsNamespace(Protocol[A]):
    """Functions on arrays as sets."""

    def isin(self, x1: A | int, x2: A | int, /, *, invert: bool = False) -> A:
        """Tell of each element whether another array has it."""

    def unique_all(self, x: A, /) -> UniqueAll[A]:
        """Return unique values, first indices, inverse indices and counts."""

    def unique_counts(self, x: A, /) -> UniqueCounts[A]:
        """Return unique values and their counts."""

    def unique_inverse(self, x: A, /) -> UniqueInverse[A]:
        """Return unique values and inverse indices."""

    def unique_values(self, x: A, /) -> A:
        """Return unique values."""


class SortingNamespace(Protocol[A]):
    """Functions that sort."""

    def argsort(
        self, x: A, /, *, axis: int = -1, descending: bool = False, stable: bool = True
    ) -> A:
        """Return the indices that sort an array along an axis."""

    def sort(self, x: A, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> A:
        """Return an array sorted along an axis."""


class StatisticalNamespace(Protocol[A]):
    """Functions that reduce axes to one number, or accumulate along one."""

    def cumulative_prod(
        self,
        x: A,
        /,
        *,
        axis: int | None = None,
        dtype: NativeDType | None = None,
        include_initial: bool = False,
    ) -> A:
        """Return the products of the first elements along an axis."""

    def cumulative_sum(
        self,
        x: A,
        /,
        *,
        axis: int | None = None,
        dtype: NativeDType | None = None,
        include_initial: bool = False,
    ) -> A:
        """Return the sums of the first elements along an axis."""

    def max(
        self, x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> A:
        """Return the greatest element."""

    def mean(
        self, x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> A:
        """Return the arithmetic mean."""

    def min(
        self, x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> A:
        """Return the least element."""

    def prod(
        self,
        x: A,
        /,
        *,
        axis: int | tuple[int, ...] | None = None,
        dtype: NativeDType | None = None,
        keepdims: bool = False,
    ) -> A:
        """Return the product."""

    def std(
        self,
        x: A,
        /,
        *,
        axis: int | tuple[int, ...] | None = None,
        correction: float = 0.0,
        keepdims: bool = False,
    ) -> A:
        """Return the standard deviation."""

    def sum(
        self,
        x: A,
        /,
        *,
        axis: int | tuple[int, ...] | None = None,
        dtype: NativeDType | None = None,
        keepdims: bool = False,
    ) -> A:
        """Return the sum."""

    def var(
        self,
        x: A,
        /,
        *,
        axis: int | tuple[int, ...] | None = None,
        correction: float = 0.0,
        keepdims: bool = False,
    ) -> A:
        """Return the variance."""


class UtilityNamespace(Protocol[A]):
    """Truth of many elements, and differences of neighbours."""

    def all(
        self, x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> A:
        """Return whether all elements are true."""

    def any(
        self, x: A, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
    ) -> A:
        """Return whether at least one element is true."""

    def diff(
        self,
        x: A,
        /,
        *,
        axis: int = -1,
        n: int = 1,
        prepend: A | None = None,
        append: A | None = None,
    ) -> A:
        """Return the differences of neighbours along an axis."""
