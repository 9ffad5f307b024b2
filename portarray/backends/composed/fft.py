"""Fourier transforms composed of others, and their helper functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Literal

__all__ = ["fftfreq", "fftshift", "hfft", "ifftshift", "ihfft", "rfftfreq"]

Norm = Literal["backward", "ortho", "forward"]

_OPPOSITE: dict[Norm, Norm] = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(
    xp: Any, x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Any:
    """Transform Hermitian-symmetric numbers along an axis."""
    return xp.fft.irfft(xp.conj(x), n=n, axis=axis, norm=_opposite(norm))


def ihfft(
    xp: Any, x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> Any:
    """Transform back to Hermitian-symmetric numbers along an axis."""
    return xp.conj(xp.fft.rfft(x, n=n, axis=axis, norm=_opposite(norm)))


def _opposite(norm: Norm) -> Norm:
    if norm not in _OPPOSITE:
        raise ValueError(f"norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    return _OPPOSITE[norm]


def fftfreq(xp: Any, n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """Return the sample frequencies of ``fft``."""
    ahead = _frequencies(xp, 0, (n + 1) // 2, n, d, dtype, device)
    return xp.concat([ahead, _frequencies(xp, -(n // 2), 0, n, d, dtype, device)])


def rfftfreq(xp: Any, n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """Return the sample frequencies of ``rfft``."""
    return _frequencies(xp, 0, n // 2 + 1, n, d, dtype, device)


def _frequencies(xp: Any, start: int, stop: int, n: int, d: float, dtype: Any, device: Any) -> Any:
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    target = xp.device if device is None else device
    if dtype is None:
        dtype = xp.empty((0,), device=target).dtype
    indices = xp.arange(start, stop, dtype=dtype, device=target)
    return xp.divide(indices, n * d)


def fftshift(xp: Any, x: Any, /, *, axes: int | Sequence[int] | None = None) -> Any:
    """Move frequency 0 to the middle."""
    places = _axes(x, axes)
    return xp.roll(x, tuple(x.shape[axis] // 2 for axis in places), axis=places)


def ifftshift(xp: Any, x: Any, /, *, axes: int | Sequence[int] | None = None) -> Any:
    """Undo ``fftshift``."""
    places = _axes(x, axes)
    return xp.roll(x, tuple(-(x.shape[axis] // 2) for axis in places), axis=places)


def of_empty_stacks(transform: Callable[..., Any], ones: Callable[..., Any]) -> Callable[..., Any]:
    """Return a transform that accepts stacks of no signals, which the library's does not.

    Its result has the shape and dtype for one signal, without the elements. ``ones(x, shape)``
    returns a new array like x.
    """

    @wraps(transform)
    def taking(x: Any, *args: Any, **options: Any) -> Any:
        if 0 not in x.shape:
            return transform(x, *args, **options)
        whole = transform(ones(x, tuple(n or 1 for n in x.shape)), *args, **options)
        return whole[tuple(slice(None if n else 0) for n in x.shape)]

    return taking


def _axes(x: Any, axes: int | Sequence[int] | None) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(x.ndim))
    return (axes,) if isinstance(axes, int) else tuple(axes)
