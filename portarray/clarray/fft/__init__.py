"""Fourier transforms, by NumPy on the host.

On devices that compute in host memory NumPy reads the arrays where they lie and writes into the
results' memory. Single precision stays single; float16 and bfloat16 are computed in float32.
Accuracy is pocketfft's: a few ``log2(n) * eps`` at the scale of the sum of the magnitudes. Sample
frequencies and shifts are computed on the device.
"""

from portarray.clarray.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from portarray.clarray.fft.one_axis import fft, hfft, ifft, ihfft, irfft, rfft
from portarray.clarray.fft.several_axes import fftn, ifftn, irfftn, rfftn

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
