"""Scaled dot-product attention.

Scores are computed for a block of keys at a time and not stored, so that memory grows with the
lengths and not with their product (Milakov and Gimelshein, "Online normalizer calculation for
softmax", 2018; Dao, Fu, Ermon, Rudra and Re, "FlashAttention", 2022). Kernels, by the number of
queries and the device's traits:

- ``many``: tiles of queries, on CPUs;
- ``few`` and ``join``: few queries, where the bandwidth of keys and values is the limit;
- ``one``: a work-group for each query, on devices with local memory.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.pool import Storage
from portarray._opencl.programs import Kernel
from portarray.clarray.arguments import array_of, integer_of
from portarray.clarray.dtypes import bfloat16, kind_of
from portarray.clarray.engine.copy import cast, contiguous, fill
from portarray.clarray.engine.loop_nests import layout_storage
from portarray.clarray.engine.operands import one_device
from portarray.clarray.engine.tiles import source, tile_of
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import broadcast_strides, broadcasts_to, collapse, strides_of
from portarray.clarray.strided import Array, empty

DType = np.dtype[Any]
Shape = tuple[int, ...]

_BOOL = np.dtype(np.bool_)
_INT64 = np.dtype(np.int64)
_FEW = 12
"""Queries for each key head up to which a tile would be mostly empty."""
_TOGETHER = 8
"""``TOGETHER`` of ``kernels/neural_attention.cl``."""
_SHORTEST = 128
"""The fewest keys of a range; combining shorter ranges costs more than it saves."""
_RANGES_EACH = 4
"""Ranges for each unit."""
_FEATURES = (64, 128, 256, 512)
"""Numbers of features that kernels with private arrays are built for."""
_GROUP = 64
"""Work-items of a group."""
_LOG2_E = math.log2(math.e)


class _Part(NamedTuple):
    """The offsets of a launch's operands, relative to those of the arrays."""

    q: int
    k: int
    v: int
    o: int
    mask: int


class _Plan(NamedTuple):
    """Launch state shared by calls with the same operand layouts, for any number of keys.

    ``tiles`` is the number of tiles of ``many`` or ``one``, 0 for ``few``, which has ``strips``.
    """

    kernel: Kernel
    join: Kernel | None
    table: Storage
    parts: tuple[_Part, ...]
    tiles: int
    strips: int
    heads: int
    batch: int


def attention(
    q: Array,
    k: Array,
    v: Array,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Array | None = None,
    key_length: int | Array | None = None,
) -> Array:
    """Return ``softmax(q @ k.T * scale + mask) @ v`` for each head, without storing the scores.

    ``q`` is (..., heads, queries, d) or (queries, d); ``k`` and ``v`` are (..., key_heads, keys, d)
    and (..., key_heads, keys, dv), with ``heads`` a multiple of ``key_heads``. ``scale`` is
    ``1 / sqrt(d)`` by default. ``mask`` is bool (True: seen) or added to the scores. ``key_length``
    is the number of keys in use, an int or a 0-d integer array read on the device. ``causal`` lets
    query ``i`` see keys up to ``i + key_length - queries``. Queries that see no key give zeros.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> q = k = cl.zeros((2, 4), dtype=cl.float32)
    >>> v = cl.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=cl.float32)
    >>> cl.neural.attention(q, k, v).tolist()  # all scores are equal: means of v
    [[2.0, 3.0], [2.0, 3.0]]
    >>> cl.neural.attention(q, k, v, causal=True).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    q, k, v = (
        array_of(q, "attention", "q"),
        array_of(k, "attention", "k"),
        array_of(v, "attention", "v"),
    )
    one_device("attention", q, k)
    one_device("attention", q, v)
    plain = q.ndim == 2
    if plain:
        q, k, v = (x.view((1, *x.shape), (0, *x.strides), x.offset) for x in (q, k, v))
    _check(q, k, v)
    out = empty((*q.shape[:-1], v.shape[-1]), q.dtype, q.device)
    length: Storage | None = None
    length_at = -1
    n = k.shape[-2]
    if isinstance(key_length, Array):
        length, length_at = _length(key_length, q)
    elif key_length is not None:
        n = min(max(integer_of(key_length, "key_length"), 0), n)
    if mask is not None:
        mask = _mask(mask, q, k)
    if n and out.size and q.shape[-1]:
        scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
        _launch(out, q, k, v, mask, bool(causal), scale * _LOG2_E, n, length, length_at)
    else:
        fill(out, 0)
    if plain:
        return out.view(out.shape[1:], out.strides[1:], 0)
    return out


def _check(q: Array, k: Array, v: Array) -> None:
    """Raise unless dtypes and shapes fit."""
    if kind_of(q.dtype) != "real" or q.dtype != k.dtype or q.dtype != v.dtype:
        raise TypeError(
            f"attention takes arrays of one real floating-point dtype, got q {q.dtype}, "
            f"k {k.dtype}, v {v.dtype}\nHint: convert with astype first"
        )
    fits = (
        q.ndim == k.ndim == v.ndim >= 3
        and q.shape[:-3] == k.shape[:-3] == v.shape[:-3]
        and k.shape[:-1] == v.shape[:-1]
        and q.shape[-1] == k.shape[-1]
        and (q.shape[-3] % k.shape[-3] == 0 if k.shape[-3] else not q.shape[-3])
    )
    if not fits:
        raise ValueError(
            f"attention takes q (..., heads, queries, d), k (..., key_heads, keys, d) and "
            f"v (..., key_heads, keys, dv) with heads a multiple of key_heads, got shapes "
            f"{q.shape}, {k.shape} and {v.shape}"
        )


def _length(length: Array, q: Array) -> tuple[Storage, int]:
    """Return the storage and offset of the number of keys, as int64."""
    one_device("attention", q, length)
    if length.ndim or kind_of(length.dtype) not in ("signed", "unsigned"):
        raise TypeError(
            f"attention takes key_length as an integer or an integer array of no axes, got dtype "
            f"{length.dtype} and shape {length.shape}"
        )
    if length.dtype != _INT64:
        length = cast(length, _INT64)
    return length.storage, length.offset


def _mask(mask: Array, q: Array, k: Array) -> Array:
    """Return a mask broadcast to the shape of the scores: a view."""
    mask = array_of(mask, "attention", "mask")
    one_device("attention", q, mask)
    if mask.dtype not in (_BOOL, q.dtype):
        raise TypeError(
            f"attention takes a mask of dtype bool or {q.dtype}, as q has, got {mask.dtype}"
        )
    shape = (*q.shape[:-1], k.shape[-2])
    sizes = mask.shape
    if not broadcasts_to(sizes, shape):
        raise ValueError(
            f"attention takes a mask that broadcasts to (..., heads, queries, keys), here {shape}, "
            f"got shape {sizes}"
        )
    return mask.view(shape, broadcast_strides(sizes, mask.strides, shape), mask.offset)


def _dense(x: Array) -> Array:
    """Return an array with a contiguous last axis: itself, or a copy."""
    return x if x.strides[-1] == 1 or x.shape[-1] == 1 else contiguous(x)


def _launch(
    out: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    causal: bool,
    scale: float,
    n: int,
    length: Storage | None,
    length_at: int,
) -> None:
    """Choose a kernel, and launch it for all heads."""
    device = out.device
    k, v = _dense(k), _dense(v)
    plan = _plan(
        device, q.dtype, q.shape, q.strides, k.shape[-3], k.strides, v.shape[-1], v.strides,
        None if mask is None else (mask.dtype == _BOOL, mask.strides), causal,
    )  # fmt: skip
    storages: tuple[Storage, ...] = (
        q.storage, k.storage, v.storage, out.storage,
        q.storage if mask is None else mask.storage,
        plan.table if length is None else length, plan.table,
    )  # fmt: skip
    mask_at = 0 if mask is None else mask.offset
    ranges = 0
    if plan.strips:
        ranges = _ranges(n, plan.strips * plan.batch, device.traits.units)
        rows = math.prod(q.shape[-3:-1]) * plan.batch if ranges > 1 else 0
        size = np.dtype(np.float64).itemsize if q.dtype.itemsize == 8 else 4
        storages += (device.pool.take(rows * ranges * (v.shape[-1] + 2) * size),)
    for part in plan.parts:
        values = (
            q.offset + part.q, k.offset + part.k, v.offset + part.v, part.o,
            mask_at + part.mask, length_at, n, scale,
        )  # fmt: skip
        if plan.tiles:
            group = (_GROUP if plan.join is None else 1, 1, 1)
            size_0 = plan.tiles * group[0]
            plan.kernel.launch((size_0, plan.heads, plan.batch), group, storages, *values)
            continue
        plan.kernel.launch((ranges, plan.strips, plan.batch), (1, 1, 1), storages, *values)
        if ranges > 1 and plan.join is not None:
            plan.join.launch(
                (rows,), (1,), (out.storage, storages[-1]), part.o, ranges, v.shape[-1]
            )


def _ranges(n: int, strips: int, units: int) -> int:
    """Return the number of ranges of keys: equal work for all units, if there is enough."""
    least = max(1, min(-(-_RANGES_EACH * units // strips), n // _SHORTEST))
    if strips % units == 0:
        return least
    return -(-least // units) * units if n >= units * _SHORTEST else 1


@lru_cache(maxsize=1024)
def _plan(
    device: Device,
    dtype: DType,
    q_shape: Shape,
    q_strides: Shape,
    key_heads: int,
    k_strides: Shape,
    dv: int,
    v_strides: Shape,
    mask: tuple[bool, Shape] | None,
    causal: bool,
) -> _Plan:
    """Return what calls with one layout share."""
    heads, queries, d = q_shape[-3:]
    group = heads // key_heads
    o_strides = strides_of((*q_shape[:-1], dv))
    masks = (0,) * len(q_shape) if mask is None else mask[1]
    sizes, strides = collapse(
        q_shape[:-3], [entry[:-3] for entry in (q_strides, k_strides, v_strides, o_strides, masks)]
    )
    batch = sizes[-1] if sizes else 1
    q_b, k_b, v_b, o_b, mask_b = (entry[-1] if sizes else 0 for entry in strides)
    table = (
        group, queries, d, dv, q_b, *q_strides[-3:], k_b, *k_strides[-3:-1], v_b, *v_strides[-3:-1],
        o_b, o_strides[-3], mask_b, *masks[-3:], int(causal),
        0 if mask is None else 1 if mask[0] else 2,
    )  # fmt: skip
    parts = tuple(
        _Part(*(sum(i * step for i, step in zip(index, entry, strict=False)) for entry in strides))
        for index in np.ndindex(sizes[:-1])
    )
    features = next((entry for entry in _FEATURES if max(d, dv) <= entry), None)
    if device.traits.local_memory or features is None:
        kernel, join, tiles, strips = _one_pass(device, dtype, -(-dv // _GROUP)), None, queries, 0
    else:
        few = group * queries <= _FEW
        kernel = _kernel(device, dtype, features, d == dv == features, "few" if few else "many")
        join = _kernel(device, dtype, features, d == dv == features, "join")
        tile = tile_of(device, dtype)
        tiles = 0 if few else -(-group * queries // tile.wide)
        strips = key_heads * -(-group * queries // _TOGETHER) if few else 0
        heads = key_heads
    return _Plan(kernel, join, layout_storage(device, table), parts, tiles, strips, heads, batch)


@cache
def _kernel(device: Device, dtype: DType, features: int, exact: bool, name: str) -> Kernel:
    files = ("neural_attention", "neural_attention_few")
    text = source(device, dtype, dtype, "widening") + "".join(map(kernel_source, files))
    options = (
        f"-DFEATURES={features}", f"-DEXACT={int(exact)}", f"-DDOUBLE={int(dtype.itemsize == 8)}",
        f"-DBF16={int(dtype == bfloat16)}",
    )  # fmt: skip
    if name == "join":
        return device.kernel(text, name, 2, [np.int64] * 3, options)
    return device.kernel(text, name, 8 if name == "few" else 7, _values(dtype), options)


@cache
def _one_pass(device: Device, dtype: DType, per: int) -> Kernel:
    options = (f"-DG={_GROUP}", f"-DPER={per}")
    return device.kernel(
        source(device, dtype, dtype, "neural_attention_group"), "one", 7, _values(dtype), options
    )


def _values(dtype: DType) -> list[Any]:
    return [np.int64] * 7 + [np.float64 if dtype.itemsize == 8 else np.float32]
