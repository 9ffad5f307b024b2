"""A step of a few tokens through all layers, compiled.

It is six launches for each layer. Compiled, they are replayed with little Python between them, and
in the memory of NumPy and PyTorch they wait once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import portarray as pa
import portarray.kernel_language as kl
from examples.llama.config import Config
from examples.llama.heads import turn_and_store
from examples.llama.weights import Layer
from portarray import kernels

__all__ = ["FEW", "Run", "compiled_step"]

FEW = 8
"""Tokens up to which a step is compiled: it is compiled for each number of them."""

LANES = 16
BLOCK = 128
"""Keys whose scores are added up at a time."""

LONGEST = 8192
"""Tokens of a context whose scores fit in local memory."""


Run = Callable[..., pa.Array]
"""Takes keys, values, two scratch arrays, features, places and tables; returns features."""


def compiled_step(config: Config, layers: Sequence[Layer], context: int) -> Run | None:
    """Return the step, or None where it would not be launches of kernels alone."""
    matrices = [x for y in layers for x in (y.qkv, y.output, y.gate_up, y.down)]
    packed = [x for x in matrices if isinstance(x, kernels.Packed) and x.scales is None]
    if (
        len(packed) < len(matrices)
        or type(layers[0]) is not Layer
        or config.head_dim % LANES
        or context > LONGEST
    ):
        return None
    attend = _attend(config.heads // config.kv_heads, config.head_dim // LANES, context)
    sizes = config.heads + 2 * config.kv_heads, config.head_dim // 2

    @partial(pa.compile, inplace_argnums=(0, 1, 2, 3))
    def run(
        keys: Any, values: Any, q: Any, mixed: Any, x: Any, places: Any, cos: Any, sin: Any
    ) -> Any:
        count = x.shape[0]
        for layer, k, v in zip(layers, keys, values, strict=True):
            qkv = layer.product("qkv", x, norm=layer.attention_norm, eps=config.eps)
            turn_and_store(
                q, k, v, qkv, cos, sin, places, config.heads, ndrange=(sizes[0], count, sizes[1])
            )
            attend(
                mixed, q, k, v, places,
                ndrange=(config.heads, count, LANES), group=(1, 1, LANES),
            )  # fmt: skip
            x = layer.mlp(layer.product("output", mixed, residual=x), config.eps)
        return x

    return run


@cache
def _attend(share: int, chunks: int, context: int) -> Any:
    """Return the kernel that attends to the keys of each token's slot, up to its position."""
    scale, size = 1 / math.sqrt(chunks * LANES), -(-context // BLOCK) * BLOCK

    @pa.kernel
    def attend(mixed: Any, q: Any, keys: Any, values: Any, places: Any) -> None:
        scores = kl.local((size,), kl.float32)
        parts = kl.local((BLOCK, LANES), kl.float32)
        lanes = kl.local((2, LANES), kl.float32)
        query = kl.private((chunks,), kl.float32)
        sums = kl.private((chunks,), kl.float32)
        head, token, lane = kl.index()
        slot, count, kv_head = places[0, token], places[1, token] + 1, head // share
        for c in kl.unroll(range(chunks)):
            query[c] = q[head, token, c * LANES + lane] * scale
            sums[c] = 0.0
        largest = kl.float32(-math.inf)
        for first in range(0, size, BLOCK):
            for n in range(min(BLOCK, count - first)):
                part = kl.float32(0)
                for c in kl.unroll(range(chunks)):
                    key = kl.float32(keys[slot, kv_head, first + n, c * LANES + lane])
                    part = kl.fma(query[c], key, part)
                parts[n, lane] = part
            kl.barrier()
            for n in kl.unroll(range(BLOCK // LANES)):
                at, score = n * LANES + lane, kl.float32(0)
                for k in kl.unroll(range(LANES)):
                    score += parts[at, k]
                score = score if first + at < count else kl.float32(-math.inf)
                scores[first + at] = score
                largest = max(largest, score)
            kl.barrier()
        lanes[0, lane] = largest
        kl.barrier()
        for k in kl.unroll(range(LANES)):
            largest = max(largest, lanes[0, k])
        total = kl.float32(0)
        for first in range(0, count, LANES):
            weight = math.exp(scores[first + lane] - largest)
            scores[first + lane] = weight
            total += weight
        lanes[1, lane] = total
        kl.barrier()
        total = kl.float32(0)
        for k in kl.unroll(range(LANES)):
            total += lanes[1, k]
        for n in range(count):
            for c in kl.unroll(range(chunks)):
                value = kl.float32(values[slot, kv_head, n, c * LANES + lane])
                sums[c] = kl.fma(scores[n], value, sums[c])
        for c in kl.unroll(range(chunks)):
            mixed[token, (head * chunks + c) * LANES + lane] = sums[c] / total

    return attend
