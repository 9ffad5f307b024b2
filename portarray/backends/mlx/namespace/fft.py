"""The extension ``fft`` on MLX's arrays.

MLX transforms in single precision only. Operands with complex128 results are refused, since a
loss of precision would go unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import mlx.core as mx

from portarray.backends.mlx.namespace.creation import check_size
from portarray.backends.mlx.namespace.scalars import refuse_double

Norm = Literal["backward", "ortho", "forward"]
Sizes = Sequence[int]


def _of_axis(name: str, mlx_transform: Callable[..., mx.array]) -> Callable[..., mx.array]:
    """Return a transform along one axis."""

    def transform(
        x: mx.array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
    ) -> mx.array:
        _check(name, x, () if n is None else (n,))
        return mlx_transform(x, n, axis, norm)

    return transform


def _of_axes(name: str, mlx_transform: Callable[..., mx.array]) -> Callable[..., mx.array]:
    """Return a transform along several axes; the last ones if only sizes are given."""

    def transform(
        x: mx.array,
        /,
        *,
        s: Sizes | None = None,
        axes: Sizes | None = None,
        norm: Norm = "backward",
    ) -> mx.array:
        _check(name, x, s or ())
        if axes is None and s is not None:
            axes = range(x.ndim - len(s), x.ndim)
        return mlx_transform(x, None if s is None else tuple(s), axes, norm)

    return transform


def _check(name: str, x: mx.array, lengths: Sizes) -> None:
    """Raise for arrays and lengths that MLX cannot transform in the right precision."""
    refuse_double(name, x)
    if x.ndim == 0:
        raise ValueError(f"{name}: x has no axes")
    check_size(lengths, mx.complex64)


fft = _of_axis("fft", mx.fft.fft)
fftn = _of_axes("fftn", mx.fft.fftn)
ifft = _of_axis("ifft", mx.fft.ifft)
ifftn = _of_axes("ifftn", mx.fft.ifftn)
irfft = _of_axis("irfft", mx.fft.irfft)
irfftn = _of_axes("irfftn", mx.fft.irfftn)
rfft = _of_axis("rfft", mx.fft.rfft)
rfftn = _of_axes("rfftn", mx.fft.rfftn)
