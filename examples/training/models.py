"""Two models in portarray's names: a multilayer perceptron and a transformer of characters.

A model is a row of blocks, each a function of its own parameters and an array. Where a block's
parameters are, there it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import portarray as pa
from portarray.typing import DType

__all__ = ["Block", "Model", "Parameters", "initial", "multilayer_perceptron", "transformer"]

Parameters = dict[str, pa.Array]
Block = Callable[[Parameters, pa.Array], pa.Array]
Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Model:
    """Blocks, and the shapes of their parameters."""

    blocks: Sequence[Block]
    shapes: Sequence[Shapes]


def multilayer_perceptron(pixels: int, classes: int, width: int, depth: int) -> Model:
    """Return a model of ``depth`` hidden layers."""

    def hidden(weights: Parameters, x: pa.Array) -> pa.Array:
        return pa.kernels.relu(linear(weights, x))

    def linear(weights: Parameters, x: pa.Array) -> pa.Array:
        return pa.kernels.linear(x, weights["weight"], weights["bias"])

    sizes = [pixels, *[width] * depth, classes]
    return Model(
        [hidden] * depth + [linear],
        [{"weight": (out, of), "bias": (out,)} for of, out in pairwise(sizes)],
    )


def transformer(classes: int, context: int, width: int, depth: int, heads: int) -> Model:
    """Return a causal transformer of characters: ``depth`` layers between a table and a product."""

    def embed(weights: Parameters, characters: pa.Array) -> pa.Array:
        embedded = pa.kernels.embedding(characters, weights["characters"])
        return embedded + weights["positions"][: characters.shape[-1], :]

    def layer(weights: Parameters, x: pa.Array) -> pa.Array:
        count, length, _ = x.shape
        y = pa.kernels.rms_norm(x, weights["attention_norm"])
        y = pa.kernels.linear(y, weights["query_key_value"])
        y = pa.reshape(y, (count, length, 3, heads, width // heads))
        q, k, v = pa.unstack(pa.permute_dims(y, (2, 0, 3, 1, 4)))
        y = pa.permute_dims(pa.kernels.attention(q, k, v, causal=True), (0, 2, 1, 3))
        x = x + pa.kernels.linear(pa.reshape(y, (count, length, width)), weights["attention_out"])
        y = pa.kernels.rms_norm(x, weights["hidden_norm"])
        y = pa.kernels.silu(pa.kernels.linear(y, weights["hidden"], weights["hidden_bias"]))
        return x + pa.kernels.linear(y, weights["hidden_out"])

    def logits(weights: Parameters, x: pa.Array) -> pa.Array:
        x = pa.kernels.rms_norm(x, weights["norm"])
        return pa.kernels.linear(x, weights["weight"], weights["bias"])

    shapes: Shapes = {
        "attention_norm": (width,),
        "query_key_value": (3 * width, width),
        "attention_out": (width, width),
        "hidden_norm": (width,),
        "hidden": (4 * width, width),
        "hidden_bias": (4 * width,),
        "hidden_out": (width, 4 * width),
    }
    return Model(
        [embed, *[layer] * depth, logits],
        [
            {"characters": (classes, width), "positions": (context, width)},
            *[shapes] * depth,
            {"norm": (width,), "weight": (classes, width), "bias": (classes,)},
        ],
    )


def initial(shapes: Shapes, key: pa.Array, dtype: DType) -> Parameters:
    """Return a block's parameters before training, on the device of a key.

    Weights are uniform numbers of float32 in every precision, equal on all devices bit for bit.
    Biases are zero, and the second factors of adapters.
    """
    parameters = {}
    for n, (name, shape) in enumerate(shapes.items()):
        if len(shape) == 1 or name.endswith("_B"):
            fill = pa.ones if name.endswith("norm") else pa.zeros
            parameters[name] = fill(shape, dtype=dtype, device=key.device)
            continue
        bound = 1 / math.sqrt(shape[1])
        layer_key = pa.random.fold_in(key, n)
        drawn = pa.random.uniform(layer_key, shape, dtype=pa.float32, low=-bound, high=bound)
        parameters[name] = pa.astype(drawn, dtype, copy=False)
    return parameters
