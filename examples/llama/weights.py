"""The weights of a model on a device, read from its file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import portarray as pa
from examples.llama.config import Config
from examples.llama.file import ModelFile, Values
from portarray.typing import DType

__all__ = ["Layer", "Weights", "load_weights", "unpermuted"]

Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. Matrices are (out, in).

    Attributes
    ----------
    attention_norm, mlp_norm : Array
        (hidden,).
    qkv : Array
        Queries, keys and values, one below the other: ((heads + 2 kv_heads) head_dim, hidden).
    output : Array
        (hidden, heads head_dim).
    gate, up : Array
        (intermediate, hidden).
    down : Array
        (hidden, intermediate).
    """

    attention_norm: pa.Array
    qkv: pa.Array
    output: pa.Array
    mlp_norm: pa.Array
    gate: pa.Array
    up: pa.Array
    down: pa.Array


@dataclass(frozen=True, slots=True)
class Weights:
    """Every array of a model.

    Attributes
    ----------
    embedding : Array
        (vocab, hidden).
    layers : tuple of Layer
        From the bottom up.
    norm : Array
        (hidden,).
    head : Array
        (vocab, hidden); the embedding itself where the two are tied.
    """

    embedding: pa.Array
    layers: tuple[Layer, ...]
    norm: pa.Array
    head: pa.Array


def unpermuted(rows: Values, heads: int) -> Values:
    """Return the rows of a query or key matrix in the order of the model, not of the file.

    llama.cpp's converter reorders the features of each head, so that the pairs that a position
    rotates stand side by side. The pairs of this program stand half a head apart, as the models
    are published and other programs have them: libraries rotate contiguous halves faster than
    every second feature.
    """
    out, width = rows.shape
    paired = rows.reshape(heads, out // heads // 2, 2, width)
    return np.ascontiguousarray(paired.swapaxes(1, 2)).reshape(out, width)


def load_weights(
    file: ModelFile, *, device: pa.Device, dtype: DType, progress: Progress | None = None
) -> Weights:
    """Read, dequantize and move every tensor of a file, one after the other.

    Parameters
    ----------
    file : ModelFile
        An open file.
    device : Device
        Where the weights are to be.
    dtype : dtype
        What they are kept in.
    progress : callable, optional
        Called after each tensor with its bytes in the file.

    Returns
    -------
    Weights
        On the device.

    Raises
    ------
    OutOfMemoryError
        If its memory does not suffice.
    """
    config = file.config

    def read(name: str) -> Values:
        values = file.tensor(f"{name}.weight")
        if progress is not None:
            progress(file.size_of(f"{name}.weight"))
        return values

    def put(values: Values) -> pa.Array:
        # Memory of the device's own: what is shared with NumPy has to be in step with the host.
        return pa.asarray(values, dtype=dtype, device=device, copy=True)

    embedding = put(read("token_embd"))
    layers = tuple(_layer(config, f"blk.{n}", read, put) for n in range(config.layers))
    head = embedding if config.tied else put(read("output"))
    return Weights(embedding, layers, put(read("output_norm")), head)


def _layer(
    config: Config, block: str, read: Callable[[str], Values], put: Callable[[Values], pa.Array]
) -> Layer:
    q = unpermuted(read(f"{block}.attn_q"), config.heads)
    k = unpermuted(read(f"{block}.attn_k"), config.kv_heads)
    return Layer(
        attention_norm=put(read(f"{block}.attn_norm")),
        qkv=put(np.concatenate([q, k, read(f"{block}.attn_v")])),
        output=put(read(f"{block}.attn_output")),
        mlp_norm=put(read(f"{block}.ffn_norm")),
        gate=put(read(f"{block}.ffn_gate")),
        up=put(read(f"{block}.ffn_up")),
        down=put(read(f"{block}.ffn_down")),
    )
