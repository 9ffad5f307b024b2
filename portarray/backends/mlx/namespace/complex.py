"""Parts of MLX's complex arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "conj": {"iufc": mx.conj},
    "imag": {"c": mx.imag, "iuf": mx.zeros_like},
    "real": {"iufc": mx.real},
}
