"""Linear algebra of Dask arrays and of arrays that are cut into tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import dask.array as da

import portarray as pa
from portarray.dask import block_placement
from portarray.dask.linalg.preparing import Program, describe, prepare

if TYPE_CHECKING:
    from portarray.dask.block_placement import Devices
    from portarray.dask.linalg.preparing import Engine

__all__ = ["cholesky", "lu", "matmul", "qr", "solve", "solve_triangular"]


def matmul(
    a: Any, b: Any, /, *, tiles: int | None = None, devices: Devices = None, engine: Engine = None
) -> Any:
    """Multiply matrices by tiles.

    Parameters
    ----------
    a, b : dask.array.Array or Array
        Matrices, or a vector `b`, of floating-point numbers of one dtype.
    tiles : int, optional
        Rows and columns of a tile; by default the chunks of a Dask array, and what fits the device
        for an :class:`portarray.Array`.
    devices : device-like, sequence, callable, "all" or None
        Where tiles are put before, as for :func:`portarray.dask.to_device`; None leaves them.
    engine : {"region", "dask"}, optional
        A region of this process, or a graph with a task for each step; by default a region where
        Dask computes in threads of this process.

    Returns
    -------
    dask.array.Array or Array
        A lazy array, of which each tile is on the device of one of `a` in its row; an array, if `a`
        is one.

    Raises
    ------
    ValueError, TypeError
        If shapes, chunks or dtypes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray.dask as pd
    >>> a = pd.from_array(np.arange(16.0).reshape(4, 4), chunks=2, devices="numpy")
    >>> x = pd.linalg.matmul(a, pd.ones(4, chunks=2, devices="numpy"))
    >>> x.chunks, pd.collect(x).tolist()
    (((2, 2),), [6.0, 22.0, 38.0, 54.0])
    """
    program = prepare("matmul", a, b, tiles=tiles, devices=devices)
    return _finished(program, engine, a, vector=b)


def cholesky(
    x: Any,
    /,
    *,
    upper: bool = False,
    tiles: int | None = None,
    devices: Devices = None,
    engine: Engine = None,
) -> Any:
    """Return the triangular factor of a Hermitian positive definite matrix: ``x = l @ l.mH``.

    Parameters
    ----------
    x : dask.array.Array or Array
        Square matrix, whose chunks are square on the diagonal; its lower half is read.
    upper : bool, default: False
        Whether to return ``l.mH``.
    tiles, devices, engine
        As for :func:`matmul`.

    Returns
    -------
    dask.array.Array or Array
        As for :func:`matmul`; each tile is on the device of that of `x`.

    Raises
    ------
    ValueError, TypeError
        If the shape, the chunks or the dtype do not fit.
    LinAlgError
        When it is computed, if `x` is not positive definite; names the tile.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray.dask as pd
    >>> factor = np.tril(np.ones((4, 4)))
    >>> x = pd.from_array(factor @ factor.T, chunks=2, devices="numpy")
    >>> pd.collect(pd.linalg.cholesky(x)).tolist()[3]
    [1.0, 1.0, 1.0, 1.0]
    >>> pd.linalg.cholesky(-x).compute()
    Traceback (most recent call last):
        ...
    portarray.errors.LinAlgError: cholesky: the matrix is not positive definite: tile (0, 0), ...
    """
    lower = _finished(prepare("cholesky", x, tiles=tiles, devices=devices), engine, x)
    if not upper:
        return lower
    return _conjugate(lower).T if isinstance(lower, da.Array) else _conjugate(lower).mT


def lu(
    x: Any, /, *, tiles: int | None = None, devices: Devices = None, engine: Engine = None
) -> tuple[Any, Any, Any]:
    """Factorize a matrix with partial pivoting: ``x = p @ l @ u``.

    Parameters
    ----------
    x : dask.array.Array or Array
        Square matrix, whose chunks are square on the diagonal.
    tiles, devices, engine
        As for :func:`matmul`.

    Returns
    -------
    p, l, u : dask.array.Array or Array
        A permutation, a lower triangle with ones on the diagonal, and an upper one.

    Raises
    ------
    ValueError, TypeError
        If the shape, the chunks or the dtype do not fit.

    Notes
    -----
    A column of tiles is factorized as a whole, on the host (by SciPy's LAPACK, where it is
    installed); the other tiles are computed where they are. So pivots are the largest numbers of
    whole columns, as LAPACK's are: elements of `u` grow to ``2 ** (n - 1)`` times those of `x` at
    most, and about ``n ** (2 / 3)`` times as a rule (Higham, "Accuracy and Stability of Numerical
    Algorithms", 2002, chapter 9). ``dask.array.linalg.lu`` pivots within tiles alone, where growth
    has no bound.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray.dask as pd
    >>> x = pd.from_array(np.flip(np.eye(4), axis=0), chunks=2, devices="numpy")  # zero pivots
    >>> p, l, u = pd.linalg.lu(x)
    >>> bool((abs(p @ l @ u - x) == 0).all())
    True
    """
    program = prepare("lu", x, tiles=tiles, devices=devices)
    p, lower, upper = _finished(program, engine, x)
    return p, lower, upper


def solve(
    a: Any,
    b: Any,
    /,
    *,
    assume_a: Literal["gen", "pos"] = "gen",
    tiles: int | None = None,
    devices: Devices = None,
    engine: Engine = None,
) -> Any:
    """Solve ``a @ x = b``.

    Parameters
    ----------
    a : dask.array.Array or Array
        Square matrix.
    b : dask.array.Array or Array
        Vector or matrix, in chunks of as many rows.
    assume_a : {"gen", "pos"}, default: "gen"
        Any matrix, which is factorized as by :func:`lu`; or a Hermitian positive definite one, of
        which the lower half is read, as by :func:`cholesky`.
    tiles, devices, engine
        As for :func:`matmul`.

    Returns
    -------
    dask.array.Array or Array
        Of the shape and the devices of `b`.

    Raises
    ------
    ValueError, TypeError
        If shapes, chunks or dtypes do not fit.
    LinAlgError
        When it is computed, if `a` is singular, or not positive definite where that was assumed;
        names the tile.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> import portarray.dask as pd
    >>> values = np.full((4, 4), 1.0) + np.eye(4)
    >>> a = pd.from_array(values, chunks=2, devices="numpy")
    >>> x = pd.linalg.solve(a, pd.full(4, 5.0, chunks=2, devices="numpy"), assume_a="pos")
    >>> [round(value, 9) for value in pd.collect(x).tolist()]
    [1.0, 1.0, 1.0, 1.0]
    >>> pd.linalg.solve(pa.asarray(values), pa.full(4, 5.0)).shape  # an array, cut into tiles
    (4,)
    """
    if assume_a not in ("gen", "pos"):
        raise ValueError(f"solve: assume_a must be 'gen' or 'pos', got {assume_a!r}")
    name = "solve" if assume_a == "gen" else "solve_positive"
    program = prepare(name, a, b, tiles=tiles, devices=devices)
    return _finished(program, engine, a, vector=b)


def solve_triangular(
    a: Any,
    b: Any,
    /,
    *,
    lower: bool = False,
    tiles: int | None = None,
    devices: Devices = None,
    engine: Engine = None,
) -> Any:
    """Solve ``a @ x = b`` for a triangular matrix.

    Parameters
    ----------
    a : dask.array.Array or Array
        Square matrix, of which one half is read.
    b : dask.array.Array or Array
        Vector or matrix, in chunks of as many rows.
    lower : bool, default: False
        Whether the lower half is read, and not the upper one.
    tiles, devices, engine
        As for :func:`matmul`.

    Returns
    -------
    dask.array.Array or Array
        Of the shape and the devices of `b`.

    Raises
    ------
    ValueError, TypeError
        If shapes, chunks or dtypes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray.dask as pd
    >>> a = pd.from_array(np.tril(np.ones((4, 4))), chunks=2, devices="numpy")
    >>> b = pd.arange(1.0, 5.0, chunks=2, devices="numpy")
    >>> pd.collect(pd.linalg.solve_triangular(a, b, lower=True)).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    name = "solve_lower" if lower else "solve_upper"
    program = prepare(name, a, b, tiles=tiles, devices=devices)
    return _finished(program, engine, a, vector=b)


def qr(x: da.Array, /) -> tuple[da.Array, da.Array]:
    """Factorize a matrix of one column or one row of chunks: ``x = q @ r``.

    The chunks may be on several devices.

    Parameters
    ----------
    x : dask.array.Array
        Tall and one chunk wide, or wide and one chunk high.

    Returns
    -------
    q, r : dask.array.Array
        Orthonormal columns, and an upper triangle.

    Raises
    ------
    ValueError
        If `x` has several chunks in rows and in columns.

    Notes
    -----
    Dask's own, ``dask.array.linalg.qr``: TSQR where `x` is tall.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray.dask as pd
    >>> x = pd.from_array(np.arange(12.0).reshape(6, 2), chunks=(3, 2), devices="numpy")  # tall
    >>> q, r = pd.linalg.qr(x)
    >>> r.shape, bool((abs(q @ r - x) < 1e-9).all())
    ((2, 2), True)
    """
    if not isinstance(x, da.Array) or x.ndim != 2:
        raise TypeError(f"qr: x must be a Dask array with two axes, got {describe(x)}")
    if min(x.numblocks) > 1:
        raise ValueError(
            f"qr: x must have one column of chunks or one row of chunks, got chunks {x.chunks}\n"
            f"Hint: x.rechunk({{1: -1}}) gives one column of chunks"
        )
    q, r = da.linalg.qr(x)
    return q, r


def _finished(program: Program, engine: Engine, like: Any, vector: Any = None) -> Any:
    """Return results as what an operation was given: lazy, or computed now."""
    results = program.run(engine)
    if vector is not None and vector.ndim == 1:
        results = [x[:, 0] for x in results]
    if isinstance(like, pa.Array):
        results = [_collected(x, like.device) for x in results]
    return results[0] if len(results) == 1 else tuple(results)


def _collected(x: da.Array, device: pa.Device) -> pa.Array:
    result: pa.Array = block_placement.to_device(x, device).compute(scheduler="synchronous")
    return result


def _conjugate(x: Any) -> Any:
    if x.dtype.kind != "c":
        return x
    conjugate: Callable[[Any], Any] = da.conj if isinstance(x, da.Array) else pa.conj
    return conjugate(x)
