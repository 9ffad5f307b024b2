"""The extension ``fft`` on MLX's arrays.

MLX transforms in single precision only. What would be complex128 is refused: a result of half the
precision would not be noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import mlx.core as mx

from portarray.backends.mlx.namespace.creation import check_size
from portarray.backends.mlx.namespace.scalars import refuse_double

Norm = Literal["backward", "ortho", "forward"]
Sizes = Sequence[int]


def _of_axis(name: str, own: Callable[..., mx.array]) -> Callable[..., mx.array]:
    """Return a transform along one axis."""

    def transform(
        x: mx.array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
    ) -> mx.array:
        _check(name, x, () if n is None else (n,))
        return own(x, n, axis, norm)

    return transform


def _of_axes(name: str, own: Callable[..., mx.array]) -> Callable[..., mx.array]:
    """Return a transform along several axes; where only sizes are given, the last ones."""

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
        return own(x, None if s is None else tuple(s), axes, norm)

    return transform


def _check(name: str, x: mx.array, lengths: Sizes) -> None:
    """Refuse arrays and lengths that MLX cannot transform, or would in too low a precision."""
    refuse_double(name, x)
    if x.ndim == 0:
        raise ValueError(f"{name} needs at least one axis")
    check_size(lengths, mx.complex64)


fft = _of_axis("fft", mx.fft.fft)
fftn = _of_axes("fftn", mx.fft.fftn)
ifft = _of_axis("ifft", mx.fft.ifft)
ifftn = _of_axes("ifftn", mx.fft.ifftn)
irfft = _of_axis("irfft", mx.fft.irfft)
irfftn = _of_axes("irfftn", mx.fft.irfftn)
rfft = _of_axis("rfft", mx.fft.rfft)
rfftn = _of_axes("rfftn", mx.fft.rfftn)
