"""The meta of a result: an empty array that tells its type, dtype and device before it is computed.

Dask finds it by calling a block's function on empty arrays. Tasks on portarray's chunks compute
what stands for that function beside them (:func:`portarray.dask.guarding.computed`), and so does
what finds the meta here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from dask.array.utils import compute_meta, meta_from_array
from dask.blockwise import BlockwiseDep
from dask.utils import is_arraylike

import portarray as pa
from portarray.dask.narrowing import LIBRARIES
from portarray.dask.registration import near

__all__ = ["begin", "like", "stand_in"]


def like(meta: Any, device: str) -> Any:
    """Return a meta of portarray on a device, in the nearest dtype that it has."""
    return pa.empty((0,) * meta.ndim, dtype=near(meta.dtype, device), device=device)


def _tried(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes what a task of a function would."""

    @wraps(function)
    def tried(*args: Any, **kwargs: Any) -> Any:
        try:
            return call(function, list(args), kwargs)
        except Exception:
            package = (getattr(function, "__module__", None) or "").partition(".")[0]
            if package not in LIBRARIES:
                raise
            # Such as Fourier transforms, which no empty array has. To call them changes nothing.
            samples = [_sample(one) for one in args]
            options = {name: _sample(one) for name, one in kwargs.items()}
            found = call(function, samples, options)
            return found[(slice(0, 0),) * found.ndim]

    return tried


def _sample(x: Any) -> Any:
    if isinstance(x, pa.Array):
        return pa.ones((2,) * x.ndim, dtype=x.dtype, device=x.device)
    if type(x) is np.ndarray and not x.size and x.dtype.kind in "biufc":
        return np.ones((2,) * x.ndim, dtype=x.dtype)
    if isinstance(x, BlockwiseDep):
        return x[(0,) * len(x.numblocks)]
    return x


def begin(call: Callable[..., Any]) -> None:
    """Have Dask find metas so where an operand is portarray's; `call` computes as tasks do."""

    @wraps(compute_meta)
    def found(func: Any, _dtype: Any, *args: Any, **kwargs: Any) -> Any:
        operands = (meta_from_array(x) for x in (*args, *kwargs.values()) if is_arraylike(x))
        first = next((x for x in operands if isinstance(x, pa.Array)), None)
        if first is not None and not isinstance(func, np.vectorize):
            asked = getattr(func, "keywords", {}).get("dtype")
            if asked is not None and near(asked, first.device) != asked:
                return None  # Dask goes on with this meta and that dtype, which would be refused
            func = _tried(call, func)
            _dtype = _dtype and near(_dtype, first.device)
        return compute_meta(func, _dtype, *args, **kwargs)

    @wraps(meta_from_array)
    def emptied(x: Any, ndim: Any = None, dtype: Any = None) -> Any:
        try:
            return meta_from_array(x, ndim, dtype)
        except pa.DTypeNotSupportedError:  # Dask's own choice: tasks take the nearest one, too
            meta = meta_from_array(x, ndim)
            return meta.astype(near(dtype, meta.device))

    stand_in(compute_meta, found)
    stand_in(meta_from_array, emptied)


def stand_in(function: Any, other: Any) -> None:
    """Have Dask's modules call another function for one that nothing else can change."""
    for name, module in tuple(sys.modules.items()):
        if name.startswith("dask.array"):
            for own, value in tuple(vars(module).items()):
                if value is function:
                    setattr(module, own, other)
