"""The standard on CuPy arrays: CuPy's own functions, corrected where they differ."""

from __future__ import annotations

TAKES_SCALARS = True
