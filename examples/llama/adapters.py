"""Low-rank adapters: what fine-tuning adds to the matrices of a model, and the files that keep it.

Beside a matrix W (out, in) an adapter has A (rank, in) and B (out, rank): the product W x becomes
W x + (alpha / rank) B A x (Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2021),
arXiv:2106.09685). A and B alone are trained, and are a few thousandths of the model's size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import portarray as pa
from examples.llama.config import Config
from examples.llama.errors import LlamaError
from examples.llama.file import Values
from examples.llama.weights import Layer
from portarray import kernels

__all__ = ["PROJECTIONS", "AdaptedLayer", "Adapters", "shapes"]

# What files call them, as the package peft does.
PROJECTIONS: Mapping[str, str] = {
    "q": "self_attn.q_proj",
    "k": "self_attn.k_proj",
    "v": "self_attn.v_proj",
    "output": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}
NAMES = {"A": "lora_A", "B": "lora_B"}
FILE_KEYS = "rank", "alpha"


def _sizes(config: Config) -> dict[str, tuple[int, int]]:
    """Return (out, in) of each matrix."""
    queries, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
    return {
        "q": (queries, config.hidden),
        "k": (keys, config.hidden),
        "v": (keys, config.hidden),
        "output": (config.hidden, queries),
        "gate": (config.intermediate, config.hidden),
        "up": (config.intermediate, config.hidden),
        "down": (config.hidden, config.intermediate),
    }


def shapes(config: Config, names: Sequence[str], rank: int) -> dict[str, tuple[int, int]]:
    """Return the shapes of a layer's adapters: ``q_A`` and ``q_B`` for the matrix ``q``."""
    by_name: dict[str, tuple[int, int]] = {}
    for name in names:
        if name not in PROJECTIONS:
            raise LlamaError(f"{name!r} is not a matrix of a layer; use {', '.join(PROJECTIONS)}")
        out, width = _sizes(config)[name]
        by_name |= {f"{name}_A": (rank, width), f"{name}_B": (out, rank)}
    return by_name


_JOINED = {"qkv": ("q", "k", "v"), "gate_up": ("gate", "up")}
"""Matrices of a layer that are several of the file's."""


@dataclass(frozen=True, slots=True)
class AdaptedLayer(Layer):
    """A layer with adapters that have not been added to its matrices.

    Attributes
    ----------
    adapters : mapping of str to Array
        Of the shapes that :func:`shapes` tells.
    scale : float
        Alpha divided by the rank.
    config : Config
        The model's sizes.
    """

    adapters: Mapping[str, pa.Array]
    scale: float
    config: Config

    def product(self, name: str, x: pa.Array, **around: Any) -> pa.Array:
        """Return the product with a matrix and its adapters."""
        parts = _JOINED.get(name, (name,))
        if not any(f"{part}_A" in self.adapters for part in parts):
            return Layer.product(self, name, x, **around)
        if "norm" in around:
            x = kernels.rms_norm(x, around["norm"], eps=around["eps"])
        more = [self._added(part, x) for part in parts]
        y = Layer.product(self, name, x)
        y = y + (more[0] if len(more) == 1 else pa.concat(more, axis=-1))
        if around.get("gated"):
            half = self.config.intermediate
            y = kernels.silu(y[..., :half]) * y[..., half:]
        return around["residual"] + y if "residual" in around else y

    def _added(self, name: str, x: pa.Array) -> pa.Array:
        if f"{name}_A" not in self.adapters:
            width = _sizes(self.config)[name][0]
            return pa.zeros((*x.shape[:-1], width), dtype=x.dtype, device=x.device)
        inner = kernels.linear(x, self.adapters[f"{name}_A"]) * self.scale
        return kernels.linear(inner, self.adapters[f"{name}_B"])


@dataclass(frozen=True, slots=True)
class Adapters:
    """The adapters of all layers in host memory.

    Attributes
    ----------
    layers : sequence of mappings
        Of each layer its arrays.
    rank : int
        Rows of each A.
    alpha : float
        The products count alpha / rank times.
    """

    layers: Sequence[Mapping[str, Values]]
    rank: int
    alpha: float

    def merged(self, index: int, name: str, values: Values) -> Values:
        """Return the matrix of a layer with its adapters added."""
        layer = self.layers[index]
        if f"{name}_A" not in layer:
            return values
        a, b = (layer[f"{name}_{part}"].astype(np.float64) for part in NAMES)
        return (values + self.alpha / self.rank * (b @ a)).astype(np.float32)

    def save(self, path: str | Path) -> None:
        """Write a safetensors file: whole or not at all."""
        arrays = {
            _file_name(index, key): values
            for index, layer in enumerate(self.layers)
            for key, values in layer.items()
        }
        pa.save(path, arrays, metadata={"rank": str(self.rank), "alpha": str(self.alpha)})

    @classmethod
    def read(cls, path: str | Path, config: Config) -> Adapters:
        """Read a file, and refuse one that is not of a model's sizes.

        Parameters
        ----------
        path : path-like
            The file.
        config : Config
            The model's sizes.

        Returns
        -------
        Adapters
            What it holds.

        Raises
        ------
        LlamaError
            If it is missing, cut off, holds something else, or adapters of another model.
        """
        try:
            arrays, about = pa.load(path, device="numpy", return_metadata=True)
        except (OSError, ValueError) as error:
            raise LlamaError(f"{path} holds no adapters: {error}") from error
        try:
            rank, alpha = int(about["rank"]), float(about["alpha"])
        except (KeyError, ValueError):
            raise LlamaError(
                f"{path} does not say {' and '.join(FILE_KEYS)} in its metadata: give a file that "
                "python -m examples.training llama --adapter FILE has written"
            ) from None
        expected = {
            _file_name(index, key): (index, key, shape)
            for index in range(config.layers)
            for key, shape in shapes(config, tuple(PROJECTIONS), rank).items()
        }
        layers: list[dict[str, Values]] = [{} for _ in range(config.layers)]
        for name, x in arrays.items():
            index, key, shape = expected.get(name, (0, "", ()))
            if x.shape != shape:
                raise LlamaError(
                    f"{path}: {name} of the shape {x.shape} does not fit the model"
                    + (f", which needs {shape}" if shape else ", which has no such matrix")
                )
            layers[index][key] = np.asarray(x)
        if any(len(layer) % 2 for layer in layers):
            raise LlamaError(f"{path} lacks one of the two matrices of an adapter")
        return cls(layers, rank, alpha)


def _file_name(index: int, key: str) -> str:
    name, _, part = key.rpartition("_")
    return f"base_model.model.model.layers.{index}.{PROJECTIONS[name]}.{NAMES[part]}.weight"
