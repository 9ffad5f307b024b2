"""Parts of complex dpnp arrays."""

from __future__ import annotations

import dpnp

conj = dpnp.conj
imag = dpnp.imag
real = dpnp.real
