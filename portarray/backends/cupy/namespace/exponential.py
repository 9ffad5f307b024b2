"""Exponentials, logarithms, powers and roots of arrays."""

from __future__ import annotations

from typing import Any

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

exp = cupy.exp
sqrt = cupy.sqrt
square = cupy.square


def _integer_pow(x1: Any, x2: Any) -> ndarray:
    # Checking an array of powers waits for the device.
    if (x2 < 0).any() if isinstance(x2, ndarray) else x2 < 0:
        raise ValueError(
            "pow: integers have no negative powers\nHint: convert x1 to a floating-point dtype"
        )
    return cupy.power(x1, x2)


DIRECT: Rows = {
    "logaddexp": {"f": cupy.logaddexp},
    "pow": {"i": _integer_pow, "uf": cupy.power, "c": kernels.complex_power},
}

BY_DTYPE: Rows = {
    **taking_scalars(DIRECT),
    "expm1": {"f": cupy.expm1, "c": kernels.expm1},
    "log": {"f": cupy.log, "c": kernels.log},
    "log10": {"f": cupy.log10, "c": kernels.log10},
    "log1p": {"f": cupy.log1p, "c": kernels.log1p},
    "log2": {"f": cupy.log2, "c": kernels.log2},
}
