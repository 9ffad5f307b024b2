"""What functions with several results return: tuples whose items have names.

They are protocols, so that each library's own named tuples fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

A_co = TypeVar("A_co", covariant=True)


class Results(Protocol[A_co]):
    """Several arrays, which unpack like a tuple."""

    def __iter__(self) -> Iterator[A_co]:
        """Iterate over the arrays."""

    def __getitem__(self, index: int, /) -> A_co:
        """Return one of the arrays."""

    def __len__(self) -> int:
        """Return how many there are."""


class UniqueAll(Results[A_co], Protocol[A_co]):
    """Unique values, their first indices, inverse indices and counts."""

    @property
    def values(self) -> A_co:
        """The unique values, 1-d."""

    @property
    def indices(self) -> A_co:
        """Index of the first occurrence of each value in the flattened array."""

    @property
    def inverse_indices(self) -> A_co:
        """Index among the values of each element, in the array's shape."""

    @property
    def counts(self) -> A_co:
        """How often each value occurs."""


class UniqueCounts(Results[A_co], Protocol[A_co]):
    """Unique values and their counts."""

    @property
    def values(self) -> A_co:
        """The unique values, 1-d."""

    @property
    def counts(self) -> A_co:
        """How often each value occurs."""


class UniqueInverse(Results[A_co], Protocol[A_co]):
    """Unique values and inverse indices."""

    @property
    def values(self) -> A_co:
        """The unique values, 1-d."""

    @property
    def inverse_indices(self) -> A_co:
        """Index among the values of each element, in the array's shape."""


class Eig(Results[A_co], Protocol[A_co]):
    """Eigenvalues and eigenvectors of matrices."""

    @property
    def eigenvalues(self) -> A_co:
        """The eigenvalues, shape ``(..., M)``."""

    @property
    def eigenvectors(self) -> A_co:
        """The eigenvectors as columns, shape ``(..., M, M)``."""


class QR(Results[A_co], Protocol[A_co]):
    """Factors of matrices: orthonormal columns times upper triangle."""

    @property
    def Q(self) -> A_co:  # noqa: N802
        """Orthonormal columns, shape ``(..., M, K)``."""

    @property
    def R(self) -> A_co:  # noqa: N802
        """Upper triangle, shape ``(..., K, N)``."""


class Slogdet(Results[A_co], Protocol[A_co]):
    """Determinants as sign and logarithm."""

    @property
    def sign(self) -> A_co:
        """Sign, or complex number of magnitude one; 0 for singular matrices."""

    @property
    def logabsdet(self) -> A_co:
        """Natural logarithm of the magnitude; negative infinity for singular matrices."""


class SVD(Results[A_co], Protocol[A_co]):
    """Singular value decomposition ``U @ diag(S) @ Vh``."""

    @property
    def U(self) -> A_co:  # noqa: N802
        """Left singular vectors as columns, shape ``(..., M, M)`` or ``(..., M, K)``."""

    @property
    def S(self) -> A_co:  # noqa: N802
        """Singular values in descending order, shape ``(..., K)``."""

    @property
    def Vh(self) -> A_co:  # noqa: N802
        """Right singular vectors as rows, shape ``(..., N, N)`` or ``(..., K, N)``."""
