"""A map over images: each is blurred, and its edges are found, on the device of its chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dask.diagnostics import Profiler

import portarray as pa
import portarray.dask as pd
from examples.distributed.outcome import Bar, Outcome

__all__ = ["run"]

SIGMA = 2.0


def weights() -> list[float]:
    """Return those of a Gaussian, of four standard deviations to either side."""
    reach = round(4 * SIGMA)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / SIGMA) ** 2)
    return [float(weight) for weight in bell / bell.sum()]


def edges(images: pa.Array) -> pa.Array:
    """Return how steep the brightness of blurred images is; borders are those of a torus."""
    for axis in (1, 2):
        bell = weights()
        reach = len(bell) // 2
        images = sum(  # type: ignore[assignment]
            w * pa.roll(images, shift, axis=axis)
            for shift, w in zip(range(-reach, reach + 1), bell, strict=True)
        )
    down, right = (
        (pa.roll(images, -1, axis=axis) - pa.roll(images, 1, axis=axis)) / 2 for axis in (1, 2)
    )
    return pa.hypot(down, right)


def with_scipy(images: Any) -> Any:
    """Compute the same by ``scipy.ndimage``."""
    from scipy.ndimage import correlate1d, gaussian_filter

    blurred = gaussian_filter(images, SIGMA, axes=(1, 2), mode="wrap")
    down, right = (correlate1d(blurred, [-0.5, 0.0, 0.5], axis, mode="wrap") for axis in (1, 2))
    return np.hypot(down, right)


def random_images(count: int, size: int) -> Any:
    """Return images of discs on noise."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size]
    centre = rng.uniform(0.2, 0.8, size=(count, 2, 1, 1)) * size
    inside = np.hypot(y - centre[:, 0], x - centre[:, 1]) < size / 6
    return (inside + rng.normal(scale=0.1, size=inside.shape)).astype(np.float32)


def run(devices: Sequence[str], quick: bool) -> Outcome:
    """Map over chunks of images, which take turns on the devices."""
    count, size = (8, 32) if quick else (64, 512)
    images = random_images(count, size)
    stack = pd.from_array(images, chunks=(count // 8, size, size), devices=list(devices))
    with Profiler() as profiler:
        result = pd.persist(stack.map_blocks(edges, dtype=np.float32, meta=stack._meta))
    expected = with_scipy(images)
    values = pd.collect(result, "numpy").native
    tasks = [
        (task.worker_id, task.key, task.start_time, task.end_time) for task in profiler.results
    ]
    first_start = min((start for _, _, start, _ in tasks), default=0.0)
    return Outcome(
        "scipy.ndimage",
        float(np.max(np.abs(values - expected))),
        1e-5,
        {(task.block[0], 0): task.device for task in pd.placement(result)},
        [Bar(f"thread {w}", str(key), a - first_start, b - first_start) for w, key, a, b in tasks],
        [f"{count} images of {size} x {size}"],
    )
