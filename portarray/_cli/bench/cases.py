"""What is measured: a name, a size, and how a device does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import portarray as pa

if TYPE_CHECKING:
    from portarray._cli.bench.timing import Action

# The sizes of SmolLM2-135M.
HIDDEN = 576
INTERMEDIATE = 1536
HEADS, KV_HEADS, HEAD_DIM = 9, 3, 64


@dataclass(frozen=True, slots=True)
class Case:
    """One measurement, for any device."""

    name: str  # the same for all sizes
    size: int  # in the subject's unit
    # Puts the inputs on a device and returns the call to time, which waits for its result
    make: Callable[[pa.Device], Action]


def random(device: pa.Device, *shape: int, scale: float = 1.0) -> pa.Array:
    """Return normally distributed float32, the same on every device."""
    values = np.random.default_rng(7).standard_normal(shape, np.float32)
    return pa.asarray(values * np.float32(scale), device=device, copy=True)


def ended(run: Callable[..., pa.Array], *arguments: Any, **options: Any) -> Action:
    """Return a call that also reads one element of its result.

    Waiting for the device is not enough: MLX computes what somebody asks for.
    """

    def action() -> None:
        result = run(*arguments, **options)
        complex(result[(0,) * result.ndim])

    return action
