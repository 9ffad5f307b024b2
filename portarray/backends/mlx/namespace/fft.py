"""The extension ``fft`` on MLX's arrays.

MLX transforms in single precision only. What would be complex128 is refused: a result of half the
precision would not be noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import mlx.core as mx

from portarray.backends.mlx.namespace.creation import check_size

__all__ = ["fft", "fftn", "ifft", "ifftn", "irfft", "irfftn", "rfft", "rfftn"]

Norm = Literal["backward", "ortho", "forward"]


def fft(
    x: mx.array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> mx.array:
    """Transform along an axis."""
    return mx.fft.fft(_single("fft", x, n), n, axis, norm)


def ifft(
    x: mx.array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> mx.array:
    """Transform back along an axis."""
    return mx.fft.ifft(_single("ifft", x, n), n, axis, norm)


def fftn(
    x: mx.array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> mx.array:
    """Transform along axes."""
    return mx.fft.fftn(_single("fftn", x, *(s or ())), _sizes(s), _places(x, s, axes), norm)


def ifftn(
    x: mx.array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> mx.array:
    """Transform back along axes."""
    return mx.fft.ifftn(_single("ifftn", x, *(s or ())), _sizes(s), _places(x, s, axes), norm)


def rfft(
    x: mx.array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> mx.array:
    """Transform real numbers along an axis."""
    return mx.fft.rfft(_real("rfft", x, n), n, axis, norm)


def irfft(
    x: mx.array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> mx.array:
    """Transform back to real numbers along an axis."""
    return mx.fft.irfft(_single("irfft", x, n), n, axis, norm)


def rfftn(
    x: mx.array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> mx.array:
    """Transform real numbers along axes."""
    return mx.fft.rfftn(_real("rfftn", x, *(s or ())), _sizes(s), _places(x, s, axes), norm)


def irfftn(
    x: mx.array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> mx.array:
    """Transform back to real numbers along axes."""
    return mx.fft.irfftn(_single("irfftn", x, *(s or ())), _sizes(s), _places(x, s, axes), norm)


def _single(name: str, x: mx.array, *lengths: int | None) -> mx.array:
    """Refuse arrays and lengths that MLX cannot transform, or would in too low a precision."""
    if x.dtype == mx.float64:
        raise TypeError(
            f"{name} of float64 is complex128, which MLX has not; convert to float32 with astype"
        )
    if x.ndim == 0:
        raise ValueError(f"{name} needs at least one axis")
    check_size([length for length in lengths if length is not None], mx.complex64)
    return x


def _real(name: str, x: mx.array, *lengths: int | None) -> mx.array:
    if x.dtype == mx.complex64:
        raise TypeError(f"{name} transforms real numbers; take fft for complex ones")
    return _single(name, x, *lengths)


def _sizes(s: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if s is None else tuple(s)


def _places(
    x: mx.array, s: Sequence[int] | None, axes: Sequence[int] | None
) -> Sequence[int] | None:
    """Return the axes: where only sizes are given, the last ones."""
    if axes is not None or s is None:
        return axes
    return range(x.ndim - len(s), x.ndim)
