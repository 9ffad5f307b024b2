"""The extension ``fft`` on arrays; CuPy keeps single precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.cupy.namespace.creation import _on

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip

Norm = Literal["backward", "ortho", "forward"]
Axes = Sequence[int]

fftshift = cupy.fft.fftshift
ifftshift = cupy.fft.ifftshift


def fft(x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> ndarray:
    """Transform along an axis."""
    return cupy.fft.fft(x, n, axis, norm)


def ifft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform back along an axis."""
    return cupy.fft.ifft(x, n, axis, norm)


def fftn(
    x: ndarray, /, *, s: Axes | None = None, axes: Axes | None = None, norm: Norm = "backward"
) -> ndarray:
    """Transform along axes."""
    x, axes = _fitted(x, s, axes)
    return cupy.fft.fftn(x, axes=axes, norm=norm)


def ifftn(
    x: ndarray, /, *, s: Axes | None = None, axes: Axes | None = None, norm: Norm = "backward"
) -> ndarray:
    """Transform back along axes."""
    x, axes = _fitted(x, s, axes)
    return cupy.fft.ifftn(x, axes=axes, norm=norm)


def rfft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform real numbers along an axis."""
    return cupy.fft.rfft(x, n, axis, norm)


def irfft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform back to real numbers along an axis."""
    return cupy.fft.irfft(x, n, axis, norm)


def rfftn(
    x: ndarray, /, *, s: Axes | None = None, axes: Axes | None = None, norm: Norm = "backward"
) -> ndarray:
    """Transform real numbers along axes."""
    x, axes = _fitted(x, s, axes)
    return cupy.fft.rfftn(x, axes=axes, norm=norm)


def irfftn(
    x: ndarray, /, *, s: Axes | None = None, axes: Axes | None = None, norm: Norm = "backward"
) -> ndarray:
    """Transform back to real numbers along axes."""
    last = None if s is None else s[-1]
    x, axes = _fitted(x, None if s is None else (*s[:-1], x.shape[_axes(x, s, axes)[-1]]), axes)
    if len(axes) > 1:
        x = cupy.fft.ifftn(x, axes=axes[:-1], norm=norm)
    return cupy.fft.irfft(x, last, axes[-1], norm)


def _axes(x: ndarray, s: Axes | None, axes: Axes | None) -> tuple[int, ...]:
    """Return the axes of a transform: the last ones where s alone is given, all by default."""
    if axes is None:
        axes = range(-(x.ndim if s is None else len(s)), 0)
    return tuple(axes)


def _fitted(x: ndarray, s: Axes | None, axes: Axes | None) -> tuple[ndarray, tuple[int, ...]]:
    """Return x cut or filled up with zeros to the sizes of a transform, and its axes.

    CuPy's own way overlooks s where it equals x's shape, whichever axes it is for
    (cupy/fft/_fft.py, `_cook_shape`).
    """
    places = _axes(x, s, axes)
    if s is None:
        return x, places
    if len(s) != len(places):
        raise ValueError(f"s has {len(s)} sizes for {len(places)} axes")
    shape = list(x.shape)
    for size, place in zip(s, places, strict=True):
        shape[place] = size
    if tuple(shape) == x.shape:
        return x, places
    inside = tuple(slice(0, min(sizes)) for sizes in zip(shape, x.shape, strict=True))
    if all(size <= own for size, own in zip(shape, x.shape, strict=True)):
        return x[inside], places
    out = cupy.zeros(shape, x.dtype)
    out[inside] = x[inside]
    return out, places


def hfft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform Hermitian-symmetric numbers along an axis."""
    return cupy.fft.hfft(x, n, axis, norm)


def ihfft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform back to Hermitian-symmetric numbers along an axis."""
    return cupy.fft.ihfft(x, n, axis, norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: np.dtype[Any] | None = None, device: Any = None
) -> ndarray:
    """Return the sample frequencies of :func:`fft`."""
    with _on(device):
        return cupy.fft.fftfreq(n, d).astype(dtype or np.float64, copy=False)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: np.dtype[Any] | None = None, device: Any = None
) -> ndarray:
    """Return the sample frequencies of :func:`rfft`."""
    with _on(device):
        return cupy.fft.rfftfreq(n, d).astype(dtype or np.float64, copy=False)
