"""The extension ``fft`` on arrays; CuPy keeps single precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.cupy.namespace.creation import on_device

Norm = Literal["backward", "ortho", "forward"]
Axes = Sequence[int]
Function = Callable[..., ndarray]

fft = cupy.fft.fft
fftshift = cupy.fft.fftshift
hfft = cupy.fft.hfft
ifft = cupy.fft.ifft
ifftshift = cupy.fft.ifftshift
ihfft = cupy.fft.ihfft
irfft = cupy.fft.irfft
rfft = cupy.fft.rfft


def _along_axes(function: Function) -> Function:
    def transform(
        x: ndarray, /, *, s: Axes | None = None, axes: Axes | None = None, norm: Norm = "backward"
    ) -> ndarray:
        x, axes = _fitted(x, s, axes)
        return function(x, axes=axes, norm=norm)

    return transform


fftn = _along_axes(cupy.fft.fftn)
ifftn = _along_axes(cupy.fft.ifftn)
rfftn = _along_axes(cupy.fft.rfftn)


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
    """Return the axes of a transform: the last ``len(s)`` without axes, all without s."""
    if axes is None:
        axes = range(-(x.ndim if s is None else len(s)), 0)
    return tuple(axes)


def _fitted(x: ndarray, s: Axes | None, axes: Axes | None) -> tuple[ndarray, tuple[int, ...]]:
    """Return x cut or padded with zeros to the sizes of a transform, and its axes.

    CuPy ignores s if it equals x's shape, whatever the axes (cupy/fft/_fft.py, `_cook_shape`).
    """
    transformed = _axes(x, s, axes)
    if s is None:
        return x, transformed
    if len(s) != len(transformed):
        raise ValueError(f"fftn: s has {len(s)} sizes for {len(transformed)} axes")
    shape = list(x.shape)
    for size, axis in zip(s, transformed, strict=True):
        shape[axis] = size
    if tuple(shape) == x.shape:
        return x, transformed
    inside = tuple(slice(0, min(sizes)) for sizes in zip(shape, x.shape, strict=True))
    if all(size <= available for size, available in zip(shape, x.shape, strict=True)):
        return x[inside], transformed
    out = cupy.zeros(shape, x.dtype)
    out[inside] = x[inside]
    return out, transformed


def _frequencies(function: Function) -> Function:
    def frequencies(
        n: int, /, *, d: float = 1.0, dtype: np.dtype[Any] | None = None, device: Any = None
    ) -> ndarray:
        with on_device(device):
            return function(n, d).astype(dtype or np.float64, copy=False)

    return frequencies


fftfreq = _frequencies(cupy.fft.fftfreq)
rfftfreq = _frequencies(cupy.fft.rfftfreq)
