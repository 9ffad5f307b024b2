"""The named tuples that functions with several results return."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "UniqueAllResult",
    "UniqueCountsResult",
    "UniqueInverseResult",
]

A = TypeVar("A")


class UniqueAllResult(NamedTuple, Generic[A]):
    """What ``unique_all`` returns."""

    values: A
    indices: A
    inverse_indices: A
    counts: A


class UniqueCountsResult(NamedTuple, Generic[A]):
    """What ``unique_counts`` returns."""

    values: A
    counts: A


class UniqueInverseResult(NamedTuple, Generic[A]):
    """What ``unique_inverse`` returns."""

    values: A
    inverse_indices: A


class EighResult(NamedTuple, Generic[A]):
    """What ``linalg.eigh`` returns."""

    eigenvalues: A
    eigenvectors: A


class EigResult(NamedTuple, Generic[A]):
    """What ``linalg.eig`` returns."""

    eigenvalues: A
    eigenvectors: A


class QRResult(NamedTuple, Generic[A]):
    """What ``linalg.qr`` returns."""

    Q: A
    R: A


class SlogdetResult(NamedTuple, Generic[A]):
    """What ``linalg.slogdet`` returns."""

    sign: A
    logabsdet: A


class SVDResult(NamedTuple, Generic[A]):
    """What ``linalg.svd`` returns."""

    U: A
    S: A
    Vh: A
