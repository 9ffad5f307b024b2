"""Parts of complex arrays: views, and a real array itself as its real part."""

from __future__ import annotations

from operator import attrgetter

import cupy

conj = cupy.conjugate
imag = attrgetter("imag")
real = attrgetter("real")
