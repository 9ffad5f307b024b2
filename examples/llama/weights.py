"""The weights of a model on a device, read from its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

import portarray as pa
from examples.llama.config import Config
from examples.llama.file import Bytes, ModelFile, Values
from portarray import kernels
from portarray.typing import DType

__all__ = ["Layer", "RoundedLayer", "Weights", "load_layer", "load_weights", "unpermuted"]

Matrix = pa.Array | kernels.Packed
Progress = Callable[[int], object]
Rows = TypeVar("Rows", Values, Bytes)
Changed = Callable[[int, str, Values], Values]
"""Takes the number of a layer, the name of a matrix and its values, and returns others."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. Matrices are (out, in), packed as in the file or arrays.

    Attributes
    ----------
    attention_norm, mlp_norm : Array
        (hidden,).
    qkv : Array or Packed
        Queries, keys and values, one below the other: ((heads + 2 kv_heads) head_dim, hidden).
    output : Array or Packed
        (hidden, heads head_dim).
    gate_up : Array or Packed
        The gates and what they let through, one below the other: (2 intermediate, hidden).
    down : Array or Packed
        (hidden, intermediate).
    """

    attention_norm: pa.Array
    qkv: Matrix
    output: Matrix
    mlp_norm: pa.Array
    gate_up: Matrix
    down: Matrix

    def product(self, name: str, x: pa.Array, **around: Any) -> pa.Array:
        """Return the product with a matrix, and what is around it: see ``fused_linear``."""
        return kernels.fused_linear(x, getattr(self, name), **around)

    def mlp(self, x: pa.Array, eps: float) -> pa.Array:
        """Add to each token what it makes of its own features."""
        inner = self.product("gate_up", x, norm=self.mlp_norm, eps=eps, gated=True)
        return self.product("down", inner, residual=x)


@dataclass(frozen=True, slots=True)
class RoundedLayer(Layer):
    """A layer whose packed matrices are multiplied as llama.cpp does, by features of 8 bits."""

    def product(self, name: str, x: pa.Array, **around: Any) -> pa.Array:
        """Return the product with a matrix."""
        return rounded_product(x, getattr(self, name), **around)


def rounded_product(x: pa.Array, matrix: Matrix, **around: Any) -> pa.Array:
    """Return a product with features of 8 bits, where the matrix is packed."""
    rounding: Any = "int8" if isinstance(matrix, kernels.Packed) else None
    return kernels.fused_linear(x, matrix, activations=rounding, **around)


@dataclass(frozen=True, slots=True)
class Weights:
    """Every array of a model.

    Attributes
    ----------
    embedding : Array or Packed
        (vocab, hidden).
    layers : tuple of Layer
        From the bottom up.
    norm : Array
        (hidden,).
    head : Array or Packed
        (vocab, hidden); the embedding itself where the two are tied.
    """

    embedding: Matrix
    layers: tuple[Layer, ...]
    norm: pa.Array
    head: Matrix

    def logits(self, x: pa.Array, eps: float) -> pa.Array:
        """Return the product of what the last layer returns with the head."""
        rounded = isinstance(self.layers[0], RoundedLayer)
        product = rounded_product if rounded else kernels.fused_linear
        return product(x, self.head, norm=self.norm, eps=eps)

    def rounded(self) -> Weights:
        """Return the same weights, multiplied by features of 8 bits."""
        layers = [
            RoundedLayer(**{entry.name: getattr(layer, entry.name) for entry in fields(Layer)})
            for layer in self.layers
        ]
        return replace(self, layers=tuple(layers))


def unpermuted(rows: Rows, heads: int) -> Rows:
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
    file: ModelFile,
    *,
    device: pa.Device,
    dtype: DType,
    packed: bool = False,
    changed: Changed | None = None,
    progress: Progress | None = None,
) -> Weights:
    """Read and move every tensor of a file, one after the other.

    Parameters
    ----------
    file : ModelFile
        An open file.
    device : Device
        Where the weights are to be.
    dtype : dtype
        What they are kept in.
    packed : bool, optional
        Whether matrices stay as the file has them, where portarray knows their layout.
    changed : callable, optional
        Changes the layers' matrices before they are moved; they are not packed then.
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

    def read(name: str) -> Values:
        return _report_progress(file.tensor(f"{name}.weight"), name)

    def _report_progress(values: Rows, name: str) -> Rows:
        if progress is not None:
            progress(file.size_of(f"{name}.weight"))
        return values

    def put(values: Values) -> pa.Array:
        # Memory of the device's own: what is shared with NumPy has to be in step with the host.
        return pa.asarray(values, dtype=dtype, device=device, copy=True)

    def pack(names: Sequence[str], ordered: Callable[[list[Bytes]], Bytes]) -> Matrix | None:
        layout = file.layout(*(f"{name}.weight" for name in names)) if packed else ""
        if not layout:
            return None
        rows = ordered([_report_progress(file.packed(f"{name}.weight"), name) for name in names])
        return kernels.Packed(pa.asarray(rows, device=device, copy=True), layout).interleaved()

    def table(name: str) -> Matrix:
        return pack([name], lambda parts: parts[0]) or put(read(name))

    config = file.config
    embedding = table("token_embd")
    packer = None if changed is not None else pack
    layers = tuple(load_layer(config, n, read, put, changed, packer) for n in range(config.layers))
    head = embedding if config.tied else table("output")
    return Weights(embedding, layers, put(read("output_norm")), head)


def load_layer(
    config: Config,
    index: int,
    read: Callable[[str], Values],
    put: Callable[[Values], pa.Array],
    changed: Changed | None = None,
    pack: Callable[..., Matrix | None] | None = None,
) -> Layer:
    """Return a layer, by what reads tensors, what moves them, and what keeps them packed."""
    heads = {"q": config.heads, "k": config.kv_heads}

    def matrix(*names: str) -> Matrix:
        tensors = [f"blk.{index}.{_TENSORS[name]}" for name in names]

        def ordered(parts: list[Rows]) -> Rows:
            rows = [
                unpermuted(part, heads[name]) if name in heads else part
                for name, part in zip(names, parts, strict=True)
            ]
            return rows[0] if len(rows) == 1 else np.concatenate(rows)

        packed = None if pack is None else pack(tensors, ordered)
        if packed is not None:
            return packed
        values = [ordered_one(name, tensor) for name, tensor in zip(names, tensors, strict=True)]
        return put(values[0] if len(values) == 1 else np.concatenate(values))

    def ordered_one(name: str, tensor: str) -> Values:
        values = read(tensor)
        values = unpermuted(values, heads[name]) if name in heads else values
        return values if changed is None else changed(index, name, values)

    return Layer(
        attention_norm=put(read(f"blk.{index}.attn_norm")),
        qkv=matrix("q", "k", "v"),
        output=matrix("output"),
        mlp_norm=put(read(f"blk.{index}.ffn_norm")),
        gate_up=matrix("gate", "up"),
        down=matrix("down"),
    )


_TENSORS = {
    "q": "attn_q", "k": "attn_k", "v": "attn_v", "output": "attn_output", "gate": "ffn_gate",
    "up": "ffn_up", "down": "ffn_down",
}  # fmt: skip
