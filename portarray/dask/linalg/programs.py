"""Algorithms on tiles: which task writes and reads which, in the order of the serial program.

What runs them knows nothing of matrices (:mod:`portarray.dask.linalg.running`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from portarray.dask.linalg import tiles

__all__ = ["Step", "Tile", "adjoint", "cholesky", "lu", "matmul", "permuted", "triangular"]

Tile = tuple[str, int, int]
"""The name of a matrix, and a row and column of its tiles."""

GROUP = 8
"""Pairs of tiles that one task of a product multiplies: so many are in memory at once."""


class Step(NamedTuple):
    """A task: a function of :mod:`portarray.dask.linalg.tiles`, and what it writes and reads."""

    function: Callable[..., Any]
    writes: tuple[Tile, ...]
    reads: tuple[Tile, ...] = ()
    options: Mapping[str, Any] = {}


def cholesky(sizes: tuple[int, ...]) -> Iterator[Step]:
    """Replace the lower half of ``a`` by its factor, a column of tiles after the other."""
    n = len(sizes)
    for k in range(n):
        options = {"index": k, "first": sum(sizes[:k])}
        yield Step(tiles.potrf, (("a", k, k),), (), options)
        for i in range(k + 1, n):
            yield Step(tiles.rtrsm, (("a", i, k),), (("a", k, k),))
        for j in range(k + 1, n):
            yield Step(tiles.syrk, (("a", j, j),), (("a", j, k),))
            for i in range(j + 1, n):
                pair = ("a", i, k), ("a", j, k)
                yield Step(tiles.gemm, (("a", i, j),), pair, {"adjoint_b": True})


def lu(sizes: tuple[int, ...], *, regular: bool = False) -> Iterator[Step]:
    """Replace ``a`` by its factors and ``p`` by orders of rows, with partial pivoting.

    The panels, which are columns of tiles, are factorized as a whole. With ``regular``, a singular
    matrix is an error.
    """
    n = len(sizes)
    for k in range(n):
        rows = range(k, n)
        order = ("p", k, 0)
        options = {"index": k, "first": sum(sizes[:k])} if regular else {}
        yield Step(tiles.panel, (order, *(("a", i, k) for i in rows)), (), options)
        for j in (*range(k + 1, n), *range(k)):
            yield Step(tiles.permuted, tuple(("a", i, j) for i in rows), (order,))
        for j in range(k + 1, n):
            half = {"lower": True, "unit": True}
            yield Step(tiles.trsm, (("a", k, j),), (("a", k, k),), half)
            for i in range(k + 1, n):
                yield Step(tiles.gemm, (("a", i, j),), (("a", i, k), ("a", k, j)))


def permuted(n: int, columns: int) -> Iterator[Step]:
    """Bring the rows of ``b`` into the order that ``p`` holds."""
    for k in range(n):
        for j in range(columns):
            rows = tuple(("b", i, j) for i in range(k, n))
            yield Step(tiles.permuted, rows, (("p", k, 0),))


def triangular(n: int, columns: int, *, lower: bool, unit: bool = False) -> Iterator[Step]:
    """Replace ``b`` by the solution with one half of ``a``."""
    for i in range(n) if lower else reversed(range(n)):
        for j in range(columns):
            half = {"lower": lower, "unit": unit}
            yield Step(tiles.trsm, (("b", i, j),), (("a", i, i),), half)
            for r in range(i + 1, n) if lower else range(i):
                yield Step(tiles.gemm, (("b", r, j),), (("a", r, i), ("b", i, j)))


def adjoint(n: int, columns: int) -> Iterator[Step]:
    """Replace ``b`` by the solution with the adjoint of the lower half of ``a``."""
    for i in reversed(range(n)):
        for j in range(columns):
            half = {"lower": True, "adjoint": True}
            yield Step(tiles.trsm, (("b", i, j),), (("a", i, i),), half)
            for r in range(i):
                pair = ("a", i, r), ("b", i, j)
                yield Step(tiles.gemm, (("b", r, j),), pair, {"adjoint_a": True})


def matmul(rows: int, inner: int, columns: int) -> Iterator[Step]:
    """Write the product of ``a`` and ``b`` into ``c``."""
    for i in range(rows):
        for j in range(columns):
            for start in range(0, inner, GROUP):
                among = range(start, min(start + GROUP, inner))
                pairs = *(("a", i, k) for k in among), *(("b", k, j) for k in among)
                yield Step(tiles.product, (("c", i, j),), pairs, {"begins": not start})
