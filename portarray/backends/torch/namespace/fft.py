"""The extension ``fft`` on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from portarray.backends.torch.namespace.promotion import default_float

Norm = Literal["backward", "ortho", "forward"]


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform along an axis."""
    return torch.fft.fft(x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform back along an axis."""
    return torch.fft.ifft(x, n, axis, norm)


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Transform along axes."""
    return torch.fft.fftn(x, s, axes, norm)  # type: ignore[arg-type,unused-ignore]


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Transform back along axes."""
    return torch.fft.ifftn(x, s, axes, norm)  # type: ignore[arg-type,unused-ignore]


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform real numbers along an axis."""
    return torch.fft.rfft(x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform back to real numbers along an axis."""
    return torch.fft.irfft(x, n, axis, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Transform real numbers along axes."""
    return torch.fft.rfftn(x, s, axes, norm)  # type: ignore[arg-type,unused-ignore]


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """Transform back to real numbers along axes."""
    return torch.fft.irfftn(x, s, axes, norm)  # type: ignore[arg-type,unused-ignore]


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform Hermitian-symmetric numbers along an axis."""
    return torch.fft.hfft(x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """Transform back to Hermitian-symmetric numbers along an axis."""
    return torch.fft.ihfft(x, n, axis, norm)


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
    return torch.fft.fftfreq(n, d, dtype=dtype or default_float(place), device=place)


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
    return torch.fft.rfftfreq(n, d, dtype=dtype or default_float(place), device=place)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Move frequency 0 to the middle."""
    return torch.fft.fftshift(x, axes)  # type: ignore[arg-type,unused-ignore]


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Undo :func:`fftshift`."""
    return torch.fft.ifftshift(x, axes)  # type: ignore[arg-type,unused-ignore]
