"""Dtypes that Dask requests implicitly, on devices that do not support them.

Dask counts in int64 and accumulates in float64 for all chunks. A device without these dtypes uses
its nearest dtype, so that a sum works as ``pa.sum`` does.
"""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import Any

import dask.array.chunk
import numpy as np
from tlz import compose

import portarray as pa
from portarray.dask.registration import near

__all__ = ["COMPOSE", "LIBRARIES", "lacks", "narrowed"]

COMPOSE = type(compose(len, len))
LIBRARIES = frozenset(("dask", "numpy", "portarray"))
"""Packages whose functions Dask calls implicitly."""

_NAMES = ("dtype", "astype_dtype")


@cache
def lacks(device: pa.Device) -> bool:
    """Return whether a device lacks a dtype that Dask requests."""
    return any(near(dtype, device) != dtype for dtype in ("int64", "float64", "complex128"))


def narrowed(function: Any, options: dict[str, Any], device: pa.Device) -> tuple[Any, Any]:
    """Return a function and its options with dtypes that the device supports."""
    if isinstance(function, COMPOSE):
        parts = [narrowed(part, {}, device)[0] for part in (function.first, *function.funcs)]
        return compose(*reversed(parts)), options
    if isinstance(function, partial):
        inner, keywords = narrowed(function.func, function.keywords, device)
        return partial(inner, *function.args, **keywords), _nearest(function.func, options, device)
    return function, _nearest(function, options, device)


def _nearest(function: Any, options: dict[str, Any], device: pa.Device) -> dict[str, Any]:
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    names = [name for name in _NAMES if options.get(name) is not None]
    if not names or package not in LIBRARIES:
        return options
    nearest = {name: near(options[name], device) for name in names}
    if function is dask.array.chunk.astype and nearest != {name: options[name] for name in names}:
        dtype, nearest_dtype = np.dtype(options["astype_dtype"]), nearest["astype_dtype"]
        warnings.warn(
            f"astype: {device} does not support {dtype}; the result is {nearest_dtype}\n"
            f"Hint: pass a dtype that the device supports",
            RuntimeWarning,
            stacklevel=2,
        )
    return {**options, **nearest}
