"""The core kernels, at growing numbers of tokens and the sizes of a small language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import portarray as pa
from portarray._cli.bench.cases import (
    HEAD_DIM,
    HEADS,
    HIDDEN,
    INTERMEDIATE,
    KV_HEADS,
    Case,
    ended,
    random,
)

if TYPE_CHECKING:
    from portarray._cli.bench.timing import Action

UNIT = "tokens"
TOKENS = (1, 32, 512)
CLASSES = 4096

Make = Callable[[pa.Device, int], "Action"]


def cases() -> list[Case]:
    """Return every kernel at every number of tokens."""
    table: dict[str, Make] = {
        "softmax": lambda d, n: ended(pa.kernels.softmax, random(d, n, HIDDEN)),
        "log_softmax": lambda d, n: ended(pa.kernels.log_softmax, random(d, n, HIDDEN)),
        "silu": lambda d, n: ended(pa.kernels.silu, random(d, n, INTERMEDIATE)),
        "gelu": lambda d, n: ended(pa.kernels.gelu, random(d, n, INTERMEDIATE)),
        "relu": lambda d, n: ended(pa.kernels.relu, random(d, n, INTERMEDIATE)),
        "rms_norm": _rms_norm,
        "layer_norm": _layer_norm,
        "rope": lambda d, n: ended(pa.kernels.rope, random(d, HEADS, n, HEAD_DIM)),
        "attention": _attention,
        "linear": _linear,
        "cross_entropy": _cross_entropy,
        "embedding": _embedding,
    }
    return [_case(name, tokens, make) for name, make in table.items() for tokens in TOKENS]


def _case(name: str, tokens: int, make: Make) -> Case:
    return Case(name, tokens, lambda device: make(device, tokens))


def _rms_norm(device: pa.Device, tokens: int) -> Action:
    return ended(pa.kernels.rms_norm, random(device, tokens, HIDDEN), random(device, HIDDEN))


def _layer_norm(device: pa.Device, tokens: int) -> Action:
    weight = random(device, HIDDEN)
    return ended(pa.kernels.layer_norm, random(device, tokens, HIDDEN), weight, weight)


def _attention(device: pa.Device, tokens: int) -> Action:
    q = random(device, HEADS, tokens, HEAD_DIM)
    k, v = (random(device, KV_HEADS, max(TOKENS), HEAD_DIM) for _ in range(2))
    return ended(pa.kernels.attention, q, k, v, causal=True)


def _linear(device: pa.Device, tokens: int) -> Action:
    weight = random(device, INTERMEDIATE, HIDDEN, scale=HIDDEN**-0.5)
    return ended(pa.kernels.linear, random(device, tokens, HIDDEN), weight)


def _cross_entropy(device: pa.Device, tokens: int) -> Action:
    logits = random(device, tokens, CLASSES)
    return ended(pa.kernels.cross_entropy, logits, pa.arange(tokens, device=device))


def _embedding(device: pa.Device, tokens: int) -> Action:
    indices = pa.arange(tokens, device=device)
    return ended(pa.kernels.embedding, indices, random(device, CLASSES, HIDDEN))
