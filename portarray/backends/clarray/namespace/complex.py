"""Parts of complex numbers."""

from __future__ import annotations

from portarray.backends.types import Rows
from portarray.clarray import zeros_like
from portarray.clarray.complex import imag

BY_DTYPE: Rows = {"imag": {"iuf": zeros_like, "c": imag}}
