"""The named tuples that functions with several results return."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from portarray._array.array import Array


class UniqueAllResult(NamedTuple):
    """What :func:`portarray.unique_all` returns."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """What :func:`portarray.unique_counts` returns."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """What :func:`portarray.unique_inverse` returns."""

    values: Array
    inverse_indices: Array


class EighResult(NamedTuple):
    """What :func:`portarray.linalg.eigh` returns."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """What :func:`portarray.linalg.eig` returns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What :func:`portarray.linalg.qr` returns."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What :func:`portarray.linalg.slogdet` returns."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """What :func:`portarray.linalg.svd` returns."""

    U: Array
    S: Array
    Vh: Array
