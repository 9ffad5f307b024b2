"""Benchmark cases: kernels at growing numbers of tokens, functions at growing sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import portarray as pa

if TYPE_CHECKING:
    from portarray._cli.bench.timing import Action

    Setup = Callable[[pa.Device, int], Action]

# The sizes of SmolLM2-135M.
HIDDEN = 576
INTERMEDIATE = 1536
HEADS, KV_HEADS, HEAD_DIM = 9, 3, 64

TOKENS = (1, 32, 512)
CLASSES = 4096
SIZES = (1_000, 100_000, 10_000_000)
SIDES = (32, 256, 1024)  # of square matrices
LONGEST_SORT = 1_000_000


class Case(NamedTuple):
    """One function at one size, for any device."""

    name: str  # the same for all sizes
    size: int  # in the subject's unit
    # Creates the inputs on a device and returns the call to time, which waits for its result.
    setup: Setup


def random(device: pa.Device, *shape: int, scale: float = 1.0) -> pa.Array:
    """Return normally distributed float32 values, the same on every device."""
    values = np.random.default_rng(7).standard_normal(shape, np.float32)
    return pa.asarray(values * np.float32(scale), device=device, copy=True)


def evaluated(function: Callable[..., pa.Array], *arguments: Any, **options: Any) -> Action:
    """Return a call that also reads one element of its result.

    Waiting for the device is not enough: MLX computes only what is read.
    """

    def action() -> None:
        result = function(*arguments, **options)
        complex(result[(0,) * result.ndim])

    return action


def kernels() -> list[Case]:
    """Return every kernel at every number of tokens."""
    rows = {"softmax": HIDDEN, "log_softmax": HIDDEN, "silu": INTERMEDIATE}
    rows |= {"gelu": INTERMEDIATE, "relu": INTERMEDIATE}
    setups = {name: _row_kernel(getattr(pa.kernels, name), width) for name, width in rows.items()}
    setups |= {
        "rms_norm": _rms_norm,
        "layer_norm": _layer_norm,
        "rope": lambda device, n: evaluated(pa.kernels.rope, random(device, HEADS, n, HEAD_DIM)),
        "attention": _attention,
        "linear": _linear,
        "cross_entropy": _cross_entropy,
        "embedding": _embedding,
    }
    return [Case(name, tokens, setup) for name, setup in setups.items() for tokens in TOKENS]


def _row_kernel(kernel: Callable[[pa.Array], pa.Array], width: int) -> Setup:
    return lambda device, tokens: evaluated(kernel, random(device, tokens, width))


def _rms_norm(device: pa.Device, tokens: int) -> Action:
    return evaluated(pa.kernels.rms_norm, random(device, tokens, HIDDEN), random(device, HIDDEN))


def _layer_norm(device: pa.Device, tokens: int) -> Action:
    weight = random(device, HIDDEN)
    return evaluated(pa.kernels.layer_norm, random(device, tokens, HIDDEN), weight, weight)


def _attention(device: pa.Device, tokens: int) -> Action:
    q = random(device, HEADS, tokens, HEAD_DIM)
    k, v = (random(device, KV_HEADS, max(TOKENS), HEAD_DIM) for _ in range(2))
    return evaluated(pa.kernels.attention, q, k, v, causal=True)


def _linear(device: pa.Device, tokens: int) -> Action:
    weight = random(device, INTERMEDIATE, HIDDEN, scale=HIDDEN**-0.5)
    return evaluated(pa.kernels.linear, random(device, tokens, HIDDEN), weight)


def _cross_entropy(device: pa.Device, tokens: int) -> Action:
    logits = random(device, tokens, CLASSES)
    return evaluated(pa.kernels.cross_entropy, logits, pa.arange(tokens, device=device))


def _embedding(device: pa.Device, tokens: int) -> Action:
    indices = pa.arange(tokens, device=device)
    return evaluated(pa.kernels.embedding, indices, random(device, CLASSES, HIDDEN))


UNARY: dict[str, Callable[[pa.Array], pa.Array]] = {
    "exp": pa.exp,
    "sin": pa.sin,
    "sum": pa.sum,
    "max": pa.max,
    "cumulative_sum": pa.cumulative_sum,
}


def operations() -> list[Case]:
    """Return functions of the standard at every size."""
    cases = [Case("add", size, _add) for size in SIZES]
    for name, function in UNARY.items():
        cases += [Case(name, size, _unary(function)) for size in SIZES]
    cases += [Case("sort", min(size, LONGEST_SORT), _unary(pa.sort)) for size in SIZES]
    cases += [Case("take", size, _take) for size in SIZES]
    cases += [Case("matmul", side**2, _matmul) for side in SIDES]
    return cases


def _unary(function: Callable[[pa.Array], pa.Array]) -> Setup:
    return lambda device, size: evaluated(function, random(device, size))


def _add(device: pa.Device, size: int) -> Action:
    x = random(device, size)
    return evaluated(pa.add, x, x)


def _take(device: pa.Device, size: int) -> Action:
    if size <= LONGEST_SORT:
        indices = pa.argsort(random(device, size))
    else:
        indices = pa.flip(pa.arange(size, device=device))
    return evaluated(pa.take, random(device, size), indices, axis=0)


def _matmul(device: pa.Device, size: int) -> Action:
    side = math.isqrt(size)
    x = random(device, side, side, scale=side**-0.5)
    return evaluated(pa.matmul, x, x)
