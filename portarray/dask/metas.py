"""Metas of results: empty arrays with the type, dtype and device of a result.

Dask computes a meta by calling a block's function on empty arrays. Here it calls the replacement
that tasks on portarray chunks use (:func:`portarray.dask.guarding.computed`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from dask.array.core import Array, apply_infer_dtype, asarray
from dask.array.utils import asanyarray_safe, asarray_safe, compute_meta, meta_from_array
from dask.base import is_dask_collection
from dask.blockwise import BlockwiseDep
from dask.utils import is_arraylike

import portarray as pa
from portarray.dask import scoped_tasks
from portarray.dask.narrowing import LIBRARIES
from portarray.dask.registration import near

__all__ = ["install_hooks", "like", "stand_in"]


def like(meta: Any, device: str) -> Any:
    """Return a meta of portarray on a device, in the nearest dtype that it has."""
    return pa.empty((0,) * meta.ndim, dtype=near(meta.dtype, device), device=device)


def _tried(call: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes the meta as a task would."""

    @wraps(function)
    @scoped_tasks.owned("")  # blocks of one array may be on several devices
    def tried(*args: Any, **kwargs: Any) -> Any:
        try:
            result = call(function, list(args), kwargs)
            if is_dask_collection(result):  # of a delayed operand
                raise ValueError("the values of a delayed operand are not known yet")
            return result
        # Functions such as Fourier transforms reject empty arrays, with another class of error in
        # each library. Other faults occur again with samples, so that none is hidden.
        except Exception:
            package = (getattr(function, "__module__", None) or "").partition(".")[0]
            if package not in LIBRARIES:
                raise  # a user's function may have side effects
            samples = [_sample(argument) for argument in args]
            options = {name: _sample(argument) for name, argument in kwargs.items()}
            result = call(function, samples, options)
            return result[(slice(0, 0),) * result.ndim]

    return tried


def _sample(x: Any) -> Any:
    if isinstance(x, pa.Array):
        return pa.ones((2,) * x.ndim, dtype=x.dtype, device=x.device)
    if type(x) is np.ndarray and not x.size and x.dtype.kind in "biufc":
        return np.ones((2,) * x.ndim, dtype=x.dtype)
    if isinstance(x, BlockwiseDep):
        return x[(0,) * len(x.numblocks)]
    return x


def _lazily(convert: Callable[..., Any]) -> Callable[..., Any]:
    """Return a conversion to the type of a meta that does not compute Dask arrays."""

    @wraps(convert)
    def converted(a: Any, like: Any, **options: Any) -> Any:
        is_lazy = isinstance(a, Array) and isinstance(like, pa.Array)
        return asarray(a, **options) if is_lazy else convert(a, like, **options)

    return converted


def install_hooks(call: Callable[..., Any]) -> None:
    """Make Dask compute metas with `call` if an operand is a portarray array."""

    @wraps(compute_meta)
    def meta_of(func: Any, _dtype: Any, *args: Any, **kwargs: Any) -> Any:
        operands = (meta_from_array(x) for x in (*args, *kwargs.values()) if is_arraylike(x))
        first = next((x for x in operands if isinstance(x, pa.Array)), None)
        if first is not None and not isinstance(func, np.vectorize):
            dtype = getattr(func, "keywords", {}).get("dtype")
            if dtype is not None and near(dtype, first.device) != dtype:
                return None  # Dask would combine this meta with a dtype that the device rejects
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

    @wraps(apply_infer_dtype)
    def inferred(func: Any, args: Any, *positional: Any, **options: Any) -> Any:
        if any(isinstance(getattr(x, "_meta", x), pa.Array) for x in args):
            function = func

            @scoped_tasks.owned("")
            def func(*values: Any, **keywords: Any) -> Any:
                return call(function, list(values), keywords)

        return apply_infer_dtype(func, args, *positional, **options)

    for function in (asarray_safe, asanyarray_safe):
        stand_in(function, _lazily(function))
    stand_in(apply_infer_dtype, inferred)
    stand_in(compute_meta, meta_of)
    stand_in(meta_from_array, emptied)


def stand_in(function: Any, replacement: Any) -> None:
    """Replace a function in all of Dask's modules that import it."""
    for name, module in tuple(sys.modules.items()):
        if name.startswith("dask.array"):
            for attribute, value in tuple(vars(module).items()):
                if value is function:
                    setattr(module, attribute, replacement)
