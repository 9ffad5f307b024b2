"""What a training depends on: the model, its sizes, precision and chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from examples.training.errors import TrainingError

__all__ = ["MODELS", "PRECISIONS", "Config", "Half"]

SIZES = {
    "mlp": {"width", "depth"},
    "text": {"width", "depth", "heads", "context"},
    "llama": {"rank", "alpha", "adapt", "context"},
}
"""Of each model the fields of a configuration that not all models have."""

MODELS = tuple(SIZES)
DEFAULTS: dict[str, dict[str, Any]] = {
    "text": {"batch": 32, "rate": 4e-3, "width": 64},
    "llama": {"steps": 100, "batch": 1, "rate": 1e-3, "context": 64},
}

Half = Literal["float16", "bfloat16"] | None

PRECISIONS: dict[str, tuple[Literal["float32", "float64"], Half]] = {
    "float32": ("float32", None),
    "float64": ("float64", None),
    "mixed": ("float32", "float16"),
    "mixed-bfloat16": ("float32", "bfloat16"),
}
"""Of each precision the dtype of the parameters, and that of the model's arithmetic if another."""


@dataclass(frozen=True, slots=True)
class Config:
    """All that the numbers depend on; devices do not belong to it."""

    model: str = "mlp"
    steps: int = 1000
    batch: int = 64
    rate: float = 2e-3
    width: int = 256
    depth: int = 2
    heads: int = 4
    context: int = 32
    rank: int = 8
    alpha: float = 16.0
    adapt: str = "q,v"
    precision: str = "float32"
    seed: int = 0

    @classmethod
    def of(cls, model: str, **options: Any) -> Config:
        """Return a model's configuration; what is not given, or None, has its default."""
        chosen = {name: value for name, value in options.items() if value is not None}
        misplaced = set().union(*SIZES.values()) - SIZES.get(model, chosen.keys())
        if wrong := sorted(misplaced & chosen.keys()):
            raise TrainingError(f"{', '.join(wrong)}: {model} has no such sizes; leave them out")
        return cls(model, **{**DEFAULTS.get(model, {}), **chosen})

    def __post_init__(self) -> None:
        for name, allowed in (("model", MODELS), ("precision", tuple(PRECISIONS))):
            value = getattr(self, name)
            if value not in allowed:
                raise TrainingError(f"{name} {value!r} is none of {', '.join(allowed)}")
        for name in (
            "steps",
            "batch",
            "width",
            "depth",
            "heads",
            "context",
            "rate",
            "rank",
            "alpha",
        ):
            if not getattr(self, name) > 0:
                raise TrainingError(f"{name} is {getattr(self, name)}; it must be positive")
        if self.width % self.heads:
            raise TrainingError(
                f"a width of {self.width} cannot be divided among {self.heads} heads; "
                f"choose a multiple"
            )

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of parameters and losses."""
        return np.dtype(PRECISIONS[self.precision][0])

    @property
    def half(self) -> Half:
        """The dtype of the model's arithmetic where it is another."""
        return PRECISIONS[self.precision][1]
