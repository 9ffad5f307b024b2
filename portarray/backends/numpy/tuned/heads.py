"""Attention in blocks of queries and keys that stay in the caches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from portarray.backends.common.attention import excludes, has_nan
from portarray.backends.numpy.tuned import threads
from portarray.backends.numpy.tuned.blocks import Array, quick, wide

__all__ = ["attention", "is_valid"]

KEYS = 128
"""Keys of one product."""

PRODUCT = 1 << 19
"""Multiplications below which OpenBLAS computes a product in the calling thread, without copies.
Such products run in parallel, and each is faster than its part of a large one.
"""

SCORES = 1 << 17
"""Scores of one thread that are in memory at a time: 512 KiB as float32."""

SHARED = 1 << 21
"""Multiplications from which other threads pay."""

SAFE = 60.0
"""Logarithm of the largest exponential of a score before the division by their sum."""


def attention(
    q: Array,
    k: Array,
    v: Array,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Array | None = None,
    key_length: Any = None,
) -> Array:
    """Return ``softmax(scale * q @ k.T + mask) @ v``, head by head."""
    shape, dtype = q.shape, q.dtype
    length, keys, size = shape[-2], k.shape[-2], shape[-1]
    if key_length is not None:
        keys = min(max(int(key_length), 0), keys)
        k, v = k[..., :keys, :], v[..., :keys, :]
        if mask is not None and mask.ndim and mask.shape[-1] != 1:
            mask = mask[..., :keys]
    heads, groups = (shape[-3], k.shape[-3]) if q.ndim > 2 else (1, 1)
    if not (q.size and v.size):
        return np.zeros((*shape[:-1], v.shape[-1]), dtype)
    causal = causal and length > 1
    scale = 1 / math.sqrt(size) if scale is None else scale
    queries = np.multiply(q, scale, dtype=wide(q[:0]).dtype)
    with np.errstate(all="ignore"):
        shown = None if mask is None else _shown(mask, shape, heads, groups, keys)
        if length == 1:
            out = _one_query(queries.reshape(-1, heads // groups, size), wide(k), wide(v), shown)
        else:
            grouped = queries.reshape(-1, heads // groups, length, size)
            out = _blocks(grouped, wide(k), wide(v), causal, shown)
    return out.reshape(*shape[:-1], v.shape[-1]).astype(dtype, copy=False)


def is_valid(out: Array, q: Array, /, *_: Array, **options: Any) -> bool:
    """Return whether excluded keys have not contributed to a result of :func:`attention`."""
    return not (excludes(q, **options) and has_nan(out))


def _shown(mask: Array, shape: tuple[int, ...], heads: int, groups: int, keys: int) -> Array:
    """Return a mask as a view in the shape of the queries' groups."""
    lead = (*shape[:-3], heads) if len(shape) > 2 else (1,)
    mask = mask.reshape((1,) * (len(lead) + 2 - mask.ndim) + mask.shape)
    if math.prod(mask.shape[:-2]) == 1:
        whole = np.broadcast_to(mask.reshape(1, 1, *mask.shape[-2:]), (1, 1, shape[-2], keys))
        count = math.prod(lead)
        return np.broadcast_to(
            whole, (count // (heads // groups), heads // groups, *whole.shape[-2:])
        )
    rows = np.broadcast_to(mask, (*lead, *mask.shape[-2:]))
    rows = rows.reshape(-1, heads // groups, *mask.shape[-2:])
    return np.broadcast_to(rows, (*rows.shape[:2], shape[-2], keys))


def _one_query(q: Array, k: Array, v: Array, shown: Array | None) -> Array:
    """Attend with one query of each head, by products with vectors."""
    k, v = k.reshape(-1, 1, *k.shape[-2:]), v.reshape(-1, *v.shape[-2:])
    scores = np.matmul(k, q[..., None])[..., 0]
    if shown is not None and shown.dtype == bool:
        _hide(scores, shown[..., 0, :])
    elif shown is not None:
        scores += shown[..., 0, :]
    top = scores.max(-1, keepdims=True)
    if shown is not None:
        top = np.where(top == -math.inf, 0, top)
    np.subtract(scores, top, out=scores)
    np.exp(scores, out=scores)
    totals = scores.sum(-1, keepdims=True)
    if shown is not None:
        totals = np.where(totals == 0, 1, totals)
    out: Array = np.matmul(scores, v)
    np.divide(out, totals, out=out)
    return out


def _blocks(q: Array, k: Array, v: Array, causal: bool, mask: Array | None) -> Array:
    """Attend block by block; q is scaled, and its heads that share keys are adjacent."""
    count, heads, length, size = q.shape
    k, v = k.reshape(-1, *k.shape[-2:]), v.reshape(-1, *v.shape[-2:])
    keys, width = v.shape[-2:]
    out = np.empty((count, heads, length, width), q.dtype)
    columns, values = _blocked_keys_and_values(k, v)
    parts, part = values.shape[1:3]
    rows = _even(length, max(1, (PRODUCT - 1) // (part * (max(size, width) + 1))))
    calm = _is_calm(q, k, v, mask)
    among = threads.count() if count * heads * length * keys * size >= SHARED else 1
    together = _even(count, max(1, SCORES // (rows * part * parts)))
    # Each block of queries has rows of one head of each of some groups.
    tasks = [
        (slice(group, group + together), head, slice(start, min(start + rows, length)))
        for start in range((length - 1) // rows * rows, -1, -rows)  # those with most keys first
        for group in range(0, count, together)
        for head in range(heads)
    ]

    def work(blocks: Iterator[tuple[slice, int, slice]]) -> None:
        memory = np.empty(max(SCORES, together * rows * part), q.dtype)
        with quick():
            for block in blocks:
                groups, _, block_rows = block
                operands = q[block], columns[groups], values[groups], out[block]
                last = keys - length + block_rows.start if causal else None
                shown = None if mask is None else mask[block]
                _attend(*operands, memory, keys, last, shown, calm)

    threads.shared(work, tasks, among=among)
    return out


def _even(length: int, most: int) -> int:
    """Return the size of the fewest blocks of about equal size up to ``most``."""
    return -(-length // -(-length // most))


def _blocked_keys_and_values(k: Array, v: Array) -> tuple[Array, Array]:
    """Return keys as columns, and values with a trailing one, both in parts of some keys.

    BLAS is fastest on contiguous columns, and the ones make the sums of the weights a column of
    the product. The last part is padded with zeros.
    """
    count, keys, size = k.shape
    part = -(-_even(keys, KEYS) // 8) * 8
    parts = -(-keys // part)
    columns = np.zeros((count, parts, size, part), k.dtype)
    values = np.zeros((count, parts, part, v.shape[-1] + 1), v.dtype)
    whole = keys // part * part
    full = whole // part
    if whole:
        columns[:, :full] = k[:, :whole].reshape(count, -1, part, size).swapaxes(-1, -2)
        values[:, :full, :, :-1] = v[:, :whole].reshape(count, -1, part, v.shape[-1])
        values[:, :full, :, -1] = 1
    if whole != keys:
        columns[:, -1, :, : keys - whole] = k[:, whole:].swapaxes(-1, -2)
        values[:, -1, : keys - whole, :-1] = v[:, whole:]
        values[:, -1, : keys - whole, -1] = 1
    return columns, values


def _is_calm(q: Array, k: Array, v: Array, mask: Array | None) -> bool:
    """Return whether all scores are so small that their exponentials need no shift.

    Exponentials of scores between -60 and 60, and their sums, are exact without it. No score is
    larger than the product of the longest query and the longest key. This saves two passes.
    """
    if mask is not None and mask.dtype != bool:
        return False
    longest = math.sqrt(float(np.vecdot(q, q).max())) * math.sqrt(float(np.vecdot(k, k).max()))
    largest = max(float(v.max()), -float(v.min()), 1.0)
    return longest + math.log(largest) + math.log(k.shape[-2]) < SAFE


def _attend(
    q: Array,
    columns: Array,
    values: Array,
    out: Array,
    memory: Array,
    keys: int,
    last: int | None,
    shown: Array | None,
    calm: bool,
) -> None:
    """Attend with a block of queries; ``last`` is the last key that the first of them sees."""
    groups, rows = q.shape[:2]
    part = columns.shape[-1]
    limit = keys if last is None else min(last + rows, keys)
    if limit <= 0:
        out[...] = 0
        return
    parts = -(-limit // part)
    step = max(1, len(memory) // (groups * rows * part))
    q = q[:, None]
    total: Any = None
    top: Any = None
    for start in range(0, parts, step):
        stop = min(start + step, parts)
        shape = groups, stop - start, rows, part
        scores = memory[: math.prod(shape)].reshape(shape)
        np.matmul(q, columns[:, start:stop], out=scores)
        visible = _visible(shape, start * part, last, shown)
        if calm:
            np.exp(scores, out=scores)
            for first_part, seen_there in visible:
                np.multiply(scores[:, first_part:], seen_there, out=scores[:, first_part:])
            products = np.matmul(scores, values[:, start:stop]).sum(1)
            total = products if total is None else np.add(total, products, out=total)
            continue
        if shown is not None and shown.dtype != bool:
            scores += _in_part(shown, start * part, shape)
        for first_part, seen_there in visible:
            _hide(scores[:, first_part:], seen_there)
        if stop * part > keys:
            scores[:, -1, :, keys - stop * part :] = -math.inf
        new = scores.max((1, 3))[..., None]
        new = new if top is None else np.maximum(new, top)
        level = np.where(new == -math.inf, 0, new)
        np.subtract(scores, level[:, None], out=scores)
        np.exp(scores, out=scores)
        products = np.matmul(scores, values[:, start:stop]).sum(1)
        total = products if total is None else total * np.exp(top - level) + products
        top = new
    sums = total[..., -1:]
    if last is not None or shown is not None:
        sums = np.where(sums == 0, 1, sums)
    np.divide(total[..., :-1], sums, out=out)


def _visible(
    shape: tuple[int, int, int, int], first: int, last: int | None, shown: Array | None
) -> list[tuple[int, Array]]:
    """Return, for each rule, the first part with hidden keys and the visible keys from there."""
    rules: list[tuple[int, Array]] = []
    _, parts, rows, part = shape
    if shown is not None and shown.dtype == bool:
        rules.append((0, _in_part(shown, first, shape)))
    if last is not None and first + parts * part > last + 1:
        first_part = max(0, (last + 1 - first) // part)
        numbers = np.arange(first + first_part * part, first + parts * part).reshape(-1, 1, part)
        rules.append((first_part, numbers <= np.arange(last, last + rows)[:, None]))
    return rules


def _in_part(mask: Array, first: int, shape: tuple[int, int, int, int]) -> Array:
    """Return a mask's columns from ``first`` on in the layout of scores, padded with zeros."""
    _, parts, rows, part = shape
    columns = mask[..., first : first + parts * part]
    if columns.shape[-1] != parts * part:
        padded = np.zeros((*mask.shape[:-1], parts * part), mask.dtype)
        padded[..., : columns.shape[-1]] = columns
        columns = padded
    return columns.reshape(-1, rows, parts, part).swapaxes(1, 2)


def _hide(scores: Array, visible: Array) -> None:
    """Write -inf for hidden keys, without a branch for each element."""
    bits = scores.view(f"i{scores.dtype.itemsize}")
    hidden = visible.astype(bits.dtype) - 1  # all bits set where a key is hidden, else none
    np.bitwise_and(bits, ~hidden, out=bits)
    np.bitwise_or(bits, hidden & scores.dtype.type(-math.inf).view(bits.dtype), out=bits)
