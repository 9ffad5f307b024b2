"""Regions on the CPU and a device, and Dask chunks on it, compared with NumPy alone."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from part import Outcome, outcome, run_cases

import portarray as pa
from portarray.tasks import In, InOut, Region

BOUND = 3e-3  # largest error, relative to the largest element

SIDE = 32
HOST = "numpy"


def add(x: pa.Array, y: pa.Array) -> None:
    """Change y in place, exactly; the result depends on the order of calls."""
    y *= 3
    y += x
    y %= 1000


def programs(device: str) -> str:
    """Run random calls on arrays of the device and on views of a host array."""
    draw = random.Random(0)
    for _ in range(20):
        alone = [np.arange(24, dtype=np.int32), *(np.full(8, i, dtype=np.int32) for i in range(3))]
        whole, *there = (
            pa.asarray(x, device=device if i else HOST, copy=True) for i, x in enumerate(alone)
        )
        parts = [slice(i, i + 8) for i in range(17)]
        views = [*(whole[part] for part in parts), *there]
        expected = [*(alone[0][part] for part in parts), *alone[1:]]
        with Region() as region:
            for _ in range(40):
                i, j = draw.sample(range(len(views)), 2)
                where = draw.choice((HOST, device)) if max(i, j) >= len(parts) else None
                region.spawn(add, In(views[i]), InOut(views[j]), device=where)
                add(expected[i], expected[j])  # type: ignore[arg-type]
        for k, (got, want) in enumerate(zip((whole, *there), alone, strict=True)):
            if not np.array_equal(np.asarray(got.to_device(HOST)), want):
                return f"array {k} of {got.device} differs from sequential calls"
    return ""


def check_moves(device: str) -> str:
    """Write an array of each device on the other device."""
    for here, there in ((HOST, device), (device, HOST)):
        x = pa.asarray(np.arange(1000, dtype=np.int32), device=here)
        ones, y = (make(1000, dtype="int32", device=there) for make in (pa.ones, pa.zeros))
        with Region() as region:
            region.spawn(add, In(ones), InOut(x))
            region.spawn(add, In(x), InOut(y), device=here)
            region.spawn(add, In(y), InOut(x), device=there)
        first = (np.arange(1000) * 3 + 1) % 1000
        if not np.array_equal(np.asarray(x.to_device(HOST)), (first * 3 + first) % 1000):
            return f"values written on {there} are not on {here}"
    return ""


def matrix(n: int) -> np.ndarray[Any, Any]:
    """Return a matrix that has a Cholesky factor."""
    x = np.random.default_rng(0).normal(size=(n, n))
    return (x @ x.T / n + np.eye(n)).astype(np.float32)


def potrf(a: pa.Array) -> None:
    """Factorize a tile of the diagonal."""
    a[...] = pa.linalg.cholesky(a)


def trsm(a: pa.Array, b: pa.Array) -> None:
    """Solve for a tile below the diagonal."""
    b[...] = pa.linalg.solve(a, b.mT).mT


def gemm(x: pa.Array, y: pa.Array, c: pa.Array) -> None:
    """Update a later tile."""
    c -= x @ y.mT


def cholesky(device: str) -> str:
    """Factorize a matrix whose rows of tiles alternate between the CPU and the device."""
    n, whole = 4, matrix(4 * SIDE)
    cut = [slice(SIDE * i, SIDE * (i + 1)) for i in range(n)]
    tiles = [
        [
            pa.asarray(whole[cut[i], cut[j]], device=(device, HOST)[i % 2], copy=True)
            for j in range(i + 1)
        ]
        for i in range(n)
    ]
    with Region() as region:
        for k in range(n):
            region.spawn(potrf, InOut(tiles[k][k]))
            for i in range(k + 1, n):
                region.spawn(trsm, In(tiles[k][k]), InOut(tiles[i][k]))
                for j in range(k + 1, i + 1):
                    region.spawn(gemm, In(tiles[i][k]), In(tiles[j][k]), InOut(tiles[i][j]))
    want = np.linalg.cholesky(whole.astype(np.float64))
    for i in range(n):
        for j in range(i + 1):
            off = differs(tiles[i][j], want[cut[i], cut[j]])
            if off or str(tiles[i][j].device) != str(pa.device((device, HOST)[i % 2])):
                return f"tile {i}, {j}, on {tiles[i][j].device}: {off}"
    return ""


def differs(got: pa.Array, want: np.ndarray[Any, Any]) -> str:
    """Return by how much an array differs from the expected one, or an empty string."""
    values = np.asarray(got.to_device(HOST))
    off = float(np.max(np.abs(values - want)) / (1 + np.max(np.abs(want))))
    return "" if off <= BOUND else f"differs from NumPy's by {off:.2g}"


def chunks(device: str) -> str:
    """Compute with Dask; chunks stay on the device."""
    import dask

    import portarray.dask as pd

    whole = matrix(4 * SIDE)
    with dask.config.set(scheduler="threads"):
        x = pd.from_array(whole, chunks=SIDE, devices=device)
        pd.placement(pd.persist(x @ x.T + x.sum(axis=0))).verify()
        y = ((x - x.mean(axis=0)) @ x.T)[:, ::3]
        rows = pd.placement(pd.persist(y))
        if {row.device for row in rows} != {str(pa.device(device))}:
            return f"chunks are on {sorted({row.device for row in rows})}"
        # Move blocks there and back.
        z = pd.to_device(pd.to_device(y, HOST), lambda index: (device, HOST)[sum(index) % 2])
        pd.placement(pd.persist(z)).verify()
        want = ((whole - whole.mean(axis=0)) @ whole.T)[:, ::3]
        off = differs(pd.collect(z, HOST), want)
        if off:
            return off
        # Blocks of the device and of the host meet.
        x = pd.from_array(whole, chunks=SIDE, devices=[device, HOST])
        y = ((x - x.mean(axis=0)) @ x.T)[:, ::3]
        pd.placement(pd.persist(y)).verify()
        return differs(y.compute(), want)


def workers(device: str) -> str:
    """Send chunks of the device to another process and back."""
    import distributed

    import portarray.dask as pd

    whole = matrix(4 * SIDE)
    local_cluster = pd.LocalCluster(devices=[device, device], dashboard_address=None)
    with local_cluster as cluster, distributed.Client(cluster):
        x = pd.persist(pd.from_array(whole, chunks=SIDE, devices=device))
        y = pd.persist(x @ x.T)
        table = pd.placement(y).verify()
        if len({row.worker for row in table}) != 2:
            return "one worker has all blocks"
        return differs(pd.collect(y, HOST), whole @ whole.T)


CASES: dict[str, tuple[Callable[[str], str], str]] = {
    "regions": (programs, ""),
    "moves": (check_moves, ""),
    "cholesky": (cholesky, ""),
    "dask chunks": (chunks, "dask"),
    "dask workers": (workers, "distributed"),
}


def checked(name: str, device: str) -> Outcome:
    """Run a case; return the status and what is wrong."""
    run, needs = CASES[name]
    if needs and importlib.util.find_spec(needs) is None:
        return "not run", f"{needs} is not installed"
    return outcome(run, device)


def cases(device: str) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield every case."""
    for name in CASES:
        yield name, partial(checked, name, device)


if __name__ == "__main__":
    run_cases(__doc__, cases)
