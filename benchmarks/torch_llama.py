"""The Llama architecture in plain eager PyTorch, the peer of model.py.

It uses inference mode, joined matrices of queries, keys and values, and a preallocated cache.
examples/llama only reads the file, so that the weights are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (the usual alias)
from torch import Tensor

from examples.llama import positions
from examples.llama.file import ModelFile
from examples.llama.weights import unpermuted

__all__ = ["Cache", "TorchLlama"]


@dataclass(slots=True)
class Cache:
    """Keys and values of shape (layers, 1, kv_heads, context, head_dim), and their length."""

    keys: Tensor
    values: Tensor
    length: int = 0


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights of one layer."""

    attention_norm: Tensor
    qkv: Tensor
    output: Tensor
    mlp_norm: Tensor
    gate: Tensor
    up: Tensor
    down: Tensor


class TorchLlama:
    """A Llama model in PyTorch, with weights in one dtype."""

    def __init__(self, file: ModelFile, *, device: str = "cpu", dtype: str = "float32") -> None:
        self.config = file.config
        self.device = torch.device(device)
        self.dtype: torch.dtype = getattr(torch, dtype)

        def read(name: str) -> Tensor:
            return self._put(file.tensor(f"{name}.weight"))

        self.embedding = read("token_embd")
        self.layers = [self._layer(file, index) for index in range(self.config.layers)]
        self.norm = read("output_norm")
        self.head = self.embedding if self.config.tied else read("output")
        self.cos, self.sin = (self._put(table) for table in _tables(file))

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        weights = [self.embedding, self.norm, *([] if self.config.tied else [self.head])]
        for layer in self.layers:
            weights += [layer.attention_norm, layer.qkv, layer.output]
            weights += [layer.mlp_norm, layer.gate, layer.up, layer.down]
        return sum(x.nbytes for x in weights)

    def cache(self, context: int) -> Cache:
        """Return an empty cache."""
        config = self.config
        shape = (config.layers, 1, config.kv_heads, context, config.head_dim)
        keys, values = (torch.zeros(shape, dtype=self.dtype, device=self.device) for _ in range(2))
        return Cache(keys, values)

    @torch.inference_mode()
    def prefill(self, tokens: Sequence[int], cache: Cache) -> Tensor:
        """Read tokens after those in the cache; return the next logits, (vocab,)."""
        start, end = cache.length, cache.length + len(tokens)
        cos, sin = self.cos[start:end], self.sin[start:end]
        x = F.embedding(torch.tensor(tokens, device=self.device), self.embedding)
        mask = None
        if start and len(tokens) > 1:  # is_causal aligns at the start
            mask = torch.ones(len(tokens), end, dtype=torch.bool, device=self.device)
            mask = mask.tril(diagonal=start)
        for index, layer in enumerate(self.layers):
            x = x + self._attention(x, layer, index, cache, cos, sin, mask)
            x = x + self._mlp(x, layer)
        cache.length = end
        return F.linear(self._normed(x[-1:], self.norm), self.head)[0]

    def _attention(
        self,
        x: Tensor,
        layer: Layer,
        index: int,
        cache: Cache,
        cos: Tensor,
        sin: Tensor,
        mask: Tensor | None,
    ) -> Tensor:
        config, length = self.config, x.shape[0]
        end = cache.length + length
        rows = F.linear(self._normed(x, layer.attention_norm), layer.qkv)
        sizes = [config.heads, config.kv_heads, config.kv_heads]
        q, k, v = torch.split(rows.view(1, length, -1, config.head_dim).transpose(1, 2), sizes, 1)
        keys, values = cache.keys[index], cache.values[index]
        keys[:, :, cache.length : end] = _rotated(k, cos, sin)
        values[:, :, cache.length : end] = v
        mixed = F.scaled_dot_product_attention(
            _rotated(q, cos, sin),
            keys[:, :, :end],
            values[:, :, :end],
            attn_mask=mask,
            is_causal=mask is None and length > 1,
            enable_gqa=True,
        )
        return F.linear(mixed.transpose(1, 2).reshape(length, -1), layer.output)

    def _mlp(self, x: Tensor, layer: Layer) -> Tensor:
        x = self._normed(x, layer.mlp_norm)
        return F.linear(F.silu(F.linear(x, layer.gate)) * F.linear(x, layer.up), layer.down)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (self.config.hidden,), weight, self.config.eps)

    def _put(self, values: np.ndarray) -> Tensor:
        # PyTorch warns about read-only memory, such as mapped files.
        values = np.require(values, requirements="W")
        return torch.from_numpy(values).to(self.device, self.dtype, copy=True)

    def _layer(self, file: ModelFile, index: int) -> Layer:
        def read(name: str) -> np.ndarray:
            return file.tensor(f"blk.{index}.{name}.weight")

        q = unpermuted(read("attn_q"), self.config.heads)
        k = unpermuted(read("attn_k"), self.config.kv_heads)
        return Layer(
            attention_norm=self._put(read("attn_norm")),
            qkv=self._put(np.concatenate([q, k, read("attn_v")])),
            output=self._put(read("attn_output")),
            mlp_norm=self._put(read("ffn_norm")),
            gate=self._put(read("ffn_gate")),
            up=self._put(read("ffn_up")),
            down=self._put(read("ffn_down")),
        )


def _tables(file: ModelFile) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines and sines of every position, as wide as a head."""
    angles = np.arange(file.config.context)[:, None] * positions.rates(file)
    angles = np.concatenate([angles, angles], axis=-1)
    return np.cos(angles), np.sin(angles)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin
