"""Attention for MLX.

On CPUs ``mlx.core.fast.scaled_dot_product_attention`` materializes all scores and multiplies by
non-contiguous transposed keys. Here blocks of queries limit the scores, and the transposed keys are
copied. On GPUs (never tested) MLX's fused kernel is used. Fully masked rows are zeros, where MLX
gives NaN.
"""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import numpy as np

from portarray.backends.common.attention import excludes, has_nan, in_use
from portarray.backends.mlx.namespace.scalars import on_cpu, wide

_SCORES = 2**19  # of one block; several blocks are in memory at a time
_FEWEST = 16  # queries of a block
_FEW = 4  # queries of a head up to which copying the transposed keys does not pay
_GPU_SCORES = 2**28


def attention(
    q: mx.array,
    k: mx.array,
    v: mx.array,
    /,
    *,
    scale: float | None,
    causal: bool,
    mask: mx.array | None,
    key_length: Any,
) -> mx.array:
    """Compute :func:`portarray.kernels.attention` of non-empty arrays."""
    used = None  # number of keys in use, if known only on the device
    if isinstance(key_length, int):
        k, v = k[..., :key_length, :], v[..., :key_length, :]
    elif key_length is not None:
        used = key_length.astype(mx.int32)
        # Unused keys have weight 0, but 0 * inf is NaN.
        in_use = mx.arange(v.shape[-2])[:, None] < used
        k, v = (mx.where(in_use, x, mx.zeros((), x.dtype)) for x in (k, v))
    *lead, heads, length, features = (1, *q.shape) if q.ndim == 2 else q.shape
    shared, (keys, width) = k.shape[-3] if k.ndim > 2 else 1, v.shape[-2:]
    batch, scale = math.prod(lead), 1 / math.sqrt(features) if scale is None else scale
    rows = q.reshape(batch, heads, length, features)
    columns = k.reshape(batch, shared, keys, features)
    values = v.reshape(batch, shared, keys, width)
    if mask is not None:
        mask = _in_four_axes(mask, lead)
    if on_cpu():
        rows, values = wide(rows) * scale, wide(values)
        columns = wide(columns).swapaxes(-1, -2)
        if length * heads // shared > _FEW:
            columns = mx.contiguous(columns)
    # With fewer keys than queries, the first queries attend to no key.
    blind = max(length - keys, 0) if causal and used is None else 0
    blocks = [mx.zeros((batch, heads, blind, width), dtype=q.dtype)] if blind else []
    step = max(_FEWEST, (_SCORES if on_cpu() else _GPU_SCORES) // (batch * heads * keys))
    for start in range(blind, length, step):
        stop = min(start + step, length)
        # Up to the last key that the block's last query attends to.
        limit = keys + stop - length if causal and used is None else keys
        some = rows[..., start:stop, :]
        part = None if mask is None else _part(mask, start, stop, limit)
        count = keys if used is None else used
        visible = _visible_keys(start - length, stop - start, limit, causal, count)
        if on_cpu():
            out = _attend(some, columns[..., :limit], values[..., :limit, :], visible, part)
            blocks.append(out.astype(q.dtype))
        else:
            operands = some, columns[..., :limit, :], values[..., :limit, :]
            if part is None and used is None:
                fused = mx.fast.scaled_dot_product_attention
                blocks.append(fused(*operands, scale=scale, mask="causal" if causal else None))
            else:
                blocks.append(_fused(*operands, scale, visible, part))
    out = blocks[0] if len(blocks) == 1 else mx.concatenate(blocks, axis=-2)
    return out.reshape(*q.shape[:-1], width)


def refuses(q: mx.array, k: mx.array, v: mx.array, /, **options: Any) -> str:
    """Return why :func:`attention` cannot take its arguments."""
    k, v = in_use(k, v, **options)
    return "" if q.size and k.size and v.size else "there are no queries or keys"


def is_valid(out: mx.array, q: mx.array, /, *_: mx.array, **options: Any) -> bool:
    """Return whether excluded keys are known not to have contributed to a result."""
    if not excludes(q, **options):
        return True
    try:
        if on_cpu() and out.dtype == mx.float32:
            return not has_nan(np.asarray(out))
        return not mx.any(mx.isnan(out)).item()
    except ValueError:
        return False  # MLX compiles or maps the function, and does not know the values


def _attend(
    rows: mx.array,
    columns: mx.array,
    values: mx.array,
    visible: mx.array | None,
    mask: mx.array | None,
) -> mx.array:
    """Attend from queries, (batch, heads, queries, features), to transposed keys."""
    batch, heads, queries, features = rows.shape
    shared, keys = columns.shape[1], columns.shape[-1]
    # Heads that share keys become rows of one product, so that keys are not repeated.
    flat = rows.reshape(batch, shared, heads // shared * queries, features)
    scores = (flat @ columns).reshape(batch, heads, queries, keys)
    if mask is not None and mask.dtype != mx.bool_:
        scores = scores + wide(mask)
    elif mask is not None:
        visible = mask if visible is None else mx.logical_and(visible, mask)
    if visible is not None:
        scores = mx.where(visible, scores, -mx.inf)
    weights = mx.softmax(scores, axis=-1, precise=True)
    out = weights.reshape(*flat.shape[:-1], keys) @ values
    out = out.reshape(batch, heads, queries, values.shape[-1])
    if visible is None and mask is None:
        return out
    return mx.where(mx.max(scores, axis=-1, keepdims=True) == -mx.inf, 0.0, out)


def _fused(
    rows: mx.array,
    columns: mx.array,
    values: mx.array,
    scale: float,
    visible: mx.array | None,
    mask: mx.array | None,
) -> mx.array:
    """Attend as :func:`_attend`, by MLX's own function."""
    if mask is not None and mask.dtype != mx.bool_:
        if visible is not None:
            mask = mx.where(visible, mask, mx.array(-mx.inf, mask.dtype))
        blind = mx.max(mask, axis=-1, keepdims=True) == -mx.inf
    else:
        mask = visible if mask is None else mask if visible is None else mask & visible
        assert mask is not None
        blind = mx.logical_not(mx.any(mask, axis=-1, keepdims=True))
    out = mx.fast.scaled_dot_product_attention(rows, columns, values, scale=scale, mask=mask)
    return mx.where(blind, mx.zeros((), out.dtype), out)


def _visible_keys(
    behind: int, queries: int, limit: int, causal: bool, used: Any
) -> mx.array | None:
    """Return the mask (queries, limit) of a block of queries, or None if all keys are visible.

    The first query sees the keys in use and ``behind + 1`` more; each later one sees one more.
    """
    if isinstance(used, int) and (not causal or used + behind + 1 >= limit):
        return None
    last = mx.arange(queries)[:, None] + (used + behind) if causal else used - 1
    return mx.less_equal(mx.arange(limit)[None, :], last)


def _in_four_axes(mask: mx.array, lead: list[int]) -> mx.array:
    """Return a mask with axes (batch, heads, queries, keys), each possibly of length 1."""
    *axes, heads, queries, keys = (1,) * (len(lead) + 3 - mask.ndim) + tuple(mask.shape)
    mask = mask.reshape(*axes, heads, queries, keys)
    if math.prod(axes) > 1:
        mask = mx.broadcast_to(mask, (*lead, heads, queries, keys))
    return mask.reshape(-1, heads, queries, keys)


def _part(mask: mx.array, start: int, stop: int, limit: int) -> mx.array:
    """Slice a mask to some queries and the first keys."""
    if mask.shape[-2] != 1:
        mask = mask[..., start:stop, :]
    return mask if mask.shape[-1] == 1 else mask[..., :limit]
