"""Attention by blocks of queries and keys, compiled by XLA.

``jax.nn.dot_product_attention`` materializes all scores, and fully masked rows are not zeros. Here
only the scores of one block are in memory, as in "FlashAttention" (Dao et al., NeurIPS 2022,
https://arxiv.org/abs/2205.14135), and fully masked blocks are skipped.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from portarray.backends.common.attention import LARGE

__all__ = ["attention", "is_small"]

_ONE_BLOCK = 2**20  # scores up to which one block is used
_FEW = 16  # queries up to which one block is used
_QUERIES = 256
_KEYS = 512
_SCORES = 9 * _QUERIES * _KEYS  # of one block


class _Rules(NamedTuple):
    """Which keys a query attends to."""

    length: int  # of the queries
    keys: int
    causal: bool
    used: jax.Array | None  # number of keys in use, if known only on the device
    mask: jax.Array | None  # (..., kv_heads, share, queries, keys), any of which may be 1


@partial(jax.jit, static_argnames=("scale", "causal"))
def attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    /,
    *,
    scale: float | None,
    causal: bool,
    mask: jax.Array | None,
    key_length: Any,
) -> jax.Array:
    """Compute :func:`portarray.kernels.attention`; ``key_length`` may be traced.

    A weight of 0 excludes finite numbers alone, as in :func:`is_small`.
    """
    if q.ndim == 2:
        q, k, v = q[None], k[None], v[None]
        options = {"scale": scale, "causal": causal, "mask": mask, "key_length": key_length}
        alone: jax.Array = attention(q, k, v, **options)[0]
        return alone
    *lead, heads, length, features = q.shape
    kv_heads, keys, width = v.shape[-3:]
    if 0 in (*lead, heads, length, keys, width):
        return jnp.zeros((*q.shape[:-1], width), q.dtype)
    share = heads // kv_heads
    if mask is not None:
        *axes, masks, rows, columns = (1,) * (q.ndim - mask.ndim) + mask.shape
        groups = (1, 1) if masks == 1 else (kv_heads, share)
        mask = mask.reshape(*axes, *groups, rows, columns)
    used = None if key_length is None else jnp.asarray(key_length).astype(jnp.int32)
    rules = _Rules(length, keys, causal and (length > 1 or used is None), used, mask)
    grouped = q.reshape(*lead, kv_heads, share, length, features)
    scale = 1 / math.sqrt(max(features, 1)) if scale is None else scale
    if length <= _FEW or math.prod(lead) * heads * length * keys <= _ONE_BLOCK:
        out = _one_block(rules, scale, grouped, k, v)
    else:
        out = _by_blocks(rules, scale, grouped, k, v)
    return out.reshape(*q.shape[:-1], width)


def is_small(*arrays: jax.Array) -> jax.Array:
    """Return whether all numbers are finite and far from overflow."""
    small = [jnp.all(jnp.abs(x) < LARGE) for x in arrays]
    return jnp.all(jnp.stack(small))


def _one_block(rules: _Rules, scale: float, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Attend in one block, to at most twice as many keys as are in use."""

    def first(keys: int) -> jax.Array:
        _, total, out = _step(rules, scale, q, k[..., :keys, :], v[..., :keys, :], 0, 0)
        return _normalize(total, out).astype(q.dtype)

    if rules.used is None:
        return first(rules.keys)
    sizes = [rules.keys]
    while sizes[0] > _KEYS:
        sizes.insert(0, -(-sizes[0] // 2))
    above = sum((rules.used > size).astype(jnp.int32) for size in sizes[:-1])
    out: jax.Array = lax.switch(above, [partial(first, size) for size in sizes])
    return out


def _by_blocks(rules: _Rules, scale: float, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Attend block by block; a last partial block overlaps the one before."""
    *lead, kv_heads, share, length, _ = q.shape
    wide = jnp.promote_types(q.dtype, jnp.float32)
    heads = math.prod((*lead, kv_heads, share))
    queries, keys = _sizes(heads, length, rules.keys)
    last_row, last_column = length - queries, rules.keys - keys
    row_blocks, column_blocks = -(-length // queries), -(-rules.keys // keys)
    used = rules.keys if rules.used is None else rules.used

    # Rematerialized for gradients, which would store all scores otherwise.
    @partial(jax.checkpoint, prevent_cse=False)
    def rows(index: Any) -> jax.Array:
        row = jnp.minimum(index * queries, last_row)
        block = lax.dynamic_slice_in_dim(q, row, queries, axis=-2)
        limit = used - length + row + queries if rules.causal else used

        def visit(state: _State, index: Any) -> _State:
            start = index * keys
            column = jnp.minimum(start, last_column)
            some_k, some_v = (lax.dynamic_slice_in_dim(x, column, keys, axis=-2) for x in (k, v))
            part = _step(rules, scale, block, some_k, some_v, row, column, start)
            return _merge(state, part)

        def step(state: _State, index: Any) -> tuple[_State, None]:
            if not rules.causal and rules.used is None:
                return visit(state, index), None
            return lax.cond(index * keys < limit, visit, lambda state, _: state, state, index), None

        shape = (*block.shape[:-1], 1)
        nothing = (
            jnp.full(shape, -jnp.inf, wide),
            jnp.zeros(shape, wide),
            jnp.zeros((*shape[:-1], v.shape[-1]), wide),
        )
        (_, total, out), _ = lax.scan(step, nothing, jnp.arange(column_blocks, dtype=jnp.int32))
        return _normalize(total, out).astype(q.dtype)

    blocks = lax.map(rows, jnp.arange(row_blocks, dtype=jnp.int32))
    out = jnp.moveaxis(blocks, 0, -3)
    out = out.reshape(*out.shape[:-3], row_blocks * queries, v.shape[-1])
    if row_blocks * queries == length:
        return out
    even = (row_blocks - 1) * queries
    return jnp.concatenate((out[..., :even, :], out[..., even - length :, :]), axis=-2)


# Each query's running maximum of scores, sum of weights, and weighted sum of values.
_State = tuple[jax.Array, jax.Array, jax.Array]


def _sizes(heads: int, length: int, keys: int) -> tuple[int, int]:
    """Return how many queries and keys a block has; fewer with many heads."""
    queries, columns = _QUERIES, _KEYS
    while heads * queries * columns > _SCORES and queries > _FEW:
        if columns > queries:
            columns //= 2
        else:
            queries //= 2
    return min(queries, length), min(columns, keys)


def _step(
    rules: _Rules,
    scale: float,
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    row: Any,
    column: Any,
    start: Any = None,
) -> _State:
    """Attend from a block of queries to a block of keys.

    The block is at a row and a column of the scores; keys before ``start`` were processed already.
    """
    wide = jnp.promote_types(q.dtype, jnp.float32)
    if q.shape[-2] <= _FEW:
        q, k = q.astype(wide), k.astype(wide)  # faster than products of 16-bit numbers
    queries, keys = q.shape[-2], k.shape[-2]
    position = column + lax.iota(jnp.int32, keys)
    in_use = None if rules.used is None else (position < rules.used)[:, None]
    scores = _scores(q, k, in_use) * scale
    visible = None if start is None or rules.keys % keys == 0 else position >= start
    if rules.causal:
        used = rules.keys if rules.used is None else rules.used
        rows = row + lax.iota(jnp.int32, queries)
        visible = _both(visible, position <= rows[:, None] + (used - rules.length))
    elif rules.used is not None:
        visible = _both(visible, position < rules.used)
    if rules.mask is not None:
        mask = _part(rules.mask, -2, row, queries, rules.length)
        mask = _part(mask, -1, column, keys, rules.keys)
        if mask.dtype == jnp.bool_:
            visible = _both(visible, mask)
        else:
            scores = scores + mask.astype(wide)
    if visible is not None:
        scores = jnp.where(visible, scores, -jnp.inf)
    # The weights do not depend on the shift, so it needs no gradient.
    top = lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True))
    weights = jnp.exp(scores - _finite(top))
    v = v.astype(wide)
    if in_use is not None:
        # Unused keys have weight 0, but 0 * inf is NaN.
        v = jnp.where(in_use, v, 0)
    total = jnp.sum(weights, axis=-1, keepdims=True)
    return top, total, jnp.einsum("...gqk,...kd->...gqd", weights, v)


@jax.custom_jvp
def _scores(q: jax.Array, k: jax.Array, in_use: jax.Array | None) -> jax.Array:
    """Return the inner products of queries and keys, whose derivatives leave out unused keys."""
    wide = jnp.promote_types(q.dtype, jnp.float32)
    return jnp.einsum("...gqd,...kd->...gqk", q, k, preferred_element_type=wide)


@_scores.defjvp
def _scores_jvp(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    (q, k, in_use), (dq, dk, _) = primals, tangents
    used_keys = k if in_use is None else jnp.where(in_use, k, 0)
    return _scores(q, k, in_use), _scores(dq, used_keys, None) + _scores(q, dk, None)


def _merge(first: _State, second: _State) -> _State:
    """Merge the running results of two blocks."""
    top = jnp.maximum(first[0], second[0])
    shares = [jnp.exp(part[0] - _finite(top)) for part in (first, second)]
    total = first[1] * shares[0] + second[1] * shares[1]
    return top, total, first[2] * shares[0] + second[2] * shares[1]


def _normalize(total: jax.Array, out: jax.Array) -> jax.Array:
    """Divide by the sum of weights; fully masked rows are zeros."""
    return out / jnp.where(total == 0, 1, total)


def _finite(top: jax.Array) -> jax.Array:
    return jnp.where(top == -jnp.inf, 0, top)


def _both(first: jax.Array | None, second: jax.Array) -> jax.Array:
    return second if first is None else first & second


def _part(mask: jax.Array, axis: int, start: Any, size: int, whole: int) -> jax.Array:
    """Return a slice of a mask along an axis, unless it broadcasts there."""
    if mask.shape[axis] == 1 or size == whole:
        return mask
    return lax.dynamic_slice_in_dim(mask, start, size, axis=axis)
