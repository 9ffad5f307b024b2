"""Linear algebra and Fourier transforms of native arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar

from portarray.typing.aliases import FftNorm, NativeDevice, NativeDType
from portarray.typing.results import QR, SVD, Eig, Slogdet

A = TypeVar("A")


class LinearAlgebraNamespace(Protocol[A]):
    """Products of vectors and matrices; they stand in the main namespace and in ``linalg``."""

    def matmul(self, x1: A, x2: A, /) -> A:
        """Return the matrix product."""

    def matrix_transpose(self, x: A, /) -> A:
        """Return matrices with rows and columns exchanged."""

    def tensordot(
        self, x1: A, x2: A, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
    ) -> A:
        """Return the sum of products over chosen axes."""

    def vecdot(self, x1: A, x2: A, /, *, axis: int = -1) -> A:
        """Return the inner product along an axis."""


class LinalgNamespace(LinearAlgebraNamespace[A], Protocol[A]):
    """The extension ``linalg``."""

    def cholesky(self, x: A, /, *, upper: bool = False) -> A:
        """Return the Cholesky factor of positive definite matrices."""

    def cross(self, x1: A, x2: A, /, *, axis: int = -1) -> A:
        """Return the cross product of vectors of three elements."""

    def det(self, x: A, /) -> A:
        """Return determinants."""

    def diagonal(self, x: A, /, *, offset: int = 0) -> A:
        """Return diagonals."""

    def eig(self, x: A, /) -> Eig[A]:
        """Return eigenvalues and eigenvectors."""

    def eigh(self, x: A, /) -> Eig[A]:
        """Return eigenvalues and eigenvectors of symmetric or Hermitian matrices."""

    def eigvals(self, x: A, /) -> A:
        """Return eigenvalues."""

    def eigvalsh(self, x: A, /) -> A:
        """Return eigenvalues of symmetric or Hermitian matrices."""

    def inv(self, x: A, /) -> A:
        """Return inverses."""

    def matrix_norm(
        self, x: A, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
    ) -> A:
        """Return norms of matrices."""

    def matrix_power(self, x: A, n: int, /) -> A:
        """Return square matrices to an integer power."""

    def matrix_rank(self, x: A, /, *, rtol: float | A | None = None) -> A:
        """Return ranks."""

    def outer(self, x1: A, x2: A, /) -> A:
        """Return the outer product of two vectors."""

    def pinv(self, x: A, /, *, rtol: float | A | None = None) -> A:
        """Return pseudo-inverses."""

    def qr(self, x: A, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QR[A]:
        """Return orthonormal and triangular factors."""

    def slogdet(self, x: A, /) -> Slogdet[A]:
        """Return sign and logarithm of determinants."""

    def solve(self, x1: A, x2: A, /) -> A:
        """Return the solutions of linear equations."""

    def svd(self, x: A, /, *, full_matrices: bool = True) -> SVD[A]:
        """Return singular value decompositions."""

    def svdvals(self, x: A, /) -> A:
        """Return singular values."""

    def trace(self, x: A, /, *, offset: int = 0, dtype: NativeDType | None = None) -> A:
        """Return sums of diagonals."""

    def vector_norm(
        self,
        x: A,
        /,
        *,
        axis: int | tuple[int, ...] | None = None,
        keepdims: bool = False,
        ord: float = 2,
    ) -> A:
        """Return norms of vectors."""


class FftNamespace(Protocol[A]):
    """The extension ``fft``."""

    def fft(
        self, x: A, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward"
    ) -> A:
        """Return the discrete Fourier transform."""

    def ifft(
        self, x: A, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward"
    ) -> A:
        """Return the inverse of :meth:`fft`."""

    def fftn(
        self,
        x: A,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: FftNorm = "backward",
    ) -> A:
        """Return the transform over several axes."""

    def ifftn(
        self,
        x: A,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: FftNorm = "backward",
    ) -> A:
        """Return the inverse of :meth:`fftn`."""

    def rfft(
        self, x: A, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward"
    ) -> A:
        """Return the transform of real numbers, without its redundant half."""

    def irfft(
        self, x: A, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward"
    ) -> A:
        """Return the inverse of :meth:`rfft`."""

    def rfftn(
        self,
        x: A,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: FftNorm = "backward",
    ) -> A:
        """Return the transform of real numbers over several axes."""

    def irfftn(
        self,
        x: A,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: FftNorm = "backward",
    ) -> A:
        """Return the inverse of :meth:`rfftn`."""

    def hfft(
        self, x: A, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward"
    ) -> A:
        """Return the real transform of a Hermitian signal."""

    def ihfft(
        self, x: A, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward"
    ) -> A:
        """Return the inverse of :meth:`hfft`."""

    def fftfreq(
        self,
        n: int,
        /,
        *,
        d: float = 1.0,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return the frequencies of :meth:`fft`."""

    def rfftfreq(
        self,
        n: int,
        /,
        *,
        d: float = 1.0,
        dtype: NativeDType | None = None,
        device: NativeDevice | None = None,
    ) -> A:
        """Return the frequencies of :meth:`rfft`."""

    def fftshift(self, x: A, /, *, axes: int | Sequence[int] | None = None) -> A:
        """Return frequencies with zero moved to the middle."""

    def ifftshift(self, x: A, /, *, axes: int | Sequence[int] | None = None) -> A:
        """Return the inverse of :meth:`fftshift`."""
