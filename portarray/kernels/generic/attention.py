"""Attention in blocks of queries."""

from __future__ import annotations

import math
from typing import Any

from portarray.kernels.generic.conversion import cast_back, device_of, iota, widen

_SCORES = 2**21  # how many scores are in memory at once, where that is enough for _FEWEST queries
_FEWEST = 16
_LARGE = 1e15  # as in backends/common/attention.py: importing that takes a third of a millisecond


def attention(
    xp: Any,
    q: Any,
    k: Any,
    v: Any,
    /,
    *,
    scale: float | None,
    causal: bool,
    mask: Any,
    key_length: Any,
) -> Any:
    """Attend in blocks of queries, so that memory grows linearly with the length."""
    if q.ndim == 2:
        q, k, v = q[None, ...], k[None, ...], v[None, ...]
        options = {"scale": scale, "causal": causal, "mask": mask, "key_length": key_length}
        return attention(xp, q, k, v, **options)[0, ...]
    device = device_of(q)
    *lead, heads, length, features = q.shape
    kv_heads, keys = k.shape[-3:-1]
    used = None  # how many keys count, where only the device knows
    if isinstance(key_length, int):
        keys = key_length
        k, v = k[..., :keys, :], v[..., :keys, :]
    elif key_length is not None:
        used = xp.astype(key_length, xp.int32)
        # Keys beyond key_length get the weight 0, and 0 times infinity would be NaN.
        in_use = iota(xp, keys, device)[:, None] < used
        k, v = xp.where(in_use, k, 0.0), xp.where(in_use, v, 0.0)
    if keys == 0 or 0 in q.shape[:-1]:
        return xp.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype, device=device)
    # Heads that share keys become rows of one product, so that no key is repeated in memory.
    share = heads // kv_heads
    scale = 1 / math.sqrt(features) if scale is None else scale
    rows = xp.reshape(widen(xp, q) * scale, (*lead, kv_heads, share, length, features))
    columns, values = xp.matrix_transpose(widen(xp, k)), widen(xp, v)
    is_exact = (mask is None and not (causal and length > 1)) or _is_small(xp, q, k, v)
    attend = _attend if is_exact else _attend_to_nonfinite
    mask = None if mask is None else _by_group(xp, mask, q.shape, share)
    blocks = []
    # Where there are fewer keys than queries, the first queries come before all keys.
    hidden = max(length - keys, 0) if causal and used is None else 0
    if hidden:
        shape = (*lead, heads, hidden, v.shape[-1])
        blocks.append(xp.zeros(shape, dtype=q.dtype, device=device))
    step = max(_FEWEST, _SCORES // (math.prod(lead) * heads * keys))
    for start in range(hidden, length, step):
        stop = min(start + step, length)
        # As many keys as the last query of the block may see.
        limit = keys + stop - length if causal and used is None else keys
        visible = _visible(xp, start + 1 - length, stop - start, limit, causal, keys, used, device)
        part = None if mask is None else _part(mask, start, stop, limit)
        block = rows[..., start:stop, :], columns[..., :limit], values[..., :limit, :]
        blocks.append(cast_back(xp, attend(xp, *block, part, visible), q))
    return blocks[0] if len(blocks) == 1 else xp.concat(blocks, axis=-2)


def _visible(
    xp: Any, behind: int, queries: int, limit: int, causal: bool, keys: int, used: Any, device: Any
) -> Any:
    """Return which keys a block of queries sees, (queries, limit), or None for all of them.

    The block's first query sees ``behind`` keys more than are in use; the next sees one more.
    """
    if used is None:
        if not causal or keys + behind >= limit:
            return None
        used = keys
    if not causal:
        return iota(xp, limit, device) < used
    return iota(xp, limit, device) < iota(xp, queries, device)[:, None] + (used + behind)


def _attend(xp: Any, rows: Any, columns: Any, values: Any, mask: Any, visible: Any) -> Any:
    """Attend from queries, (..., kv_heads, share, queries, features), to all keys given."""
    scores = _flat_product(xp, rows, columns)
    if mask is not None and mask.dtype == xp.bool:
        visible = mask if visible is None else xp.logical_and(mask, visible)
    elif mask is not None:
        scores = scores + widen(xp, mask)
    if visible is not None:
        scores = xp.where(visible, scores, -math.inf)
    return _by_head(xp, _weighted(xp, scores, None, values))


def _attend_to_nonfinite(
    xp: Any, rows: Any, columns: Any, values: Any, mask: Any, visible: Any
) -> Any:
    """Attend as :func:`_attend`, where a weight of 0 does not exclude infinities and NaN.

    Only finite numbers are multiplied, so that derivatives are finite, too. The effect of the
    others on the queries that see them follows from the scores' signs and from counts.
    """
    scores = _flat_product(xp, rows, columns)
    if mask is None:
        added = 0.0
    elif mask.dtype == xp.bool:
        added = 0.0
        visible = mask if visible is None else xp.logical_and(mask, visible)
    else:
        mask = widen(xp, mask)
        shown = mask != -math.inf
        visible = shown if visible is None else xp.logical_and(shown, visible)
        scores = scores + mask
        added = _finite(xp, mask)
    attended = scores != -math.inf
    attended = attended if visible is None else xp.logical_and(attended, visible)
    # The softmax of a row with NaN or infinity is NaN.
    is_nan = xp.any(xp.logical_and(attended, ~(scores < math.inf)), axis=-1, keepdims=True)
    attended = xp.logical_and(attended, ~is_nan)
    scores = _flat_product(xp, _finite(xp, rows), _finite(xp, columns)) + added
    out = _weighted(xp, xp.where(attended, scores, -math.inf), attended, _finite(xp, values))
    kinds = [xp.isnan(values), values == math.inf, values == -math.inf]
    marks = xp.astype(xp.concat(kinds, axis=-1), rows.dtype)
    counts = _flat_product(xp, xp.astype(attended, rows.dtype), marks)
    width = values.shape[-1]
    nans, above, below = (counts[..., i * width : (i + 1) * width] > 0 for i in range(3))
    is_nan = xp.logical_or(is_nan, xp.logical_or(nans, xp.logical_and(above, below)))
    out = xp.where(above, math.inf, xp.where(below, -math.inf, out))
    return _by_head(xp, xp.where(is_nan, math.nan, out))


def _flat_product(xp: Any, rows: Any, matrix: Any) -> Any:
    """Multiply (..., kv_heads, share, queries, n) by one matrix for each head of keys."""
    *lead, share, queries, size = rows.shape
    out = xp.matmul(xp.reshape(rows, (*lead, share * queries, size)), matrix)
    return xp.reshape(out, (*lead, share, queries, matrix.shape[-1]))


def _weighted(xp: Any, scores: Any, attended: Any, values: Any) -> Any:
    """Return the means of values, weighted by the softmax of scores; 0 if all are -inf.

    Derivatives pass through weights where ``attended``.
    """
    top = xp.max(scores, axis=-1, keepdims=True)
    powers = xp.exp(scores - xp.where(top == -math.inf, 0.0, top))
    if attended is not None:
        powers = xp.where(attended, powers, 0.0)
    total = xp.sum(powers, axis=-1, keepdims=True)
    return _flat_product(xp, powers, values) / xp.where(total == 0, 1.0, total)


def _by_head(xp: Any, out: Any) -> Any:
    """Merge the axes of the heads of keys and of those that share them."""
    *lead, kv_heads, share, queries, width = out.shape
    return xp.reshape(out, (*lead, kv_heads * share, queries, width))


def _is_small(xp: Any, *arrays: Any) -> bool:
    """Return whether all numbers are known to be finite and far from overflow."""
    try:
        return all(bool(xp.all(xp.abs(widen(xp, x)) < _LARGE)) for x in arrays)
    except (TypeError, ValueError, RuntimeError):
        return False  # a compiler or another transformation does not know the values


def _finite(xp: Any, x: Any) -> Any:
    """Return an array with zeros in place of infinities and NaN."""
    return xp.where(xp.isfinite(x), x, 0.0)


def _by_group(xp: Any, mask: Any, shape: tuple[int, ...], share: int) -> Any:
    """Return a mask with axes (..., kv_heads, share, queries, keys), any of length 1."""
    *lead, heads, queries, keys = (1,) * (len(shape) - mask.ndim) + tuple(mask.shape)
    groups = (1, 1) if heads == 1 else (heads // share, share)
    return xp.reshape(mask, (*lead, *groups, queries, keys))


def _part(mask: Any, start: int, stop: int, limit: int) -> Any:
    """Return a mask for some queries and the first keys."""
    if mask.shape[-2] != 1:
        mask = mask[..., start:stop, :]
    return mask if mask.shape[-1] == 1 else mask[..., :limit]
