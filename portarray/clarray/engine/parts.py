"""Views of complex arrays as real ones, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.dtypes import real_dtype_of
from portarray.clarray.layout import is_contiguous
from portarray.clarray.strided import Array, new_array


def as_parts(x: Array) -> Array:
    """Return a complex array as a real view with a last axis of length 2."""
    shape = (*x.shape, 2)
    strides = (*[2 * step for step in x.strides], 1)
    return new_array(
        x.storage,
        real_dtype_of(x.dtype),
        shape,
        strides,
        2 * x.offset,
        is_contiguous(shape, strides),
    )


def part(x: Array, which: int) -> Array:
    """Return a view of the real (0) or imaginary (1) parts of a complex array."""
    parts = as_parts(x)
    return parts.view(x.shape, parts.strides[:-1], parts.offset + which)


def as_complex(parts: Array, dtype: np.dtype[Any]) -> Array:
    """Return a new contiguous real array with a last axis of length 2 as a complex view."""
    strides = tuple([step // 2 for step in parts.strides[:-1]])
    return new_array(parts.storage, dtype, parts.shape[:-1], strides, 0, True)
