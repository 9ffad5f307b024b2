"""Rotary position embedding (Su and others, "RoFormer", 2021)."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.arguments import default_dtype, dtype_or_default
from portarray.clarray.creation.ranges import arange
from portarray.clarray.dtypes import cl_type, computed_dtype, kind_of
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.transfer import from_numpy
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import broadcast_strides, broadcasts_to
from portarray.clarray.neural import rows
from portarray.clarray.neural.checks import integers, matching, real
from portarray.clarray.neural.rows import LONG, ROW_VALUES
from portarray.clarray.strided import Array, empty

DType = np.dtype[Any]
Tables = tuple[Array, Array]


def rope(
    x: Array,
    positions: Array | None = None,
    /,
    *,
    tables: Tables | None = None,
    theta: float = 10000.0,
    interleaved: bool = False,
) -> Array:
    """Rotate pairs of features by angles that grow with the position.

    ``x`` is (..., length, dim). Pair ``i`` rotates by ``positions * theta ** (-2 * i / dim)``;
    positions broadcast to ``x.shape[:-1]`` and are 0, 1, 2, ... by default. Instead, ``tables`` of
    :func:`rope_tables` broadcast to (..., length, r / 2) and rotate the first ``r`` features. Pairs
    are ``(2 * i, 2 * i + 1)`` if ``interleaved``, else ``(i, i + r / 2)``.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> x = cl.asarray([[1.0, 0.0], [1.0, 0.0]], dtype=cl.float32)  # at positions 0 and 1
    >>> [[round(value, 4) for value in row] for row in cl.neural.rope(x).tolist()]
    [[1.0, 0.0], [0.5403, 0.8415]]
    """
    if tables is not None:
        cos, sin = tables
        if positions is None and type(x) is type(cos) is type(sin) and isinstance(x, Array):
            device = x.storage.device
            if cos.storage.device is device and sin.storage.device is device:
                call = rows.calls.get(_key(x, cos, sin, interleaved))
                if call is not None:
                    return call(x, cos, sin)
        if positions is not None:
            raise ValueError("rope: got both positions and tables")
    real(x, "rope")
    if x.ndim < 2:
        raise ValueError(f"rope needs x of shape (..., length, dim), got {x.shape}")
    if tables is None:
        if x.shape[-1] % 2:
            raise ValueError(
                f"rope rotates pairs of features, but x of shape {x.shape} has an odd number"
            )
        if positions is None:
            places = arange(x.shape[-2], dtype=np.int32, device=x.device)
        else:
            places = matching(
                integers(positions, "rope", "positions"), x, "rope", "positions", dtype=False
            )
            _check_fits(places.shape, x.shape[:-1], "positions", x)
        cos, sin = _tables(places, x.shape[-1] // 2, theta, computed_dtype(x.dtype))
    else:
        cos, sin = _checked(tables, x)
    if not x.size:
        return empty(x.shape, x.dtype, x.device)
    return _turned(x, cos, sin, interleaved)


def rope_tables(
    positions: Array, dimensions: int, /, *, theta: float = 10000.0, dtype: Any = None
) -> Tables:
    """Return tables for :func:`rope`, of shape ``(*positions.shape, dimensions / 2)``.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> tables = cl.neural.rope_tables(cl.arange(16), 8, dtype=cl.float32)
    >>> [table.shape for table in tables]  # cosines and sines
    [(16, 4), (16, 4)]
    >>> x = cl.ones((2, 16, 8), dtype=cl.float32)
    >>> cl.neural.rope(x, tables=tables).shape  # made once, for every layer
    (2, 16, 8)
    """
    places = integers(positions, "rope_tables", "positions")
    if dimensions < 0 or dimensions % 2:
        raise ValueError(f"dimensions is {dimensions!r}; features are rotated in pairs")
    device = places.device
    target = dtype_or_default(dtype, device, "real floating")
    if kind_of(target) != "real":
        raise TypeError(f"rope_tables makes tables of a real floating-point dtype, not {target}")
    return _tables(places, dimensions // 2, theta, target)


def _checked(tables: Tables, x: Array) -> Tables:
    """Return the tables, checked."""
    for table, name in zip(tables, ("the table of cosines", "the table of sines"), strict=True):
        matching(table, x, "rope", name)
        if not table.ndim:
            raise ValueError(f"rope needs tables of shape (length, r / 2), but {name} is 0-d")
        _check_fits(table.shape[:-1], x.shape[:-1], name, x)
    cos, sin = tables
    if cos.shape[-1] != sin.shape[-1]:
        raise ValueError(
            f"rope needs as many cosines as sines for a position, got tables of shapes "
            f"{cos.shape} and {sin.shape}"
        )
    if 2 * cos.shape[-1] > x.shape[-1]:
        raise ValueError(
            f"tables of shape {cos.shape} rotate {2 * cos.shape[-1]} features, but x of shape "
            f"{x.shape} has {x.shape[-1]}"
        )
    return tables


def _check_fits(shape: tuple[int, ...], target: tuple[int, ...], name: str, x: Array) -> None:
    if not broadcasts_to(shape, target):
        raise ValueError(
            f"rope needs {name} to broadcast to {target}, x.shape without the features; "
            f"got {shape} for x of shape {x.shape}"
        )


def _key(x: Array, cos: Array, sin: Array, interleaved: bool) -> tuple[Any, ...]:
    return (
        "rope",
        x.storage.device,
        interleaved,
        x.dtype,
        x.shape,
        x.strides,
        cos.dtype,
        cos.shape,
        cos.strides,
        sin.dtype,
        sin.shape,
        sin.strides,
    )


def _turned(x: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    """Return x rotated by checked tables."""
    layout = rows.rows_of(x.shape, x.strides, *[_table_layout(part, x) for part in (cos, sin)])
    if layout is None:
        # The axes of contiguous arrays merge.
        full = [part.view(*_table_layout(part, x), part.offset) for part in (cos, sin)]
        cos, sin = (contiguous(part) for part in full)
        return _turned(contiguous(x), cos, sin, interleaved)
    table = cl_type(cos.dtype)
    options = (
        f"-DC={table.storage}",
        f"-DLOAD_C={table.load}",
        *(("-DNARROW_TABLES",) if cos.dtype.itemsize == 2 else ()),
        *(("-DINTERLEAVED",) if interleaved else ()),
    )
    values = (LONG,) * 3 + ROW_VALUES + (LONG,) * 7
    kernel = rows.kernel(
        x.device, "neural_rope", "rope", x.dtype, 4, values, layout.length, options
    )
    _, first, second = layout.steps
    call = rows.call_of(kernel, layout, x, cos.shape[-1], *first, *second)
    return rows.store(_key(x, cos, sin, interleaved), call)(x, cos, sin)


def _table_layout(table: Array, x: Array) -> rows.Layout:
    """Return a table's layout, broadcast to the axes of x."""
    shape = *x.shape[:-1], table.shape[-1]
    return shape, broadcast_strides(table.shape, table.strides, shape)


def _tables(positions: Array, half: int, theta: float, dtype: DType) -> Tables:
    """Return cosines and sines for each position."""
    device = positions.device
    shape = *positions.shape, half
    cos, sin = empty(shape, dtype, device), empty(shape, dtype, device)
    total = math.prod(shape)
    if total:
        positions = contiguous(positions)
        kernel, group = _table_kernel(device, dtype, positions.dtype), device.traits.group
        rates = _rates(device, half, theta)
        kernel.launch(
            (-(-total // group) * group,),
            (group,),
            (cos.storage, sin.storage, positions.storage, rates.storage),
            positions.offset,
            total,
            half,
        )
    return cos, sin


@cache
def _table_kernel(device: Device, dtype: DType, positions: DType) -> Kernel:
    table = cl_type(dtype)
    angle = default_dtype(device, "real floating")
    options = (
        f"-DC={table.storage}",
        f"-DT={table.compute}",
        f"-DSTORE_C={table.store}",
        f"-DP={cl_type(positions).storage}",
        f"-DA={cl_type(angle).compute}",
        f"-DTURN={math.ldexp(2 * math.pi, -64).hex()}{'' if angle.itemsize == 8 else 'f'}",
    )
    return device.kernel(kernel_source("neural_tables"), "rope_tables", 4, (LONG,) * 3, options)


@lru_cache(maxsize=64)
def _rates(device: Device, half: int, theta: float) -> Array:
    """Return the turns per position of each pair, as 64-bit fractions."""
    turns = [theta ** (-pair / half) / (2 * math.pi) for pair in range(half)]
    return from_numpy(
        np.array([int(turn % 1 * 2**64) % 2**64 for turn in turns], np.uint64), device
    )
