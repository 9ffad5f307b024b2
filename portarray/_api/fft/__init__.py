"""The Fourier transforms, split by family; :mod:`portarray.fft` lists them."""
