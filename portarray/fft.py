"""Discrete Fourier transforms: the standard's ``fft`` extension, complete.

The transform of ``n`` numbers is ``X[k] = sum(x[m] * exp(-2j * pi * k * m / n))`` over ``m``; the
inverse has the opposite sign in the exponent and, by default, divides by ``n``. `norm` moves that
factor: ``"backward"`` scales the inverse by ``1 / n``, ``"forward"`` the forward transform, and
``"ortho"`` both by ``1 / sqrt(n)``.
"""

from typing import TYPE_CHECKING

from portarray import _name_hints
from portarray._api.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from portarray._api.fft.one_axis import fft, hfft, ifft, ihfft, irfft, rfft
from portarray._api.fft.several_axes import fftn, ifftn, irfftn, rfftn

__all__ = [
    "fft",
    "ifft",
    "fftn",
    "ifftn",
    "rfft",
    "irfft",
    "rfftn",
    "irfftn",
    "hfft",
    "ihfft",
    "fftfreq",
    "rfftfreq",
    "fftshift",
    "ifftshift",
]

if not TYPE_CHECKING:  # a type checker would take every name to be there
    __getattr__ = _name_hints.module_getattr(__name__)
