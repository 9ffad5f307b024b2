"""Logic on MLX's boolean arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "logical_and": {"b": mx.logical_and},
    "logical_not": {"b": mx.logical_not},
    "logical_or": {"b": mx.logical_or},
    "logical_xor": {"b": mx.logical_xor},
}
