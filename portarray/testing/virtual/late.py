"""Results of calls that fail, for devices that say so when they are waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["shaped"]


def shaped(
    error: Exception, function: Callable[..., Any], args: list[Any], options: dict[str, Any]
) -> Any:
    """Return a result of the right shape where only values are at fault; raise otherwise."""
    try:
        return function(*map(_harmless, args), **{k: _harmless(x) for k, x in options.items()})
    except Exception:  # noqa: BLE001  (shapes or dtypes are at fault, as the first error says)
        raise error from None


def _harmless(value: Any) -> Any:
    """Return zeros in the place of values, and unit matrices in that of matrices."""
    if isinstance(value, tuple | list):
        return type(value)([_harmless(part) for part in value])
    if not isinstance(value, np.ndarray):
        return value
    if value.ndim < 2 or value.dtype.kind not in "fc":
        return np.zeros_like(value)
    return np.broadcast_to(np.eye(*value.shape[-2:], dtype=value.dtype), value.shape).copy()
