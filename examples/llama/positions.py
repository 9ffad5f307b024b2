"""How far each pair of features is rotated at each position."""

from __future__ import annotations

from typing import Any

import numpy as np

import portarray as pa
from examples.llama.file import ModelFile
from portarray.typing import DType

__all__ = ["rates", "tables"]

Rates = np.ndarray[Any, np.dtype[np.float64]]


def rates(file: ModelFile) -> Rates:
    """Return the angle from one position to the next for each pair of features of a head."""
    config = file.config
    pairs = np.arange(0, config.head_dim, 2) / config.head_dim
    base_rates: Rates = config.theta**-pairs / config.position_scale
    if "rope_freqs.weight" in file:  # Llama 3 turns some of them slower, for long contexts
        base_rates = base_rates / file.tensor("rope_freqs.weight").astype(np.float64)
    return base_rates


def tables(
    rates: Rates, context: int, *, device: pa.Device, dtype: DType
) -> tuple[pa.Array, pa.Array]:
    """Return the cosines and sines of positions from 0, each (context, head_dim / 2).

    They are computed on the host in float64: at the end of a long context an angle in float32 is
    wrong by a thousandth, and each device would be wrong in its own way.
    """
    angles = np.arange(context)[:, None] * rates
    cos, sin = (
        pa.asarray(part, dtype=dtype, device=device, copy=True)
        for part in (np.cos(angles), np.sin(angles))
    )
    return cos, sin
