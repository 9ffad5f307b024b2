"""Decoder layers of a small language model with random weights: reading a prompt, and decoding.

A model with weights and words is in the examples; this one needs no file. It has the sizes of
SmolLM2-135M, but fewer layers: enough that their weights do not fit in a cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

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
from portarray.kernels import attention, linear, rms_norm, rope, silu

if TYPE_CHECKING:
    from portarray._cli.bench.timing import Action

UNIT = "tokens"  # of a prompt: read at once; of decoding one: those in the cache
LAYERS = 8
PROMPTS = (16, 128, 512)
CACHED = (128, 512, 2048)


class Layer(NamedTuple):
    """The weights of one layer, matrices as (out, in)."""

    norm: pa.Array
    qkv: pa.Array
    output: pa.Array
    gate: pa.Array
    up: pa.Array
    down: pa.Array


class Decoder:
    """Decoder layers with a cache of keys and values."""

    def __init__(self, device: pa.Device, context: int, layers: int = LAYERS) -> None:
        self.context = context
        self._layers = [_layer(device) for _ in range(layers)]
        shape = (KV_HEADS, context, HEAD_DIM)
        self._caches = [
            (pa.zeros(shape, device=device, dtype=pa.float32), random(device, *shape))
            for _ in range(layers)
        ]
        positions = pa.arange(context, device=device)
        self._tables = pa.kernels.rope_tables(positions, HEAD_DIM, dtype=pa.float32)

    def __call__(self, x: pa.Array, begin: int) -> pa.Array:
        """Return the layers' output for tokens (length, hidden) from a place in the cache on."""
        end = begin + x.shape[0]
        tables = (self._tables[0][begin:end, :], self._tables[1][begin:end, :])
        for layer, cache in zip(self._layers, self._caches, strict=True):
            x = x + self._attention(rms_norm(x, layer.norm), layer, cache, tables, begin)
            normed = rms_norm(x, layer.norm)
            inner = silu(linear(normed, layer.gate)) * linear(normed, layer.up)
            x = x + linear(inner, layer.down)
        return x

    def _attention(
        self,
        x: pa.Array,
        layer: Layer,
        cache: tuple[pa.Array, pa.Array],
        tables: tuple[pa.Array, pa.Array],
        begin: int,
    ) -> pa.Array:
        length, (keys, values) = x.shape[0], cache
        heads = pa.permute_dims(pa.reshape(linear(x, layer.qkv), (length, -1, HEAD_DIM)), (1, 0, 2))
        turned = rope(heads[: HEADS + KV_HEADS, :, :], tables=tables)
        keys[:, begin : begin + length, :] = turned[HEADS:, :, :]
        values[:, begin : begin + length, :] = heads[HEADS + KV_HEADS :, :, :]
        mixed = attention(
            turned[:HEADS, :, :], keys, values, causal=True, key_length=begin + length
        )
        return linear(pa.reshape(pa.permute_dims(mixed, (1, 0, 2)), (length, -1)), layer.output)


def _layer(device: pa.Device) -> Layer:
    def matrix(out: int, into: int) -> pa.Array:
        return random(device, out, into, scale=into**-0.5)

    return Layer(
        pa.ones(HIDDEN, device=device, dtype=pa.float32),
        matrix((HEADS + 2 * KV_HEADS) * HEAD_DIM, HIDDEN),
        matrix(HIDDEN, HEADS * HEAD_DIM),
        matrix(INTERMEDIATE, HIDDEN),
        matrix(INTERMEDIATE, HIDDEN),
        matrix(HIDDEN, INTERMEDIATE),
    )


def cases() -> list[Case]:
    """Return prompts of growing length, and decoding with growing caches."""
    return [
        *(Case("prompt", length, _running(length, length, 0)) for length in PROMPTS),
        *(Case("decode", length, _running(1, length, length - 1)) for length in CACHED),
    ]


def _running(tokens: int, context: int, begin: int) -> Callable[[pa.Device], Action]:
    def make(device: pa.Device) -> Action:
        return ended(Decoder(device, context), random(device, tokens, HIDDEN), begin)

    return make
