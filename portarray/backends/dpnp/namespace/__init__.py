"""The standard on dpnp's arrays: dpnp's own functions, corrected where they differ."""

from __future__ import annotations

# dpnp's own way with Python scalars copies each from the host; see scalars.py.
TAKES_SCALARS = True
