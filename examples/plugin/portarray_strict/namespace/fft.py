"""Fourier transforms; the library takes no real arrays where the standard lets it refuse them."""

from __future__ import annotations

from typing import Any, Literal

import array_api_strict as strict
from array_api_strict import fft as library

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip

Norm = Literal["backward", "ortho", "forward"]

fftfreq = library.fftfreq
fftshift = library.fftshift
hfft = library.hfft
ifftshift = library.ifftshift
ihfft = library.ihfft
irfft = library.irfft
irfftn = library.irfftn
rfft = library.rfft
rfftfreq = library.rfftfreq
rfftn = library.rfftn


def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Any:
    """Return the Fourier transform along an axis."""
    return library.fft(_complex(x), n=n, axis=axis, norm=norm)


def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Any:
    """Return the inverse of :func:`fft`."""
    return library.ifft(_complex(x), n=n, axis=axis, norm=norm)


def fftn(
    x: Any,
    /,
    *,
    s: tuple[int, ...] | None = None,
    axes: tuple[int, ...] | None = None,
    norm: Norm = "backward",
) -> Any:
    """Return the Fourier transform along several axes."""
    return library.fftn(_complex(x), s=s, axes=axes, norm=norm)


def ifftn(
    x: Any,
    /,
    *,
    s: tuple[int, ...] | None = None,
    axes: tuple[int, ...] | None = None,
    norm: Norm = "backward",
) -> Any:
    """Return the inverse of :func:`fftn`."""
    return library.ifftn(_complex(x), s=s, axes=axes, norm=norm)


def _complex(x: Any) -> Any:
    """Return x in the complex dtype of its precision."""
    if strict.isdtype(x.dtype, "complex floating"):
        return x
    wide = strict.complex64 if x.dtype == strict.float32 else strict.complex128
    return strict.astype(x, wide)
