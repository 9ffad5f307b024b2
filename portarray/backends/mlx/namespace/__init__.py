"""The array API standard on MLX's arrays.

What is missing here is composed from the rest in ``backends/composed``, or computed on the host.
"""

from __future__ import annotations

from math import e, inf, nan, pi

from mlx.core import (
    bfloat16,
    complex64,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from mlx.core import bool_ as bool

__all__ = [
    "bfloat16",
    "bool",
    "complex64",
    "e",
    "float16",
    "float32",
    "float64",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "nan",
    "newaxis",
    "pi",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

newaxis = None
