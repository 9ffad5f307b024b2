"""Rounding of MLX's arrays; integers stay as they are."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "ceil": {"iuf": mx.ceil},
    "floor": {"iuf": mx.floor},
    "round": {"iufc": mx.round},
    "trunc": {"iuf": mx.trunc},
}
