"""Dtypes that Dask asks for by itself, on devices that lack them.

Dask counts in int64 and accumulates in float64 whatever the chunks are. A device without those
takes its nearest dtype, so that a sum works there as ``pa.sum`` does.
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
"""Packages whose functions Dask calls by itself."""

_NAMES = ("dtype", "astype_dtype")


@cache
def lacks(device: pa.Device) -> bool:
    """Tell whether a device lacks a dtype that Dask asks for."""
    return any(near(dtype, device) != dtype for dtype in ("int64", "float64", "complex128"))


def narrowed(function: Any, options: dict[str, Any], device: pa.Device) -> tuple[Any, Any]:
    """Return one of Dask's or NumPy's functions, and its options, with dtypes of the device."""
    if isinstance(function, COMPOSE):
        parts = [narrowed(one, {}, device)[0] for one in (function.first, *function.funcs)]
        return compose(*reversed(parts)), options
    if isinstance(function, partial):
        inner, given = narrowed(function.func, function.keywords, device)
        return partial(inner, *function.args, **given), _nearest(function.func, options, device)
    return function, _nearest(function, options, device)


def _nearest(function: Any, options: dict[str, Any], device: pa.Device) -> dict[str, Any]:
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    asked = [name for name in _NAMES if options.get(name) is not None]
    if not asked or package not in LIBRARIES:
        return options
    found = {name: near(options[name], device) for name in asked}
    if function is dask.array.chunk.astype and found != {name: options[name] for name in asked}:
        wanted, taken = np.dtype(options["astype_dtype"]), found["astype_dtype"]
        warnings.warn(
            f"astype({wanted}) makes {taken} on {device}, which has no {wanted}; ask for a dtype "
            f"that the device has",
            RuntimeWarning,
            stacklevel=2,
        )
    return {**options, **found}
