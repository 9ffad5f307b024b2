"""Expressions of dask.array, by the name of the operation; names from its documentation.

``x`` is (8, 6) with positive values of no order, ``s`` (6, 6) positive definite, ``v`` (8,), ``i``
(8, 6) integers, each in two blocks an axis.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import zarr

import portarray as pa
import portarray.dask as pd
from portarray.dask.block_placement import block_devices

Row = Callable[..., Any]


def double(block: Any) -> Any:
    return block * 2


def with_neighbours(block: Any) -> Any:
    return block + block.sum(axis=0, keepdims=True)


def total(block: Any) -> Any:
    return block.sum(axis=-1)


EXPRESSIONS: dict[str, Row] = {
    "add": lambda x, s, v, i: x + x,
    "add a number": lambda x, s, v, i: x + 1,
    "subtract": lambda x, s, v, i: x - 2 * x,
    "divide": lambda x, s, v, i: x / (x + 1),
    "floor_divide": lambda x, s, v, i: x // 0.5,
    "mod": lambda x, s, v, i: x % 0.5,
    "power": lambda x, s, v, i: x**2,
    "negative": lambda x, s, v, i: -x,
    "abs": lambda x, s, v, i: abs(x - 1),
    "compare": lambda x, s, v, i: x > 0.5,
    "logical": lambda x, s, v, i: (x > 0.2) & ~(x > 0.7),
    "broadcasting": lambda x, s, v, i: x - x.mean(axis=0),
    "a NumPy operand": lambda x, s, v, i: x + np.arange(6.0, dtype=np.float32),
    "a NumPy operand on the left": lambda x, s, v, i: np.arange(6.0, dtype=np.float32) * x,
    "exp": lambda x, s, v, i: da.exp(x),
    "log": lambda x, s, v, i: da.log(x),
    "sqrt": lambda x, s, v, i: da.sqrt(x),
    "sin": lambda x, s, v, i: da.sin(x),
    "hypot": lambda x, s, v, i: da.hypot(x, x),
    "maximum": lambda x, s, v, i: da.maximum(x, 0.5),
    "clip": lambda x, s, v, i: da.clip(x, 0.2, 0.7),
    "round": lambda x, s, v, i: da.round(x),
    "isnan": lambda x, s, v, i: da.isnan(x),
    "astype": lambda x, s, v, i: x.astype("int32"),
    "real": lambda x, s, v, i: x.real,
    "sum": lambda x, s, v, i: x.sum(),
    "sum over an axis": lambda x, s, v, i: x.sum(axis=1),
    "prod": lambda x, s, v, i: x.prod(axis=0),
    "mean": lambda x, s, v, i: x.mean(),
    "mean over an axis": lambda x, s, v, i: x.mean(axis=0),
    "var": lambda x, s, v, i: x.var(),
    "std": lambda x, s, v, i: x.std(axis=1),
    "moment": lambda x, s, v, i: x.moment(3),
    "min": lambda x, s, v, i: x.min(),
    "max": lambda x, s, v, i: x.max(axis=1),
    "ptp": lambda x, s, v, i: da.ptp(x, axis=0),
    "any": lambda x, s, v, i: (x > 0.9).any(),
    "all": lambda x, s, v, i: (x > 0.1).all(axis=0),
    "nansum": lambda x, s, v, i: da.nansum(x),
    "nanmean": lambda x, s, v, i: da.nanmean(x, axis=0),
    "nanmax": lambda x, s, v, i: da.nanmax(x),
    "nanvar": lambda x, s, v, i: da.nanvar(x),
    "median": lambda x, s, v, i: da.median(x, axis=0),
    "average": lambda x, s, v, i: da.average(x, axis=1),
    "cov": lambda x, s, v, i: da.cov(x),
    "corrcoef": lambda x, s, v, i: da.corrcoef(x),
    "argmin": lambda x, s, v, i: x.argmin(axis=0),
    "argmax": lambda x, s, v, i: x.argmax(axis=1),
    "argmax of all": lambda x, s, v, i: x.argmax(),
    "nanargmax": lambda x, s, v, i: da.nanargmax(x, axis=0),
    "cumsum": lambda x, s, v, i: x.cumsum(axis=0),
    "cumprod": lambda x, s, v, i: x.cumprod(axis=1),
    "cumsum blelloch": lambda x, s, v, i: da.cumsum(x, axis=0, method="blelloch"),
    "count_nonzero": lambda x, s, v, i: da.count_nonzero(x > 0.5),
    "slice": lambda x, s, v, i: x[1:7:2, ::-1],
    "integer index": lambda x, s, v, i: x[3],
    "newaxis": lambda x, s, v, i: x[:, None],
    "list index": lambda x, s, v, i: x[[5, 1, 3]],
    "array index": lambda x, s, v, i: x[np.array([5, 1, 3])],
    "vindex": lambda x, s, v, i: x.vindex[[1, 5], [0, 4]],
    "mask": lambda x, s, v, i: v[v > 0.5],
    "assign by a slice": lambda x, s, v, i: _assigned(x, (slice(2, 5),), 0.0),
    "assign by a mask": lambda x, s, v, i: _assigned(x, x > 0.5, 0.0),
    "take": lambda x, s, v, i: da.take(x, [4, 0], axis=1),
    "compress": lambda x, s, v, i: da.compress([True, False] * 4, x, axis=0),
    "extract": lambda x, s, v, i: da.extract(v > 0.5, v),
    "nonzero": lambda x, s, v, i: da.nonzero(v > 0.5)[0],
    "choose": lambda x, s, v, i: da.choose(i % 2, [x, -x]),
    "rechunk": lambda x, s, v, i: x.rechunk((3, 6)),
    "reshape": lambda x, s, v, i: x.reshape(2, 4, 6),
    "ravel": lambda x, s, v, i: x.ravel(),
    "transpose": lambda x, s, v, i: x.T,
    "swapaxes": lambda x, s, v, i: da.swapaxes(x, 0, 1),
    "moveaxis": lambda x, s, v, i: da.moveaxis(x, 0, 1),
    "flip": lambda x, s, v, i: da.flip(x, 0),
    "roll": lambda x, s, v, i: da.roll(x, 3, axis=0),
    "rot90": lambda x, s, v, i: da.rot90(x),
    "squeeze": lambda x, s, v, i: da.squeeze(x[:, :1]),
    "broadcast_to": lambda x, s, v, i: da.broadcast_to(x, (2, 8, 6)),
    "repeat": lambda x, s, v, i: da.repeat(x, 2, axis=0),
    "tile": lambda x, s, v, i: da.tile(x, (1, 2)),
    "pad": lambda x, s, v, i: da.pad(x, 1, mode="constant"),
    "concatenate": lambda x, s, v, i: da.concatenate([x, x], axis=1),
    "stack": lambda x, s, v, i: da.stack([x, x]),
    "block": lambda x, s, v, i: da.block([[x, x], [x, x]]),
    "tril": lambda x, s, v, i: da.tril(s),
    "triu": lambda x, s, v, i: da.triu(s),
    "diag": lambda x, s, v, i: da.diag(v),
    "diagonal": lambda x, s, v, i: da.diagonal(s),
    "matmul": lambda x, s, v, i: x @ s,
    "dot": lambda x, s, v, i: da.dot(x.T, v),
    "tensordot": lambda x, s, v, i: da.tensordot(x, s, axes=1),
    "einsum": lambda x, s, v, i: da.einsum("ij,jk->ik", x, s),
    "outer": lambda x, s, v, i: da.outer(v, v),
    "vdot": lambda x, s, v, i: da.vdot(v, v),
    "trace": lambda x, s, v, i: da.trace(s),
    "where": lambda x, s, v, i: da.where(x > 0.5, x, 0.0),
    "isin": lambda x, s, v, i: da.isin(i, [1, 3]),
    "isclose": lambda x, s, v, i: da.isclose(x, x),
    "diff": lambda x, s, v, i: da.diff(x, axis=0),
    "gradient": lambda x, s, v, i: da.gradient(v),
    "unique": lambda x, s, v, i: da.unique(i),
    "bincount": lambda x, s, v, i: da.bincount(i.ravel(), minlength=5),
    "digitize": lambda x, s, v, i: da.digitize(v, np.array([0.2, 0.6], dtype=np.float32)),
    "searchsorted": lambda x, s, v, i: da.searchsorted(v.cumsum(axis=0), v),
    "sort by topk": lambda x, s, v, i: v.topk(8),
    "topk": lambda x, s, v, i: x.topk(2, axis=1),
    "argtopk": lambda x, s, v, i: v.argtopk(3),
    "percentile": lambda x, s, v, i: da.percentile(v.rechunk(8), [25, 75]),
    "percentile nearest": lambda x, s, v, i: da.percentile(v, [0, 30, 100], method="nearest"),
    "percentile of integers": lambda x, s, v, i: da.percentile(i.ravel(), 50, method="lower"),
    "nanpercentile": lambda x, s, v, i: da.nanpercentile(x, 40, axis=0),
    "histogram": lambda x, s, v, i: da.histogram(v, bins=4, range=(0, 1))[0],
    "map_blocks": lambda x, s, v, i: x.map_blocks(double),
    "map_overlap": lambda x, s, v, i: x.map_overlap(double, depth=1, boundary="reflect"),
    "apply_gufunc": lambda x, s, v, i: da.apply_gufunc(
        total, "(i)->()", x.rechunk((4, 6)), output_dtypes=x.dtype
    ),
    "apply_along_axis": lambda x, s, v, i: da.apply_along_axis(
        total, 1, x, dtype=x.dtype, shape=()
    ),
    "coarsen": lambda x, s, v, i: da.coarsen(np.sum, x, {0: 2}),
    "reduction": lambda x, s, v, i: da.reduction(x, np.sum, np.sum, axis=0, dtype=x.dtype),
    "qr": lambda x, s, v, i: abs(da.linalg.qr(x.rechunk((4, 6)))[1]),
    "svd": lambda x, s, v, i: da.linalg.svd(x.rechunk((4, 6)))[1],
    "norm": lambda x, s, v, i: da.linalg.norm(x),
    "solve": lambda x, s, v, i: da.linalg.solve(s, v[:6].rechunk(3)),
    "inv": lambda x, s, v, i: da.linalg.inv(s),
    "lu": lambda x, s, v, i: da.linalg.lu(s)[2],
    "cholesky": lambda x, s, v, i: da.linalg.cholesky(s, lower=True),
    "lstsq": lambda x, s, v, i: da.linalg.lstsq(x.rechunk((4, 6)), v.rechunk(4))[0],
    "fft": lambda x, s, v, i: da.fft.fft(x.rechunk((4, 6))),
    "rfft": lambda x, s, v, i: da.fft.rfft(x.rechunk((4, 6))),
    "fftshift": lambda x, s, v, i: da.fft.fftshift(v),
    "ones_like": lambda x, s, v, i: da.ones_like(x),
    "zeros_like": lambda x, s, v, i: da.zeros_like(x),
    "full_like": lambda x, s, v, i: da.full_like(x, 3.0),
    "random": lambda x, s, v, i: x + _random(x),
    "store": lambda x, s, v, i: _stored(x),
    "to_zarr": lambda x, s, v, i: _through_zarr(x),
    "empty_like": lambda x, s, v, i: da.empty_like(i) * 0,  # NaN * 0 would not be 0
}


def _assigned(x: Any, key: Any, value: float) -> Any:
    y = x.copy()
    y[key] = value
    return y


def _devices(x: Any) -> Any:
    """Return the device of each block, or None if chunks are not portarray's."""
    return block_devices(x).__getitem__ if isinstance(x._meta, pa.Array) else None


def _random(x: Any) -> Any:
    options = {"dtype": x.dtype, "low": -1.0}
    if devices := _devices(x):
        key = pa.random.key(7)
        return pd.random.uniform(key, x.shape, chunks=x.chunks, devices=devices, **options)
    whole = pa.random.uniform(pa.random.key(7, device="numpy"), x.shape, **options)
    return da.from_array(whole.native, x.chunks)


def _back(target: Any, x: Any) -> Any:
    stored = da.from_array(target, x.chunks)
    return pd.to_device(stored, devices) if (devices := _devices(x)) else stored


def _stored(x: Any) -> Any:
    target = np.zeros(x.shape, x.dtype)
    da.store(x, target, scheduler="sync")
    return _back(target, x)


def _through_zarr(x: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        target = zarr.create_array(folder, shape=x.shape, dtype=x.dtype, chunks=(4, 3))
        da.to_zarr(x, target)
        return _back(target[...], x)
