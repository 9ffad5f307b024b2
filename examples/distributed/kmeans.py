"""k-means over chunks: points stay on their devices, and sums of clusters travel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.diagnostics import Profiler

import portarray as pa
import portarray.dask as pd
from examples.distributed.outcome import Bar, Outcome, common_dtype

__all__ = ["run"]


def sums(points: pa.Array, centres: Any) -> pa.Array:
    """Return for each cluster the sum of its points in a chunk, and in a last column how many."""
    c = pa.asarray(centres, device=points.device)
    # Squares of distances, but for a term that is the same for all centres.
    apart = pa.sum(c * c, axis=1) - 2 * (points @ c.T)
    nearest = pa.argmin(apart, axis=1)
    which = nearest[:, None] == pa.arange(c.shape[0], dtype=nearest.dtype, device=points.device)
    ones = pa.ones((points.shape[0], 1), dtype=points.dtype, device=points.device)
    return (pa.astype(which, points.dtype).T @ pa.concat([points, ones], axis=1))[None]


def with_sklearn(points: Any, centres: Any, steps: int) -> Any:
    """Compute the same by scikit-learn."""
    from sklearn.cluster import KMeans

    model = KMeans(len(centres), init=centres, n_init=1, max_iter=steps, tol=0, algorithm="lloyd")
    return model.fit(points).cluster_centers_


def run(devices: Sequence[str], quick: bool) -> Outcome:
    """Find clusters of points, whose chunks take turns on the devices."""
    count, clusters, steps = (2000, 5, 50) if quick else (400_000, 8, 50)
    dtype = common_dtype(devices)
    rng = np.random.default_rng(0)
    middles = rng.uniform(-10, 10, size=(clusters, 3))
    points = np.repeat(middles, count // clusters, axis=0).astype(dtype)
    points += rng.normal(size=points.shape).astype(dtype)
    rng.shuffle(points)
    first = centres = points[:clusters].copy()
    chunks = pd.persist(pd.from_array(points, chunks=(count // 8, 3), devices=list(devices)))
    with Profiler() as profiler:
        for taken in range(1, steps + 1):  # noqa: B007
            parts = chunks.map_blocks(
                sums,
                centres,
                new_axis=[2],
                chunks=((1,) * 8, (clusters,), (4,)),
                dtype=dtype,
                meta=pa.empty((0, 0, 0), dtype=dtype, device=devices[0]),
            )
            total = pd.collect(da.sum(pd.to_device(parts, "numpy"), axis=0), "numpy").native
            previous, centres = centres, total[:, :3] / total[:, 3:]
            if np.allclose(previous, centres, rtol=0, atol=1e-9):
                break
    expected = with_sklearn(points, first, steps)
    tasks = [
        (task.worker_id, task.key, task.start_time, task.end_time) for task in profiler.results
    ]
    first_start = min((start for _, _, start, _ in tasks), default=0.0)
    return Outcome(
        "sklearn.cluster.KMeans",
        float(np.max(np.abs(centres - expected))),
        1e-8 if dtype == "float64" else 1e-3,
        {task.block: task.device for task in pd.placement(chunks)},
        [Bar(f"thread {w}", str(key), a - first_start, b - first_start) for w, key, a, b in tasks],
        [f"{count} points in {chunks.numblocks[0]} chunks, {taken} steps"],
    )
