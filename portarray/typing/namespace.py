"""The standard's namespace of native arrays, composed of its categories."""

from __future__ import annotations

from types import EllipsisType
from typing import Protocol, TypeAlias, TypeVar

from portarray.typing.aliases import Scalar
from portarray.typing.creation import (
    ConstantsNamespace,
    CreationNamespace,
    DataTypeNamespace,
    DTypeNamesNamespace,
    InspectionNamespace,
)
from portarray.typing.elementwise import ElementwiseNamespace
from portarray.typing.extensions import FftNamespace, LinalgNamespace, LinearAlgebraNamespace
from portarray.typing.shaping import (
    IndexingNamespace,
    ManipulationNamespace,
    SearchingNamespace,
    SetsNamespace,
    SortingNamespace,
    StatisticalNamespace,
    UtilityNamespace,
)

A = TypeVar("A")

Index: TypeAlias = int | slice | EllipsisType | A | None
"""One part of an index."""


class Namespace(
    ElementwiseNamespace[A],
    CreationNamespace[A],
    DataTypeNamespace[A],
    IndexingNamespace[A],
    LinearAlgebraNamespace[A],
    ManipulationNamespace[A],
    SearchingNamespace[A],
    SetsNamespace[A],
    SortingNamespace[A],
    StatisticalNamespace[A],
    UtilityNamespace[A],
    ConstantsNamespace,
    DTypeNamesNamespace,
    InspectionNamespace,
    Protocol[A],
):
    """The whole standard, 2025.12, on arrays of type ``A``.

    :func:`portarray.namespace` returns one for the native arrays of a device:
    ``Namespace[torch.Tensor]``; portarray itself is a ``Namespace[portarray.Array]``. Dtypes and
    devices are the library's own, for which there is no common type.
    """

    @property
    def linalg(self) -> LinalgNamespace[A]:
        """Linear algebra."""

    @property
    def fft(self) -> FftNamespace[A]:
        """Fourier transforms."""


class BackendNamespace(Namespace[A], Protocol[A]):
    """The standard and what portarray needs of a library beyond it.

    Functions composed of other functions take one as their first parameter.
    """

    def getitem(self, x: A, key: tuple[Index[A], ...], /) -> A:
        """Return ``x[key]``; a view where the library can."""

    def setitem(self, x: A, key: tuple[Index[A], ...], value: A | Scalar, /) -> A:
        """Assign to ``x[key]`` and return the array that now holds the result.

        That is x itself where the library's arrays are mutable.
        """

    def add_at(self, x: A, indices: A, values: A, /) -> A:
        """Return x with ``values[k]`` added to row ``indices[k]``, for all k, repeated or not."""

    def item(self, x: A, /) -> Scalar:
        """Return the element of an array of one element."""
