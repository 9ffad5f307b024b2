"""What operations are made of: matrices in tiles, steps, and the blocks of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import uuid4

import dask.array as da
from dask._task_spec import DataNode, Task, TaskRef
from dask.highlevelgraph import HighLevelGraph

import portarray as pa
from portarray.dask import block_placement
from portarray.dask.linalg import programs
from portarray.dask.linalg.graph import Matrices
from portarray.dask.linalg.programs import Step
from portarray.dask.linalg.running import is_local, lazily

if TYPE_CHECKING:
    from portarray.dask.block_placement import Devices

    Engine = Literal["region", "dask"] | None

__all__ = ["Program", "describe", "prepare"]

Result = tuple[Any, Mapping[tuple[int, int], tuple[Any, ...]]]


class Program(NamedTuple):
    """An operation on matrices whose tiles are known."""

    name: str
    steps: tuple[Step, ...]
    matrices: Matrices
    results: dict[str, Result]

    def run(self, engine: Engine) -> list[da.Array]:
        """Return lazy results."""
        if engine not in (None, "region", "dask"):
            raise ValueError(
                f"{self.name}: engine must be 'region', 'dask' or None, got {engine!r}"
            )
        local = is_local(self.matrices.collections[0]) if engine is None else engine == "region"
        return lazily(self.name, self.steps, self.matrices, self.results, local=local)


def prepare(
    name: str, a: Any, b: Any = None, *, tiles: int | None = None, devices: Devices = None
) -> Program:
    """Return the program of an operation, after checking what it is given."""
    x = _matrix(name, "a", a, tiles, devices)
    matrices = Matrices()
    matrices.add("a", x)
    if b is not None:
        if isinstance(a, pa.Array) is not isinstance(b, pa.Array):
            raise TypeError(
                f"{name}: a and b must both be Dask arrays or both be portarray.Array, got "
                f"{describe(a)} and {describe(b)}"
            )
        second = _matrix(name, "b", b, tiles, devices, rows=x.chunks[1])
        if second.dtype != x.dtype:
            raise TypeError(
                f"{name}: a has dtype {x.dtype} and b has dtype {second.dtype}\n"
                f"Hint: convert one of them with astype"
            )
        matrices.add("b", second)
    if name == "matmul":
        return _matmul(x, second, matrices)
    _square(name, x)
    n = x.numblocks[0]
    chunks = x.chunks
    if name == "cholesky":
        blocks = {
            (i, j): (None if i >= j else _zeros, ("a", i, j))
            for i, j in product(range(n), repeat=2)
        }
        steps = tuple(programs.cholesky(chunks[0]))
        return Program(name, steps, matrices, {"l": (chunks, blocks)})
    if name in ("lu", "solve"):
        for k in range(n):
            matrices.new("p", k, 0, (sum(chunks[0][k:]),), ("a", k, k))
    if name == "lu":
        return Program(name, tuple(programs.lu(chunks[0])), matrices, _lu_results(chunks, n))
    columns = second.numblocks[1]
    blocks = {(i, j): (None, ("b", i, j)) for i, j in product(range(n), range(columns))}
    return Program(
        name, tuple(_solving(name, n, columns, chunks)), matrices, {"x": (second.chunks, blocks)}
    )


def _solving(name: str, n: int, columns: int, chunks: Any) -> Iterable[Step]:
    if name in ("solve_lower", "solve_upper"):
        yield from programs.triangular(n, columns, lower=name == "solve_lower")
    elif name == "solve":
        yield from programs.lu(chunks[0], regular=True)
        yield from programs.permuted(n, columns)
        yield from programs.triangular(n, columns, lower=True, unit=True)
        yield from programs.triangular(n, columns, lower=False)
    else:
        yield from programs.cholesky(chunks[0])
        yield from programs.triangular(n, columns, lower=True)
        yield from programs.adjoint(n, columns)


def _matmul(a: da.Array, b: da.Array, matrices: Matrices) -> Program:
    rows, inner = a.numblocks
    columns = b.numblocks[1]
    if a.chunks[1] != b.chunks[0]:
        raise ValueError(
            f"matmul: a's columns have chunks {a.chunks[1]} and b's rows have chunks "
            f"{b.chunks[0]}\n"
            f"Hint: make them equal with b.rechunk({{0: a.chunks[1]}})"
        )
    for i, j in product(range(rows), range(columns)):
        shape = (a.chunks[0][i], b.chunks[1][j])
        matrices.new("c", i, j, shape, ("a", i, j % inner))
    blocks = {(i, j): (None, ("c", i, j)) for i, j in product(range(rows), range(columns))}
    steps = tuple(programs.matmul(rows, inner, columns))
    return Program("matmul", steps, matrices, {"c": ((a.chunks[0], b.chunks[1]), blocks)})


def _lu_results(chunks: Any, n: int) -> dict[str, Result]:
    lower, upper, order = {}, {}, {}
    starts = [sum(chunks[0][:k]) for k in range(n + 1)]
    steps = tuple(("p", k, 0) for k in range(n))
    for i, j in product(range(n), repeat=2):
        tile = ("a", i, j)
        lower[i, j] = (_unit if i == j else None if i > j else _zeros, tile)
        upper[i, j] = (_upper if i == j else None if i < j else _zeros, tile)
        there = _Permutation((starts[i], starts[i + 1]), (starts[j], starts[j + 1]))
        order[i, j] = (there, tile, *steps)
    return {"p": (chunks, order), "l": (chunks, lower), "u": (chunks, upper)}


class _Permutation(NamedTuple):
    """Makes a block of the permutation matrix, on the device and of the dtype of a tile."""

    rows: tuple[int, int]
    columns: tuple[int, int]

    def __call__(self, tile: pa.Array, *orders: pa.Array) -> pa.Array:
        """Return the block."""
        whole: list[int] = orders[0].tolist()
        for order in orders[1:]:
            start = len(whole) - len(order)
            whole[start:] = [whole[start + int(row)] for row in order.tolist()]
        columns = whole[slice(*self.columns)]
        device = tile.device
        at = pa.asarray(columns, dtype=pa.int32, device=device)
        rows = pa.arange(*self.rows, dtype=pa.int32, device=device)
        return pa.astype(rows[:, None] == at, tile.dtype)


def _upper(x: pa.Array) -> pa.Array:
    return pa.triu(x)


def _unit(x: pa.Array) -> pa.Array:
    return pa.tril(x, k=-1) + pa.eye(*x.shape, dtype=x.dtype, device=x.device)


def _zeros(x: pa.Array) -> pa.Array:
    return pa.zeros_like(x)


# --- what functions take and return --------------------------------------------------------------

_DTYPES = ("float32", "float64", "complex64", "complex128")
_CPU_TILE, _TILE = 512, 2048
"""Rows and columns of tiles by default: BLAS is as fast as it gets, and tasks are short."""


def tile_size(n: int, device: pa.Device) -> int:
    """Return how many rows and columns a tile of a matrix has by default: four in a row or more."""
    most = _CPU_TILE if device.kind == "cpu" else _TILE
    return max(1, min(most, -(-n // 4)))


def _matrix(
    name: str, argument: str, x: Any, tiles: int | None, devices: Devices, rows: Any = None
) -> da.Array:
    """Return a Dask array of tiles, with a second axis where it is a vector."""
    if not isinstance(x, (da.Array, pa.Array)):
        raise TypeError(
            f"{name}: {argument} must be a Dask array or a portarray.Array, got {describe(x)}"
        )
    if x.ndim != 2 and not (x.ndim == 1 and argument == "b"):
        raise ValueError(f"{name}: {argument} must be a matrix, got shape {x.shape}")
    if str(x.dtype) not in _DTYPES:
        raise TypeError(
            f"{name}: {argument} has the unsupported dtype {x.dtype}\n"
            f"Hint: convert it with astype to one of {', '.join(_DTYPES)}"
        )
    if tiles is not None and (type(tiles) is not int or tiles < 1):
        raise ValueError(f"{name}: tiles must be a number of rows, 1 or more, got {tiles!r}")
    if x.ndim == 1:
        x = x[:, None]
    if rows is not None and sum(rows) != x.shape[0]:
        raise ValueError(
            f"{name}: a has {sum(rows)} columns and b has shape {x.shape}; "
            f"b must have as many rows as a has columns"
        )
    if isinstance(x, pa.Array):
        return _cut(x, tiles or tile_size(max(x.shape), x.device), devices)
    if tiles is not None:
        x = x.rechunk((tiles, tiles))
    elif rows is not None and x.chunks[0] != rows and name != "matmul":
        raise ValueError(
            f"{name}: a's columns have chunks {rows} and b's rows have chunks {x.chunks[0]}\n"
            f"Hint: make them equal with b.rechunk({{0: a.chunks[1]}})"
        )
    if devices is not None or not isinstance(x._meta, pa.Array):
        x = block_placement.to_device(x, devices)
    return x


def _cut(x: pa.Array, size: int, devices: Devices) -> da.Array:
    """Return the tiles of an array as a Dask array."""
    chunks = tuple(
        (size,) * (n // size) + ((n % size,) if n % size else ()) or (0,) for n in x.shape
    )
    numbers = tuple(map(len, chunks))
    belongs: dict[tuple[int, ...], str | None] = (
        dict.fromkeys(product(*map(range, numbers)), str(x.device))
        if devices is None
        else block_placement.assign(numbers, devices)
    )
    name, whole = f"tiles-{uuid4().hex}", f"whole-{uuid4().hex}"
    layer: dict[Any, Any] = {whole: DataNode(whole, x)}
    for i, j in belongs:
        key, part = (name, i, j), (size * i, size * j, size)
        layer[key] = Task(key, _tile, TaskRef(whole), part, belongs[i, j])
    graph = HighLevelGraph.from_collections(name, layer, dependencies=())
    return block_placement.new_collection(graph, name, chunks, x.dtype, belongs)


def _tile(x: pa.Array, part: tuple[int, int, int], device: str | None) -> pa.Array:
    i, j, size = part
    return block_placement.move_block(x[i : i + size, j : j + size], device)


def _square(name: str, x: da.Array) -> None:
    if x.shape[0] != x.shape[1]:
        raise ValueError(f"{name}: a must be a square matrix, got shape {x.shape}")
    if x.chunks[0] != x.chunks[1]:
        raise ValueError(
            f"{name}: rows and columns of a must have equal chunks, got {x.chunks}\n"
            f"Hint: use a.rechunk((n, n)), or pass tiles=n"
        )


def describe(x: Any) -> str:
    """Return the type of a value, and its shape where it has one, for errors."""
    shape = getattr(x, "shape", None)
    name = type(x).__name__
    return name if shape is None else f"{name} of shape {shape}"
