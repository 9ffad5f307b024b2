"""Compiled functions on one device beside the same functions on NumPy, which compiles nothing."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from part import BEGAN, Writer, arguments

import portarray as pa

Function = Callable[..., Any]
Options = dict[str, Any]

SIZES = ((3, 5), (64, 100), (1000, 300), (2, 70_000), (4096, 1024))
SINGLE = 2e-4
"""Largest error beside the largest element of a result: single precision."""
HALF = 4e-2
"""The same where products are of halves."""


def softmax(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Fuse rows."""
    e = pa.exp(x - pa.max(x, axis=-1, keepdims=True))
    return e / pa.sum(e, axis=-1, keepdims=True) * y


def chain(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Fuse operations on elements, with views and a total."""
    z = pa.sqrt(pa.abs(x * y + 1.0)) * 0.5 - pa.tanh(x) ** 3 / 7.0
    return z[:, ::-1] * 2.0 + y, pa.mean(z), pa.where(z > 0, z, x)


def network(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Multiply matrices, and compute between products."""
    h = pa.kernels.gelu(x @ w)
    h = pa.kernels.softmax(h @ w * 0.1, axis=-1)
    return pa.mean((h - 0.1) ** 2) + pa.sum(h * h)


def gradient(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Return a value and gradients."""
    return pa.value_and_grad(network, (0, 2))(x, y, w)


def assigned(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Assign into arrays, which are then changed in place."""
    z = pa.zeros_like(x)
    for n in range(2):
        z[n, ...] = y[n, ...] * (n + 1)
    z[..., 1:] = z[..., :-1] + x[..., 1:]
    return z + pa.exp(-z * z)


def branches(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Branch and loop."""
    chosen = pa.cond(pa.sum(x) > 0, lambda a: a * 2, lambda a: -a, y)
    halved = pa.while_loop(lambda a: pa.max(pa.abs(a)) > 0.1, lambda a: a * 0.5, chosen)
    last, each = pa.scan(lambda s, a: (s * 0.5 + a, pa.max(s)), pa.zeros_like(x[0, ...]), x[:3, :])
    return halved, last, each


def random_numbers(x: pa.Array, y: pa.Array, w: pa.Array) -> Any:
    """Draw in a compiled function."""
    return x + pa.random.uniform(pa.random.key(3, device=x.device), x.shape, dtype=pa.float32)


CASES: dict[str, tuple[Function, Options, float]] = {
    **{
        f"{function.__name__.replace('_', ' ')}{', ' if options else ''}"
        f"{', '.join(f'{name}={value}' for name, value in options.items())}": (
            function, options, SINGLE,
        )
        for function, options in itertools.product(
            (softmax, chain, gradient, assigned, branches, random_numbers),
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
        for one in output:
            yield from leaves(one)
    else:
        yield np.asarray(pa.to_device(output, "numpy")).astype(np.float64)


def checked(
    compiled: Function, function: Function, given: list[Any], device: str, most: float
) -> tuple[str, str]:
    """Return how a call ended, and what was wrong; it is made twice."""
    with pa.config(tuned_kernels=False):
        wanted = [*leaves(function(*[pa.asarray(x, device="numpy") for x in given]))]
    try:
        placed = [pa.asarray(x, device=device) for x in given]
        for _ in range(2):
            found = [*leaves(compiled(*placed))]
            for n, (got, want) in enumerate(zip(found, wanted, strict=True)):
                off = np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-30)
                if got.shape != want.shape or not off <= most:
                    return "failed", f"result {n} differs from NumPy's by {off:.2g}"
        for x, before in zip(placed, given, strict=True):
            if not np.array_equal(np.asarray(pa.to_device(x, "numpy")), before):
                return "failed", "an argument was changed"
    except pa.DTypeNotSupportedError as error:
        return "not run", str(error)
    except Exception as error:  # noqa: BLE001 - whatever is wrong is told
        return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""


def cases() -> Iterator[tuple[str, Function, Function, list[Any], float]]:
    """Yield calls, small ones first."""
    made = {name: pa.compile(function, **options) for name, (function, options, _) in CASES.items()}
    for n, size in enumerate(SIZES):
        given = values(size, n)
        for name, (function, _, most) in CASES.items():
            needs_square = function in (network, gradient)
            if needs_square and size[1] > 300:
                continue
            yield name, made[name], function, given, most


if __name__ == "__main__":
    asked = arguments(__doc__, lambda parser: parser.add_argument("device"))
    with Writer(asked.out) as out:
        for name, compiled, function, given, most in cases():
            if time.monotonic() > BEGAN + asked.seconds:
                break
            status, message = checked(compiled, function, given, asked.device, most)
            shape = " x ".join(map(str, given[0].shape))
            out({"case": f"{name}: {shape}", "status": status, "examples": 1, "message": message})
