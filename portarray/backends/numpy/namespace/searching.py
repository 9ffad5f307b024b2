"""Searching NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat.numpy import count_nonzero

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]

# NumPy's stubs want keepdims written out as True or False.
argmax: Callable[..., Any] = np.argmax
argmin: Callable[..., Any] = np.argmin
nonzero = np.nonzero
searchsorted = np.searchsorted
where = np.where
