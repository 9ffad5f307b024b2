"""The extension ``fft`` on tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from portarray.backends.composed.fft import of_empty_stacks
from portarray.backends.torch.namespace.creation import default_float

Norm = Literal["backward", "ortho", "forward"]
Function = Callable[..., Tensor]  # PyTorch has no types for these


def _along(function: Function) -> Function:
    def transform(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
    ) -> Tensor:
        return function(x, n, axis, norm)

    return of_empty_stacks(transform, Tensor.new_ones)


def _over(function: Function) -> Function:
    def transform(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: Norm = "backward",
    ) -> Tensor:
        return function(x, s, axes, norm)

    return of_empty_stacks(transform, Tensor.new_ones)


def _shifted(function: Function) -> Function:
    def shift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
        return function(x, axes) if x.ndim and axes != () else x.clone()

    return shift


def _frequencies(function: Function) -> Function:
    def frequencies(
        n: int,
        /,
        *,
        d: float = 1.0,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
    ) -> Tensor:
        return function(n, d, dtype=dtype or default_float(device), device=device or "cpu")

    return frequencies


fft = _along(torch.fft.fft)
fftfreq = _frequencies(torch.fft.fftfreq)
fftn = _over(torch.fft.fftn)
fftshift = _shifted(torch.fft.fftshift)
hfft = _along(torch.fft.hfft)
ifft = _along(torch.fft.ifft)
ifftn = _over(torch.fft.ifftn)
ifftshift = _shifted(torch.fft.ifftshift)
ihfft = _along(torch.fft.ihfft)
irfft = _along(torch.fft.irfft)
irfftn = _over(torch.fft.irfftn)
rfft = _along(torch.fft.rfft)
rfftfreq = _frequencies(torch.fft.rfftfreq)
rfftn = _over(torch.fft.rfftn)
