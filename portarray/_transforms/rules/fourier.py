"""Gradients of Fourier transforms: their adjoints.

The adjoint of a transform is the inverse with the other ``norm``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portarray._namespace import pa
from portarray._transforms.rules.table import as_operand, define

_OTHER: dict[str | None, Any] = {
    "backward": "forward",
    "forward": "backward",
    "ortho": "ortho",
    None: "forward",
}


def _fitted(x: Any, sizes: Sequence[int], axes: Sequence[int]) -> Any:
    """Return x sliced or zero-padded to ``sizes`` along ``axes``."""
    for axis, size in zip(axes, sizes, strict=True):
        length = x.shape[axis]
        if length > size:
            key = [slice(None)] * x.ndim
            key[axis] = slice(0, size)
            x = x[tuple(key)]
        elif length < size:
            shape = list(x.shape)
            shape[axis] = size - length
            more = pa.zeros(tuple(shape), dtype=x.dtype, device=x.device)
            x = pa.concat([x, more], axis=axis)
    return x


def _like(g: Any, x: Any, axes: Sequence[int]) -> Any:
    return _fitted(as_operand(g, x), [x.shape[axis] for axis in axes], axes)


def _weights(n: int, g: Any, axis: int) -> Any:
    """Return 2 where an element of a half spectrum represents two of the full one, else 1."""
    weights = [1.0] + [2.0] * ((n - 1) // 2) + ([1.0] if n % 2 == 0 else [])
    shape = [1] * g.ndim
    shape[axis] = len(weights)
    return pa.reshape(pa.asarray(weights, dtype=pa.real(g).dtype, device=g.device), tuple(shape))


def _several(x: Any, s: Any, axes: Any) -> tuple[list[int], list[int]]:
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    places = [axis % x.ndim for axis in axes]
    return places, [x.shape[axis] for axis in places] if s is None else list(s)


def _one_axis(inverse: str) -> Any:
    def part(g: Any, y: Any, x: Any, *, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return _like(getattr(pa.fft, inverse)(g, axis=axis, norm=_OTHER[norm]), x, [axis])

    return part


def _several_axes(inverse: str) -> Any:
    def part(g: Any, y: Any, x: Any, *, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
        places, _ = _several(x, s, axes)
        back = getattr(pa.fft, inverse)(g, axes=tuple(places), norm=_OTHER[norm])
        return _like(back, x, places)

    return part


def _rfft(g: Any, y: Any, x: Any, *, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    size = x.shape[axis] if n is None else n
    whole = _fitted(g, [size], [axis])
    return _like(pa.fft.ifft(whole, axis=axis, norm=_OTHER[norm]), x, [axis])


def _irfft(g: Any, y: Any, x: Any, *, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    half = pa.fft.rfft(g, axis=axis, norm=_OTHER[norm])
    return _like(half * _weights(y.shape[axis], half, axis), x, [axis])


def _hfft(g: Any, y: Any, x: Any, *, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    half = pa.fft.rfft(g, axis=axis, norm=_OTHER[_OTHER[norm]])
    return _like(pa.conj(half * _weights(y.shape[axis], half, axis)), x, [axis])


def _ihfft(g: Any, y: Any, x: Any, *, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
    size = x.shape[axis] if n is None else n
    whole = _fitted(pa.conj(g), [size], [axis])
    return _like(pa.fft.ifft(whole, axis=axis, norm=_OTHER[_OTHER[norm]]), x, [axis])


def _rfftn(g: Any, y: Any, x: Any, *, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    places, sizes = _several(x, s, axes)
    whole = _fitted(g, [sizes[-1]], [places[-1]])
    back = pa.fft.ifftn(whole, axes=tuple(places), norm=_OTHER[norm])
    return _like(back, x, places)


def _irfftn(g: Any, y: Any, x: Any, *, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    places, _ = _several(x, s, axes)
    half = pa.fft.rfftn(g, axes=tuple(places), norm=_OTHER[norm])
    last = places[-1]
    return _like(half * _weights(y.shape[last], half, last), x, places)


define(
    {
        "fft.fft": _one_axis("ifft"),
        "fft.ifft": _one_axis("fft"),
        "fft.fftn": _several_axes("ifftn"),
        "fft.ifftn": _several_axes("fftn"),
        "fft.rfft": _rfft,
        "fft.irfft": _irfft,
        "fft.hfft": _hfft,
        "fft.ihfft": _ihfft,
        "fft.rfftn": _rfftn,
        "fft.irfftn": _irfftn,
    }
)
