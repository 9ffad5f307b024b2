"""A Gaussian process: a Cholesky solve of a kernel matrix larger than the workers' memory.

Each tile of the matrix is made on its device. A worker of the cluster keeps as many tiles as its
memory limit allows, and writes the others to disk until they are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dask
import numpy as np
from distributed import Client, get_task_stream

import portarray as pa
import portarray.dask as pd
from examples.distributed.outcome import Bar, Outcome, common_dtype

__all__ = ["run"]

LENGTH, NOISE = 0.1, 1e-2


def tile(zeros: pa.Array, points: Any, block_info: Any) -> pa.Array:
    """Return a tile of the kernel matrix, on the device of the zeros in its place."""
    (top, bottom), (first, right) = block_info[0]["array-location"]

    def put(x: Any) -> pa.Array:
        return pa.asarray(x, device=zeros.device)

    x, y = put(points[top:bottom]), put(points[first:right])
    apart = pa.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    diagonal = put(
        np.equal.outer(np.arange(top, bottom), np.arange(first, right)).astype(points.dtype)
    )
    return pa.exp(apart / (-2 * LENGTH**2)) + NOISE * diagonal


def with_scipy(points: Any, values: Any) -> Any:
    """Solve the same in one piece."""
    from scipy.linalg import solve

    apart = ((points[:, None, :] - points[None, :, :]) ** 2).sum(-1)
    kernel = np.exp(apart / (-2 * LENGTH**2)) + NOISE * np.eye(len(points), dtype=points.dtype)
    return solve(kernel, values, assume_a="pos")


def on_disk(dask_worker: Any) -> int:
    """Return the bytes that a worker has written to disk."""
    return int(dask_worker.data.spilled_total.disk)


def run(devices: Sequence[str], quick: bool) -> Outcome:
    """Solve on a cluster with a worker for each device."""
    n, size, limit = (256, 64, 100_000) if quick else (4096, 512, 24_000_000)
    dtype = common_dtype(devices)
    rng = np.random.default_rng(0)
    points = rng.uniform(size=(n, 2)).astype(dtype)
    values = np.sin(6 * points[:, 0]) + points[:, 1] ** 2
    # The limit counts tiles alone, not the libraries that a process has loaded.
    only_tiles = dict.fromkeys(
        [f"distributed.worker.memory.{state}" for state in ("spill", "pause", "terminate")], False
    )
    with (
        dask.config.set(only_tiles),
        pd.LocalCluster(list(devices), memory_limit=limit, dashboard_address=None) as cluster,
        Client(cluster) as client,
        get_task_stream(client) as stream,
    ):
        blank = pd.zeros((n, n), dtype=dtype, chunks=size, devices=list(devices))
        meta = np.empty((0, 0), dtype)
        kernel = blank.map_blocks(tile, points, dtype=dtype, meta=pa.asarray(meta))
        kernel = pd.persist(pd.to_device(kernel, list(devices)))
        placement = pd.placement(kernel).verify()
        right = pd.from_array(values, chunks=size, devices=devices[0])
        weights = pd.collect(pd.linalg.solve(kernel, right, assume_a="pos"), "numpy").native
        spilled = sum(client.run(on_disk).values())
        names = {address: worker["name"] for address, worker in pd.workers_of(client).items()}
    expected = with_scipy(points, values)
    return Outcome(
        "scipy.linalg.solve",
        float(np.max(np.abs(weights - expected)) / np.max(np.abs(expected))),
        1e-8 if dtype == "float64" else 1e-2,
        {worker.block: worker.device for worker in placement},
        bars(stream.data, names),
        [
            f"a matrix of {kernel.nbytes / 1e6:.1f} MB, and {limit / 1e6:.1f} MB for tiles in each "
            "worker",
            f"{spilled / 1e6:.1f} MB of tiles on disk at the end",
        ],
    )


def bars(records: Sequence[Any], names: Mapping[str, str]) -> list[Bar]:
    """Return what workers computed when, of the scheduler's records."""
    rectangles = [
        Bar(names[entry["worker"]], str(entry["key"]), part["start"], part["stop"])
        for entry in records
        for part in entry["startstops"]
        if part["action"] == "compute"
    ]
    start = min((bar.start for bar in rectangles), default=0.0)
    return [Bar(b.worker, b.name, b.start - start, b.stop - start) for b in rectangles]
