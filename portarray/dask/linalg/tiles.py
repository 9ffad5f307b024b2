"""Functions that tasks apply to tiles.

Each function takes the tiles that it writes, then those that it reads, and returns what it writes:
one tile, or a tuple. ``owned`` is whether the memory of the written tiles may be reused.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import portarray as pa
from portarray.dask.registration import as_numpy
from portarray.errors import LinAlgError

__all__ = ["gemm", "panel", "permuted", "potrf", "product", "rtrsm", "syrk", "trsm"]


def potrf(a: pa.Array, *, index: int, first: int, owned: bool) -> pa.Array:
    """Return the lower Cholesky factor of a tile on the diagonal."""
    try:
        return _cholesky(a, owned=owned)
    except LinAlgError as error:
        raise LinAlgError(
            "cholesky",
            f"the matrix is not positive definite: tile ({index}, {index}), whose first row is "
            f"{first}, has no Cholesky factor after the previous tiles are eliminated",
        ) from error


def _cholesky(a: pa.Array, *, owned: bool) -> pa.Array:
    """Return the factor; of NumPy's tiles by SciPy's LAPACK, which takes a quarter of the time."""
    host = pa.device("numpy")
    routine = _lapack("potrf", a) if a.device == host else None
    if routine is None:
        return pa.linalg.cholesky(a)
    # Read by columns, the lower triangle is the upper one.
    factor, failed = routine(as_numpy(a).T, lower=0, overwrite_a=owned, clean=1)
    if failed:
        raise LinAlgError("cholesky", f"the minor of order {failed} is not positive definite")
    return pa.asarray(factor.T, device=host)


def _lapack(name: str, a: pa.Array) -> Any:
    """Return a routine of SciPy's LAPACK; None where SciPy is missing."""
    try:
        lapack: Any = importlib.import_module("scipy.linalg.lapack")
    except ImportError:
        return None
    letter = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[a.dtype.name]
    return getattr(lapack, f"{letter}{name}")


def _conj(x: pa.Array) -> pa.Array:
    return pa.conj(x) if pa.isdtype(x.dtype, "complex floating") else x


def rtrsm(b: pa.Array, l: pa.Array, *, owned: bool) -> pa.Array:  # noqa: E741
    """Return ``b @ inv(l).mH`` for a lower triangle."""
    return pa.kernels.solve_triangular(_conj(l), b.mT, lower=True).mT


def trsm(
    b: pa.Array,
    a: pa.Array,
    *,
    lower: bool,
    adjoint: bool = False,
    unit: bool = False,
    owned: bool,
) -> pa.Array:
    """Return ``inv(a) @ b`` for a triangle, or ``inv(a).mH @ b``."""
    a = _conj(a) if adjoint else a
    return pa.kernels.solve_triangular(a, b, lower=lower, transpose=adjoint, unit_diagonal=unit)


def syrk(c: pa.Array, a: pa.Array, *, owned: bool) -> pa.Array:
    """Return ``c - a @ a.mH``; libraries have less to do where both factors are one array."""
    product = a @ _conj(a).mT
    if not owned:
        return c - product
    c -= product
    return c


def gemm(
    c: pa.Array,
    a: pa.Array,
    b: pa.Array,
    *,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    owned: bool,
) -> pa.Array:
    """Return ``c - a @ b``, either of them as its adjoint where that is asked."""
    a, b = _conj(a) if adjoint_a else a, _conj(b) if adjoint_b else b
    options = {"transpose_a": adjoint_a, "transpose_b": adjoint_b}
    out = c if owned else pa.asarray(c, copy=True)
    return pa.kernels.gemm(a, b, out=out, alpha=-1.0, beta=1.0, **options)


def product(c: pa.Array | None, *factors: pa.Array, begins: bool, owned: bool) -> pa.Array:
    """Return ``c`` plus products of the first and the last half of tiles; `begins` without c."""
    half = len(factors) // 2
    out = c if owned else None if begins or c is None else pa.asarray(c, copy=True)
    for i, (a, b) in enumerate(zip(factors[:half], factors[half:], strict=True)):
        beta = 0.0 if begins and not i else 1.0
        out = pa.kernels.gemm(a, b, out=out, beta=beta if out is not None else 0.0)
    assert out is not None
    return out


# --- LU with partial pivoting --------------------------------------------------------------------


def panel(
    _: Any, *column: pa.Array, index: int | None = None, first: int = 0, owned: bool
) -> tuple[pa.Array, ...]:
    """Factorize a column of tiles, on the host.

    Returns the order in which rows were taken, and the tiles of both factors in one: below the
    diagonal the lower one, whose diagonal is 1. The host has LAPACK, and libraries that compile
    would do so for each pivot's shapes. With an index, that of the column, a pivot that is zero is
    an error.
    """
    device = column[0].device
    whole = pa.concat(column, axis=0).to_device("numpy")
    factors, order = _by_lapack(whole) or _factors(whole)
    if index is not None and bool(pa.any(pa.linalg.diagonal(factors) == 0)):
        raise LinAlgError(
            "solve",
            f"the matrix is singular: tile ({index}, {index}), whose first row is {first}, has a "
            f"pivot of 0",
        )
    parts = [part.to_device(device) for part in _parted(factors, column)]
    return (pa.astype(order, pa.int32).to_device(device), *parts)


def _by_lapack(a: pa.Array) -> tuple[pa.Array, pa.Array] | None:
    """Return the factors and the order of rows by SciPy's LAPACK; None where SciPy is missing."""
    routine = _lapack("getrf", a)
    if routine is None:
        return None
    factors, pivots, _ = routine(as_numpy(a))
    order = list(range(a.shape[0]))
    for k, pivot in enumerate(pivots.tolist()):
        order[k], order[pivot] = order[pivot], order[k]
    return pa.asarray(factors, device=a.device), pa.asarray(order, device=a.device)


def _factors(a: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the factors of a tall matrix and the order of rows, by halves of the columns.

    S. Toledo, "Locality of Reference in LU Decomposition with Partial Pivoting", SIAM J. Matrix
    Anal. Appl. 18 (1997), https://doi.org/10.1137/S0895479896297744.
    """
    columns = a.shape[1]
    if columns == 1:
        return _eliminated(a)
    half = columns // 2
    factored, order = _factors(a[:, :half])
    right = pa.take(a[:, half:], order, axis=0)
    top = pa.kernels.solve_triangular(
        factored[:half, :], right[:half, :], lower=True, unit_diagonal=True
    )
    bottom, later = _factors(right[half:, :] - factored[half:, :] @ top)
    later = pa.concat([pa.arange(half, dtype=later.dtype, device=a.device), later + half])
    factored = pa.take(factored, later, axis=0)
    factors = pa.concat([factored, pa.concat([top, bottom], axis=0)], axis=1)
    return factors, pa.take(order, later, axis=0)


def _eliminated(a: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the factors of a column and the order of rows."""
    rows = a.shape[0]
    order = pa.arange(rows, device=a.device)
    if not rows:
        return a, order
    pivot = int(pa.argmax(pa.abs(a[:, 0])))
    order[0], order[pivot] = pivot, 0
    factors = pa.take(a, order, axis=0)
    if complex(factors[0, 0]) != 0:
        factors[1:, :] /= factors[0, 0]
    return factors, order


def permuted(*tiles: pa.Array, owned: bool) -> Any:
    """Return a column of tiles with its rows in an order, which is the last argument."""
    *column, order = tiles
    parts = _parted(pa.take(pa.concat(column, axis=0), order, axis=0), column)
    return parts[0] if len(parts) == 1 else tuple(parts)


def _parted(whole: pa.Array, column: Sequence[pa.Array]) -> list[pa.Array]:
    """Return an array in tiles that are as high as others."""
    parts, start = [], 0
    for tile in column:
        stop = start + tile.shape[0]
        parts.append(whole[start:stop, :])
        start = stop
    return parts
