"""Replacements for functions in Dask's graphs that accept only NumPy arrays.

Each function takes the arguments of the function that it replaces.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array._shuffle
import dask.array.chunk
import dask.array.core
import dask.array.reductions
import dask.array.routines
import dask.array.slicing
import numpy as np
from dask.array.percentile import merge_percentiles
from dask.array.utils import scipy_linalg_safe
from tlz import compose

import portarray as pa
from portarray.dask.linalg import tiles
from portarray.dask.narrowing import COMPOSE
from portarray.dask.registration import as_numpy

__all__ = ["by_scipy", "instead_of"]


def _arg_chunk(func: Any, argfunc: Any, x: Any, axis: Any, offset_info: Any) -> dict[str, Any]:
    """Return extremes of a block and where in the whole array they are."""
    reduced_axis = None if len(axis) == x.ndim or x.ndim == 1 else axis[0]
    values = func(x, axis=reduced_axis, keepdims=True)
    indices = argfunc(x, axis=reduced_axis, keepdims=True)
    if reduced_axis is not None:
        indices = indices + _beside(offset_info, indices)
    elif x.ndim:
        offsets, whole = offset_info
        remaining, total, stride = indices, 0, 1
        for offset, size, length in reversed(list(zip(offsets, x.shape, whole, strict=True))):
            total = total + (remaining % size + int(offset)) * stride
            remaining = remaining // size
            stride *= length
        indices = total
    return {"vals": values, "arg": indices}


def _arg_combine(data: Any, axis: Any, argfunc: Any, keepdims: bool = False) -> Any:
    """Merge extremes of blocks; returns the indices and the values."""
    values, indices = data["vals"], data["arg"]
    if values.ndim != 1 and len(axis) != values.ndim:
        reduced_axis = axis[0]
        extreme = pa.expand_dims(argfunc(values, axis=reduced_axis), axis=reduced_axis)
        pair = [pa.take_along_axis(part, extreme, axis=reduced_axis) for part in (indices, values)]
        return tuple(part if keepdims else pa.squeeze(part, reduced_axis) for part in pair)
    extreme = argfunc(pa.reshape(values, (-1,)), axis=None)
    shape = (1,) * values.ndim if keepdims else ()
    pair = [pa.take(pa.reshape(part, (-1,)), extreme[None], axis=0) for part in (indices, values)]
    return tuple(pa.reshape(part, shape) for part in pair)


def _combined(argfunc: Any, data: Any, axis: Any = None, **_: Any) -> dict[str, Any]:
    indices, values = _arg_combine(data, axis, argfunc, keepdims=True)
    return {"vals": values, "arg": indices}


def _aggregated(argfunc: Any, data: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    return _arg_combine(data, axis, argfunc, keepdims)[0]


def _nan_aggregated(
    argfunc: Any, data: Any, axis: Any = None, keepdims: bool = False, **_: Any
) -> Any:
    indices, values = _arg_combine(data, axis, argfunc, keepdims)
    if bool(pa.any(pa.isnan(values))):
        raise ValueError("All NaN slice encountered")
    return indices


def _beside(value: Any, x: pa.Array) -> Any:
    if isinstance(value, np.ndarray) and value.ndim:
        return pa.asarray(value, dtype=x.dtype, device=x.device)
    return int(value)


def _moment_chunk(
    A: Any,  # noqa: N803  (Dask's name)
    order: int = 2,
    sum: Any = dask.array.chunk.sum,
    numel: Any = dask.array.reductions.numel,
    dtype: Any = "f8",
    computing_meta: bool = False,
    implicit_complex_dtype: bool = False,
    **options: Any,
) -> Any:
    """Return what moments of a block are made of; Dask's own function counts in int64."""
    if computing_meta:
        return A
    count = numel(A, **options)
    dtype_option = {} if implicit_complex_dtype else {"dtype": dtype}
    total = sum(A, **dtype_option, **options)
    far = A - total / count
    if A.dtype.kind == "c":
        far = pa.abs(far)
    powers = [sum(far**i, dtype=dtype, **options) for i in range(2, order + 1)]
    return {"total": total, "n": count, "M": pa.stack(powers, axis=-1)}


def _isin(element: Any, test_elements: Any, assume_unique: bool = False) -> pa.Array:
    first = element if isinstance(element, pa.Array) else test_elements
    element, among = (
        x if isinstance(x, pa.Array) else pa.asarray(x, device=first.device, narrow=True)
        for x in (element, test_elements)
    )
    result = pa.isin(element, among)
    return pa.reshape(result, element.shape + (1,) * among.ndim)


def _nanquantile(a: Any, q: Any, axis: Any = None, **options: Any) -> Any:
    return np.nanquantile(a, q, axis=axis if axis is None else tuple(axis), **options)


def _histogramdd(sample: Any, bins: Any, range: Any, weights: Any) -> pa.Array:
    """Return the histogram of a block, with an axis along which those of others are joined."""
    counts: Any = np.histogramdd(sample, bins, range=range, weights=weights)[0]
    return pa.expand_dims(counts, axis=0)


def _histogramdd_of_columns(*args: Any) -> pa.Array:
    return _histogramdd(args[:-3], *args[-3:])


def _pointwise(block: Any, points: Any, axis: int) -> pa.Array:
    selected = block[tuple(p if isinstance(p, slice) else np.asarray(p) for p in points)]
    return pa.moveaxis(selected, axis, 0)


def _permuted(x: Any, axes: Any = None) -> pa.Array:
    return pa.permute_dims(x, tuple(reversed(range(x.ndim))) if axes is None else tuple(axes))


def _getitem(x: Any, *index: Any) -> Any:
    """Index a block; NumPy's goes to the device of a mask."""
    if isinstance(x, np.ndarray):
        mask = next(key for key in index if isinstance(key, pa.Array))
        x = pa.asarray(x, device=mask.device, narrow=True)
    return x[index]


def _setitem(x: Any, v: Any, indices: Any) -> Any:
    """Assign to a block; elements of a Dask index that are in other blocks are its length."""
    first = next(operand for operand in (x, v, *indices) if isinstance(operand, pa.Array))
    x, v = (
        pa.asarray(operand, device=first.device, narrow=True)
        if isinstance(operand, np.ndarray) and not isinstance(operand, np.ma.MaskedArray)
        else operand
        for operand in (x, v)
    )
    inside = [
        i[i < size] if isinstance(i, pa.Array) and i.ndim and i.dtype.kind in "iu" else i
        for i, size in zip(indices, x.shape, strict=True)
    ]
    return dask.array.slicing.setitem(x, v, inside)


def _choose(a: Any, *choices: Any) -> Any:
    result = choices[0]
    for i, choice in enumerate(choices[1:], 1):
        result = pa.where(a == i, choice, result)
    return result


def _arange(
    start: Any, stop: Any, step: Any, length: Any, dtype: Any, like: Any = None
) -> pa.Array:
    values = dask.array.chunk.arange(start, stop, step, length, dtype)
    return pa.asarray(values, device=like.device, narrow=True)


def by_scipy(name: str, *args: Any, **options: Any) -> Any:
    """Call the function of scipy.linalg with this name, or its replacement."""
    first = next((x for x in args if isinstance(x, pa.Array)), None)
    if name != "solve_triangular" or first is None:
        return scipy_linalg_safe(name, *args, **options)
    a, b = (
        x if isinstance(x, pa.Array) else pa.asarray(x, device=first.device, narrow=True)
        for x in args
    )
    return _solve_triangular(a, b, **options)


def _solve_triangular(a: Any, b: Any, lower: bool = False) -> pa.Array:
    kind = pa.result_type(a, b)
    if not pa.isdtype(kind, ("real floating", "complex floating")):  # Dask tries integers
        kind = pa.__array_namespace_info__().default_dtypes(device=a.device)["real floating"]
    pair = [x.astype(kind, copy=False) for x in (a, b)]
    return pa.kernels.solve_triangular(*pair, lower=lower)


def _lu(a: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return the factors of a block as scipy.linalg.lu does: a permutation, and two halves."""
    order, factors = tiles.panel(None, a, owned=False)
    identity = pa.eye(a.shape[0], dtype=a.dtype, device=a.device)
    return pa.take(identity, order, axis=0).mT, pa.tril(factors, k=-1) + identity, pa.triu(factors)


def _merged_percentiles(
    finalq: Any,
    qs: Any,
    vals: Any,
    method: str = "lower",
    Ns: Any = None,  # noqa: N803  (Dask's name)
    raise_on_nan: bool = True,
) -> Any:
    """Combine percentiles of blocks."""
    if Ns is None:
        vals, Ns = zip(*vals, strict=True)
    parts = [(q, x, n) for q, x, n in zip(qs, vals, Ns, strict=True) if n]
    if not parts:
        if raise_on_nan:
            raise ValueError("No non-trivial arrays found")
        return pa.full(len(qs[0]) - 2, float("nan"), device=finalq.device)
    counts = pa.concat([pa.diff(q, prepend=pa.zeros_like(q[:1])) * n for q, _, n in parts])
    values = pa.concat([x for _, x, _ in parts])
    order = pa.argsort(values)
    values = pa.take(values, order)
    reached = pa.cumulative_sum(pa.take(counts, order))
    targets = finalq * sum(n for _, _, n in parts)
    if method == "linear":
        return np.interp(targets, reached, values)
    first = pa.clip(pa.searchsorted(reached, targets, side="left"), None, values.shape[0] - 1)
    last = pa.searchsorted(reached, targets, side="right") - 1
    lower, upper = pa.minimum(first, last), pa.maximum(first, last)
    if method == "nearest":
        far = pa.abs(pa.take(reached, lower) - targets) > pa.abs(pa.take(reached, upper) - targets)
        return pa.take(values, pa.where(far, upper, lower))
    below, above = pa.take(values, lower), pa.take(values, upper)
    between = {"lower": below, "higher": above, "midpoint": 0.5 * (below + above)}
    if method not in between:
        methods = ", ".join(map(repr, ("linear", "nearest", *between)))
        raise ValueError(f"percentile: method must be one of {methods}, got {method!r}")
    return between[method]


def _stored(
    x: Any, out: Any, index: Any, region: Any, lock: Any, return_stored: bool, load_stored: bool
) -> Any:
    """Write a block into a target; the target makes a copy to the host explicit."""
    values = x if isinstance(out, pa.Array) else as_numpy(x)
    stored = dask.array.core.load_store_chunk(
        values, out, index, region, lock, return_stored, load_stored
    )
    return x if return_stored and load_stored else stored


_REPLACED: dict[Any, Callable[..., Any]] = {
    # These take NumPy's arrays as indices, which stay on the host.
    operator.getitem: operator.getitem,
    dask.array.core.getter: dask.array.core.getter,
    dask.array.core.getter_inline: dask.array.core.getter_inline,
    dask.array.core.getter_nofancy: dask.array.core.getter_nofancy,
    dask.array.core._vindex_merge: dask.array.core._vindex_merge,
    dask.array._shuffle.concatenate_arrays: dask.array._shuffle.concatenate_arrays,
    # These accept only NumPy arrays.
    dask.array.reductions.arg_chunk: _arg_chunk,
    dask.array.reductions.arg_combine: _combined,
    dask.array.reductions.arg_agg: _aggregated,
    dask.array.reductions.nanarg_agg: _nan_aggregated,
    dask.array.reductions.moment_chunk: _moment_chunk,
    # Its dtype, which some devices lack, is otherwise that of its signature.
    dask.array.reductions.moment_combine: partial(dask.array.reductions.moment_combine, dtype="f8"),
    dask.array.reductions._custom_nanquantile: _nanquantile,
    dask.array.routines._block_histogramdd_rect: _histogramdd,
    dask.array.routines._block_histogramdd_multiarg: _histogramdd_of_columns,
    dask.array.routines._isin_kernel: _isin,
    dask.array.routines.variadic_choose: _choose,
    dask.array.core._vindex_slice_and_transpose: _pointwise,
    dask.array.slicing.getitem_variadic: _getitem,
    dask.array.slicing.setitem: _setitem,
    dask.array.chunk.arange: _arange,
    merge_percentiles: _merged_percentiles,
    dask.array.core.load_store_chunk: _stored,
}

_SCIPY = {"lu": _lu}
"""Functions of scipy.linalg by their names: it need not be installed."""


def instead_of(function: Any) -> tuple[Callable[..., Any], bool]:
    """Return the replacement of a function, and whether it takes NumPy operands unchanged."""
    if isinstance(function, partial):
        replacement = _REPLACED.get(function.func)
        if replacement is not None:
            return partial(replacement, *function.args, **function.keywords), True
        return function, False
    if isinstance(function, COMPOSE):
        parts = [instead_of(part) for part in (function.first, *function.funcs)]
        if any(replaced for _, replaced in parts):
            return compose(*(part for part, _ in reversed(parts))), True
        return function, False
    try:
        replacement = _REPLACED.get(function)
    except TypeError:  # not hashable
        return function, False
    if replacement is None and (getattr(function, "__module__", None) or "").startswith(
        "scipy.linalg."
    ):
        replacement = _SCIPY.get(function.__name__)
    return (function, False) if replacement is None else (replacement, True)
