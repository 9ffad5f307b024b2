"""The extension ``fft`` on tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from portarray.backends.torch.namespace.promotion import default_float

Norm = Literal["backward", "ortho", "forward"]

# PyTorch has no types for these.
_fft: Callable[..., Tensor] = torch.fft.fft
_ifft: Callable[..., Tensor] = torch.fft.ifft
_fftn: Callable[..., Tensor] = torch.fft.fftn
_ifftn: Callable[..., Tensor] = torch.fft.ifftn
_rfft: Callable[..., Tensor] = torch.fft.rfft
_irfft: Callable[..., Tensor] = torch.fft.irfft
_rfftn: Callable[..., Tensor] = torch.fft.rfftn
_irfftn: Callable[..., Tensor] = torch.fft.irfftn
_hfft: Callable[..., Tensor] = torch.fft.hfft
_ihfft: Callable[..., Tensor] = torch.fft.ihfft
_fftfreq: Callable[..., Tensor] = torch.fft.fftfreq
_rfftfreq: Callable[..., Tensor] = torch.fft.rfftfreq
_fftshift: Callable[..., Tensor] = torch.fft.fftshift
_ifftshift: Callable[..., Tensor] = torch.fft.ifftshift


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform along an axis."""
    return _fft(x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform back along an axis."""
    return _ifft(x, n, axis, norm)


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Transform along axes."""
    return _fftn(x, s, axes, norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Transform back along axes."""
    return _ifftn(x, s, axes, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform real numbers along an axis."""
    return _rfft(x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform back to real numbers along an axis."""
    return _irfft(x, n, axis, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Transform real numbers along axes."""
    return _rfftn(x, s, axes, norm)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Transform back to real numbers along axes."""
    return _irfftn(x, s, axes, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform Hermitian-symmetric numbers along an axis."""
    return _hfft(x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform back to Hermitian-symmetric numbers along an axis."""
    return _ihfft(x, n, axis, norm)


def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return the sample frequencies of :func:`fft`."""
    place = torch.device("cpu") if device is None else device
    return _fftfreq(n, d, dtype=dtype or default_float(place), device=place)


def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: torch.dtype | None = None,
    device: torch.device | None = None,
) -> Tensor:
    """Return the sample frequencies of :func:`rfft`."""
    place = torch.device("cpu") if device is None else device
    return _rfftfreq(n, d, dtype=dtype or default_float(place), device=place)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Move frequency 0 to the middle."""
    return _fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Undo :func:`fftshift`."""
    return _ifftshift(x, axes)
