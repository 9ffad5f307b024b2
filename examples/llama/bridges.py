"""What a few tokens pass through between two attentions, compiled.

It is four launches: the output of one layer's attention, its gates, the way down, and the next
layer's queries, keys and values. Compiled, they are replayed with little Python between them, and
on memory of the host they wait once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import portarray as pa
from examples.llama.heads import by_token
from examples.llama.weights import Layer
from portarray import kernels

__all__ = ["FEW", "Bridge", "bridges"]

FEW = 8
"""Tokens up to which layers are bridged: it is compiled for each number of them."""


Bridge = Callable[[pa.Array, pa.Array], tuple[pa.Array, pa.Array]]
"""Takes what tokens read and their features; returns features, and queries, keys and values."""


def bridges(layers: Sequence[Layer], eps: float) -> list[Bridge]:
    """Return what is between layers; nothing if matrices are not packed or features are rounded."""
    result: list[Bridge] = []
    for layer, following in pairwise(layers):
        matrices = [layer.output, layer.gate_up, layer.down, following.qkv]
        packed = [x for x in matrices if isinstance(x, kernels.Packed) and x.scales is None]
        if type(layer) is not Layer or len(packed) < len(matrices):
            return []
        run = _compiled(tuple([x.layout for x in packed]), eps)
        arrays = layer.mlp_norm, following.attention_norm, *[x.data for x in packed]
        result.append(_bridge(run, arrays))
    return result


def _bridge(run: Any, arrays: tuple[pa.Array, ...]) -> Bridge:
    return lambda mixed, x: run(mixed, x, *arrays)


@cache
def _compiled(layouts: tuple[str, ...], eps: float) -> Any:
    """Return the function for layers of some layouts; weights are arguments, for all layers."""
    output_layout, gate_layout, down_layout, qkv_layout = layouts
    linear, packed = kernels.fused_linear, kernels.Packed

    @pa.compile
    def between(
        mixed: Any,
        x: Any,
        norm: Any,
        next_norm: Any,
        output: Any,
        gate_up: Any,
        down: Any,
        qkv: Any,
    ) -> tuple[Any, Any]:
        x = linear(by_token(mixed), packed(output, output_layout), residual=x)
        inner = linear(x, packed(gate_up, gate_layout), norm=norm, eps=eps, gated=True)
        x = linear(inner, packed(down, down_layout), residual=x)
        return x, linear(x, packed(qkv, qkv_layout), norm=next_norm, eps=eps)

    return between
