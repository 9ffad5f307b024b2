"""Parts of complex arrays as views; the real part of a real array is the array itself."""

from __future__ import annotations

from operator import attrgetter

import cupy

conj = cupy.conjugate
imag = attrgetter("imag")
real = attrgetter("real")
