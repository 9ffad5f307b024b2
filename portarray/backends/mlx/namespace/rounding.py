"""Rounding of MLX's arrays; integers stay as they are."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.types import Rows


def _unchanged(x: mx.array, /) -> mx.array:
    """Return integers; functions compiled by MLX would round them in float32 or float64."""
    return mx.array(x)


BY_DTYPE: Rows = {
    "ceil": {"iu": _unchanged, "f": mx.ceil},
    "floor": {"iu": _unchanged, "f": mx.floor},
    "round": {"iu": _unchanged, "fc": mx.round},
    "trunc": {"iu": _unchanged, "f": mx.trunc},
}
