"""Products of dpnp's arrays."""

from __future__ import annotations

import dpnp

matmul = dpnp.matmul
matrix_transpose = dpnp.matrix_transpose
tensordot = dpnp.tensordot
vecdot = dpnp.vecdot
