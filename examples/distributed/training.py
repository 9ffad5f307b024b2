"""Training over devices: each computes the gradients of its chunks, and a tree adds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import portarray as pa
from examples.distributed.outcome import Bar, Outcome, common_dtype

__all__ = ["digits", "initial", "loss", "run", "trained"]

HIDDEN, RATE = 16, 0.5
SHAPES = [(64, HIDDEN), (HIDDEN,), (HIDDEN, 10), (10,)]


def digits(dtype: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return images of digits, one in a row, and in each row of the labels a one."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return (images / 16).astype(dtype), np.eye(10, dtype=dtype)[labels]


def initial(dtype: Any) -> np.ndarray[Any, Any]:
    """Return the weights of a network of two layers, in one vector."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(scale=1 / shape[0] ** 0.5, size=shape).ravel() for shape in SHAPES]
    return np.concatenate(parts).astype(dtype)


def loss(weights: pa.Array, images: pa.Array, labels: pa.Array) -> pa.Array:
    """Return the cross-entropy of a network, summed over the images."""
    parts, start = [], 0
    for shape in SHAPES:
        stop = start + int(np.prod(shape))
        parts.append(pa.reshape(weights[start:stop], shape))
        start = stop
    first, first_bias, second, second_bias = parts
    scores = pa.tanh(images @ first + first_bias) @ second + second_bias
    scores = scores - pa.max(scores, axis=1, keepdims=True)
    return pa.sum(labels * (pa.log(pa.sum(pa.exp(scores), axis=1, keepdims=True)) - scores))


def gradient(images: pa.Array, labels: pa.Array, weights: Any) -> pa.Array:
    """Return the gradient of a chunk's loss, on the device of the chunk."""
    there = pa.to_device(weights, images.device)
    slope: pa.Array = pa.grad(loss)(there, images, labels)
    return slope[None]


def trained(
    total: Callable[[pa.Array], pa.Array], weights: pa.Array, count: int, steps: int
) -> pa.Array:
    """Return the weights after some steps along the mean gradient."""
    for _ in range(steps):
        weights = weights - RATE / count * total(weights)
    return weights


def run(devices: Sequence[str], quick: bool) -> Outcome:
    """Train with chunks of images that take turns on the devices."""
    from dask.diagnostics import Profiler

    import portarray.dask as pd

    steps, parts = (5, 6) if quick else (100, 6)
    dtype = common_dtype(devices)
    images, labels = digits(dtype)
    count, rows = len(images), -(-len(images) // parts)
    x = pd.persist(pd.from_array(images, (rows, -1), list(devices)))
    y = pd.persist(pd.from_array(labels, (rows, -1), list(devices)))
    weights = pa.asarray(initial(dtype), device=devices[0])

    def slopes(weights: pa.Array) -> Any:
        size = weights.shape[0]
        chunks = ((1,) * parts, (size,))
        meta = pa.empty((0, 0), dtype=dtype, device=devices[0])
        return x.map_blocks(gradient, y, weights=weights, chunks=chunks, dtype=dtype, meta=meta)

    def total(weights: pa.Array) -> pa.Array:
        return pd.collect(slopes(weights).sum(axis=0, split_every=parts), devices[0])

    plan = pd.explain(slopes(weights).sum(axis=0, split_every=parts))
    with Profiler() as profiler:
        final = trained(total, weights, count, steps)
    whole, whole_labels, start = map(pa.asarray, (images, labels, initial(dtype)))
    alone = trained(lambda w: gradient(whole, whole_labels, w)[0], start, count, steps)
    tasks = [(t.worker_id, str(t.key), t.start_time, t.end_time) for t in profiler.results]
    first_start = min((start for _, _, start, _ in tasks), default=0.0)
    difference = pa.to_device(final, "numpy").native - pa.to_device(alone, "numpy").native
    return Outcome(
        "the same steps on one device",
        float(np.max(np.abs(difference))),
        1e-9 if dtype == "float64" else 1e-3,
        {row.block: row.device for row in pd.placement(x)},
        [Bar(f"thread {w}", key, a - first_start, b - first_start) for w, key, a, b in tasks],
        [f"{steps} steps; in each, {len(plan.moves)} gradients of {weights.nbytes} bytes move"],
    )
