"""Dtypes of MLX's arrays: converting."""

from __future__ import annotations

import mlx.core as mx


def astype(
    x: mx.array, dtype: mx.Dtype, /, *, copy: bool = True, device: mx.Device | None = None
) -> mx.array:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    if x.dtype == dtype:
        return mx.array(x) if copy else x
    if device is None or device == mx.default_device():
        return x.astype(dtype)
    return x.astype(dtype, stream=device)
