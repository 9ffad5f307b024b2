"""Fourier transforms, by NumPy on the host.

On devices whose memory is host memory NumPy works on views. Single precision is preserved; float16
and bfloat16 are computed in float32. Errors are pocketfft's: a few ``log2(n) * eps`` at the scale
of the sum of magnitudes. Sample frequencies and shifts are computed on the device.
"""

from portarray.clarray.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from portarray.clarray.fft.one_axis import fft, hfft, ifft, ihfft, irfft, rfft
from portarray.clarray.fft.several_axes import fftn, ifftn, irfftn, rfftn

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft"]
__all__ += ["irfft", "irfftn", "rfft", "rfftfreq", "rfftn"]
