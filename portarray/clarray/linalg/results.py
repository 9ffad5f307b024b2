"""What functions with several results return."""

from __future__ import annotations

from typing import NamedTuple

from portarray.clarray.strided import Array


class EigResult(NamedTuple):
    """What :func:`~portarray.clarray.linalg.eig` returns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What :func:`~portarray.clarray.linalg.eigh` returns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What :func:`~portarray.clarray.linalg.qr` returns."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What :func:`~portarray.clarray.linalg.slogdet` returns."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """What :func:`~portarray.clarray.linalg.svd` returns."""

    U: Array
    S: Array
    Vh: Array
