"""Compiled functions on one device, compared with uncompiled functions on NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from part import Outcome, outcome, run_cases

import portarray as pa
from portarray import kernel_language as kl

Function = Callable[..., Any]
Options = dict[str, Any]

SIZES = ((3, 5), (64, 100), (1000, 300), (2, 70_000), (4096, 1024))
SINGLE = 2e-4  # largest error, relative to the largest element of a result
HALF = 4e-2  # the same for products in half precision


def softmax(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Fuse rows."""
    e = pa.exp(x - pa.max(x, axis=-1, keepdims=True))
    return e / pa.sum(e, axis=-1, keepdims=True) * y


def chain(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Fuse elementwise operations, views and a reduction."""
    z = pa.sqrt(pa.abs(x * y + 1.0)) * 0.5 - pa.tanh(x) ** 3 / 7.0
    return z[:, ::-1] * 2.0 + y, pa.mean(z), pa.where(z > 0, z, x)


def network(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Multiply matrices with elementwise work in between."""
    h = pa.kernels.gelu(x @ w)
    h = pa.kernels.softmax(h @ w * 0.1, axis=-1)
    return pa.mean((h - 0.1) ** 2) + pa.sum(h * h)


def gradient(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Return a value and gradients."""
    return pa.value_and_grad(network, (0, 2))(x, y, w)


def assigned(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Assign into arrays."""
    z = pa.zeros_like(x)
    for n in range(2):
        z[n, ...] = y[n, ...] * (n + 1)
    z[..., 1:] = z[..., :-1] + x[..., 1:]
    return z + pa.exp(-z * z)


def branches(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Branch and loop."""
    chosen = pa.cond(pa.sum(x) > 0, lambda a: a * 2, lambda a: -a, y)
    halved = pa.while_loop(lambda a: pa.max(pa.abs(a)) > 0.1, lambda a: a * 0.5, chosen)
    last, maxima = pa.scan(
        lambda s, a: (s * 0.5 + a, pa.max(s)), pa.zeros_like(x[0, ...]), x[:3, :]
    )
    return halved, last, maxima


def vmapped(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Take the gradient of each row, and sum each column."""
    gradients = pa.vmap(pa.grad(lambda row, column: pa.sum(pa.tanh(row * column))))(x, y)
    return gradients, pa.vmap(lambda row: pa.sum(row * w[0, 0]), 1)(x)


def scattered(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Combine rows, two with each of the first ones."""
    indices = pa.arange(x.shape[0], device=x.device) // 2
    return pa.scatter_add(x, indices, y), pa.scatter_max(x, indices, y)


def random_numbers(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Draw random numbers in a compiled function."""
    return x + pa.random.uniform(pa.random.key(3, device=x.device), x.shape, dtype=pa.float32)


@pa.kernel
def weighted_sum(out: pa.Array, a: pa.Array, b: pa.Array, weight: float) -> None:
    """Add two matrices."""
    i, j = kl.index(0), kl.index(1)
    out[i, j] = a[i, j] + weight * b[i, j]


def launched(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Launch a user kernel twice, between other calls."""
    z = weighted_sum(pa.empty_like(x), x, y * 2, 0.5)
    return weighted_sum(pa.empty_like(x), pa.tanh(z), x, 2.0) + y


CASES: dict[str, tuple[Function, Options, float]] = {
    **{
        f"{function.__name__.replace('_', ' ')}{', ' if options else ''}"
        f"{', '.join(f'{name}={value}' for name, value in options.items())}": (
            function, options, SINGLE,
        )
        for function, options in itertools.product(
            (
                *(softmax, chain, gradient, assigned, branches, vmapped, scattered),
                *(random_numbers, launched),
            ),
            ({}, {"optimize": "aggressive", "dynamic": True}),
        )
    },
    "network, precision=mixed": (network, {"precision": "mixed"}, HALF),
    "gradient, precision=mixed": (gradient, {"precision": "mixed"}, HALF),
    "network, precision=float16": (network, {"precision": "float16"}, HALF),
}  # fmt: skip


def values(size: tuple[int, int], seed: int) -> list[np.ndarray[Any, Any]]:
    """Return arguments: two matrices and a square one for products."""
    rng = np.random.default_rng(seed)
    inner = min(size[1], 300)
    drawn = [rng.normal(size=shape) for shape in (size, size, (inner, inner))]
    return [x.astype(np.float32) for x in (*drawn[:2], drawn[2] / inner**0.5)]


def leaves(output: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays of an output."""
    if isinstance(output, (tuple, list)):
        for leaf in output:
            yield from leaves(leaf)
    else:
        yield np.asarray(pa.to_device(output, "numpy")).astype(np.float64)


def checked(
    compiled: Function, function: Function, inputs: list[Any], device: str, most: float
) -> Outcome:
    """Call a compiled function twice; return the status and what is wrong."""
    with pa.config(tuned_kernels=False):
        expected = [*leaves(function(*[pa.asarray(x, device="numpy") for x in inputs]))]

    def check() -> str:
        placed = [pa.asarray(x, device=device) for x in inputs]
        for _ in range(2):
            results = [*leaves(compiled(*placed))]
            for n, (got, want) in enumerate(zip(results, expected, strict=True)):
                off = np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-30)
                if got.shape != want.shape or not off <= most:
                    return f"result {n} differs from NumPy's by {off:.2g}"
        for x, original in zip(placed, inputs, strict=True):
            if not np.array_equal(np.asarray(pa.to_device(x, "numpy")), original):
                return "an argument was changed"
        return ""

    return outcome(check)


def cases(device: str) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield calls, small ones first."""
    compiled = {
        name: pa.compile(function, **options) for name, (function, options, _) in CASES.items()
    }
    for n, size in enumerate(SIZES):
        inputs = values(size, n)
        shape = " x ".join(map(str, inputs[0].shape))
        for name, (function, _, most) in CASES.items():
            if function not in (network, gradient) or size[1] <= 300:  # these need a square matrix
                check = partial(checked, compiled[name], function, inputs, device, most)
                yield f"{name}: {shape}", check


if __name__ == "__main__":
    run_cases(__doc__, cases)
