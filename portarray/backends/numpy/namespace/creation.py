"""Making NumPy arrays."""

from __future__ import annotations

import numpy as np
from array_api_compat.numpy import asarray

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip

arange = np.arange
empty = np.empty
empty_like = np.empty_like
eye = np.eye
from_dlpack = np.from_dlpack
full = np.full
full_like = np.full_like
linspace = np.linspace
meshgrid = np.meshgrid
ones = np.ones
ones_like = np.ones_like
tril = np.tril
triu = np.triu
zeros = np.zeros
zeros_like = np.zeros_like
