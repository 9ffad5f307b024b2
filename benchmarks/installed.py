"""Optional libraries of the benchmarks."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["MODULES", "optional"]

MODULES = {
    "F": "torch.nn.functional",
    "cl": "portarray.clarray",
    "cupy": "cupy",
    "dpnp": "dpnp",
    "jax": "jax",
    "jnp": "jax.numpy",
    "mx": "mlx.core",
    "nn": "mlx.nn",
    "np": "numpy",
    "special": "cupyx.scipy.special",
    "torch": "torch",
}
"""Names in expressions by hand, with their modules."""


def optional(module: str) -> Any:
    """Return a module, or None where it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None
