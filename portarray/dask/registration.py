"""What Dask looks up by the type of a chunk."""

from __future__ import annotations

import math
from typing import Any

import dask.array
import numpy as np
from dask.array import dispatch as lookups
from dask.base import normalize_token
from dask.sizeof import sizeof

import portarray as pa
from portarray._array import dispatch, extents, slow_path

__all__ = ["as_numpy", "register_types", "finished", "near", "size_of"]


def finished(x: pa.Array) -> pa.Array:
    """Compute an array whose library computes late, in the thread that made it; return it."""
    extents.evaluate(x)
    return x


def size_of(x: pa.Array) -> int:
    """Return the bytes of an array, once it has been computed."""
    return int(finished(x).nbytes) + 64


def _token(x: pa.Array) -> Any:
    """Return what an array's graph is named by: pickle's bytes would be made and compared twice."""
    return "portarray", str(x.device), normalize_token(slow_path.read(x))


def _concatenate(arrays: Any, axis: int = 0, **_: Any) -> pa.Array:
    return pa.concat(_on_one_device(arrays), axis=axis)


def _on_one_device(arrays: Any) -> list[Any]:
    first = next(x for x in arrays if isinstance(x, pa.Array))
    return [
        x if isinstance(x, pa.Array) else pa.asarray(x, dtype=first.dtype, device=first.device)
        for x in arrays
    ]


def _divide(a: Any, b: Any, dtype: Any = None) -> Any:
    first = a if isinstance(a, pa.Array) else b
    a, b = (pa.asarray(x, device=first.device) if isinstance(x, np.ndarray) else x for x in (a, b))
    result = pa.divide(a, b)
    return result if dtype is None else result.astype(dtype, copy=False)


def _numel(
    x: pa.Array, axis: Any = None, keepdims: bool = False, dtype: Any = None, **_: Any
) -> Any:
    axes = (
        tuple(range(x.ndim))
        if axis is None
        else axis
        if isinstance(axis, (tuple, list))
        else (axis,)
    )
    axes = tuple(axis_ % x.ndim for axis_ in axes) if x.ndim else ()
    count = math.prod(x.shape[axis_] for axis_ in axes)
    shape = tuple(
        1 if axis_ in axes else size
        for axis_, size in enumerate(x.shape)
        if keepdims or axis_ not in axes
    )
    return pa.full(shape, count, dtype=near(dtype or np.float64, x.device), device=x.device)


def _nannumel(x: pa.Array, **options: Any) -> Any:
    return np.sum(~pa.isnan(x), **options)


def near(dtype: Any, device: Any) -> np.dtype[Any]:
    """Return a dtype, or the device's default one of its kind where the device lacks it."""
    requested: np.dtype[Any] = np.dtype(dtype)
    where = pa.empty(0).device if device is None else pa.device(device)
    if requested in dispatch.dtypes_of(where):
        return requested
    kind = requested.kind if requested.kind in "fc" else "i"
    return dispatch.default_dtype(where, kind)


class _Anywhere(np.ndarray[Any, Any]):
    """What Dask asks for without saying where; joined to arrays, it goes to their device."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is not np.concatenate:
            return super().__array_function__(func, types, args, kwargs)
        arrays, *options = args
        return func(_on_one_device(arrays), *options, **kwargs)


def _empty(shape: Any, dtype: Any = None, **_: Any) -> Any:
    return np.empty(shape, dtype=dtype).view(_Anywhere)


def _percentile(a: pa.Array, q: Any, method: str = "linear") -> Any:
    if not a.shape[0]:
        return None, 0
    percentile: Any = np.percentile
    return percentile(a, q, method=method), a.shape[0]


def as_numpy(x: pa.Array, **_: Any) -> Any:
    """Return the values of an array for Dask's functions that ask for NumPy."""
    return slow_path.read(x)


def register_types() -> None:
    """Enter portarray's arrays into Dask's look-ups."""
    kind = pa.Array
    sizeof.register(kind, size_of)
    normalize_token.register(kind, _token)
    dask.array.register_chunk_type(kind)
    lookups.concatenate_lookup.register(kind, _concatenate)
    lookups.take_lookup.register(kind, np.take)
    lookups.tensordot_lookup.register(kind, np.tensordot)
    lookups.einsum_lookup.register(kind, _einsum)
    lookups.empty_lookup.register(kind, _empty)
    lookups.divide_lookup.register(kind, _divide)
    lookups.numel_lookup.register(kind, _numel)
    lookups.nannumel_lookup.register(kind, _nannumel)
    lookups.percentile_lookup.register(kind, _percentile)
    lookups.to_numpy_dispatch.register(kind, as_numpy)


def _einsum(
    *operands: Any, dtype: Any = None, casting: Any = None, order: Any = None, **options: Any
) -> Any:
    result = np.einsum(*operands, **options)
    return result if dtype is None else result.astype(dtype, copy=False)
