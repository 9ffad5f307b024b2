"""Rounding; integers stay as they are."""

from __future__ import annotations

import cupy
from cupy import ndarray

__all__ = ["ceil", "floor", "round", "trunc"]


# CuPy makes floating-point numbers of integers before version 14.
def ceil(x: ndarray, /) -> ndarray:
    """Round up."""
    return cupy.ceil(x) if x.dtype.kind == "f" else x.copy()


def floor(x: ndarray, /) -> ndarray:
    """Round down."""
    return cupy.floor(x) if x.dtype.kind == "f" else x.copy()


def round(x: ndarray, /) -> ndarray:
    """Round to the nearest integer, halves to even; both parts of complex numbers."""
    return cupy.rint(x) if x.dtype.kind in "fc" else x.copy()


def trunc(x: ndarray, /) -> ndarray:
    """Round towards zero."""
    return cupy.trunc(x) if x.dtype.kind == "f" else x.copy()
