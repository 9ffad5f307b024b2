"""Attention in blocks of queries and keys that stay in the caches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray.backends.numpy.tuned import threads
from portarray.backends.numpy.tuned.blocks import Array, quick, wide

__all__ = ["attention"]

KEYS = 128
"""Keys of one product."""

PRODUCT = 1 << 19
"""Multiplications below which OpenBLAS does a product in the thread that asks for it, with kernels
that copy nothing: such products run side by side, and each is faster than its part of a large one.
"""

SCORES = 1 << 17
"""Scores of one thread that are in memory at once: 512 KiB as float32."""

SHARED = 1 << 21
"""Multiplications from which on other threads are worth waking."""

SAFE = 60.0
"""Logarithm of what exponentials of scores may grow to before they are divided by their sum."""


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


def _shown(mask: Array, shape: tuple[int, ...], heads: int, groups: int, keys: int) -> Array:
    """Return a mask as a view in the shape of the queries' groups, wide as it is stored."""
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
    """Attend with one query of each head: a product with a vector each."""
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


@dataclass(frozen=True, slots=True)
class _Block:
    """Queries that are computed together: of some groups' heads of one number, from one on."""

    groups: slice
    head: int
    rows: slice


def _blocks(q: Array, k: Array, v: Array, causal: bool, mask: Array | None) -> Array:
    """Attend block by block; q is scaled, its heads that share keys stand together."""
    count, heads, length, size = q.shape
    k, v = k.reshape(-1, *k.shape[-2:]), v.reshape(-1, *v.shape[-2:])
    keys, width = v.shape[-2:]
    out = np.empty((count, heads, length, width), q.dtype)
    columns, values = _in_parts(k, v)
    parts, part = values.shape[1:3]
    rows = _even(length, max(1, (PRODUCT - 1) // (part * (max(size, width) + 1))))
    calm = _is_calm(q, k, v, mask)
    among = threads.count() if count * heads * length * keys * size >= SHARED else 1
    together = _even(count, max(1, SCORES // (rows * part * parts)))
    tasks = [
        _Block(slice(group, group + together), head, slice(start, min(start + rows, length)))
        for start in range((length - 1) // rows * rows, -1, -rows)  # those that see most come first
        for group in range(0, count, together)
        for head in range(heads)
    ]

    def work(mine: Iterator[_Block]) -> None:
        memory = np.empty(max(SCORES, together * rows * part), q.dtype)
        with quick():
            for task in mine:
                place = task.groups, task.head, task.rows
                _attend(
                    q[place],
                    columns[task.groups],
                    values[task.groups],
                    out[place],
                    memory,
                    keys,
                    keys - length + task.rows.start if causal else None,
                    None if mask is None else mask[place],
                    calm,
                )

    threads.shared(work, tasks, among=among)
    return out


def _even(length: int, most: int) -> int:
    """Return the size of the blocks, at most so large, that are about equal and few."""
    return -(-length // -(-length // most))


def _in_parts(k: Array, v: Array) -> tuple[Array, Array]:
    """Return keys as columns, and values with a one behind them, both in parts of some keys.

    BLAS is fastest on columns that lie in order, and the ones make the sums of the weights a column
    of the product with them. What fills the last part are zeros: a value and a one that weigh
    nothing.
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
    """Tell whether no score is so large that its exponential needs a shift.

    Exponentials of what lies between -60 and 60 are exact to the last bits without one, and so are
    their sums: no score is larger than the product of the longest query and the longest key. That
    saves a pass for the largest score and one for the difference.
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
    seen = keys if last is None else min(last + rows, keys)
    if seen <= 0:
        out[...] = 0
        return
    parts = -(-seen // part)
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
            for begin, seen_there in visible:
                np.multiply(scores[:, begin:], seen_there, out=scores[:, begin:])
            found = np.matmul(scores, values[:, start:stop]).sum(1)
            total = found if total is None else np.add(total, found, out=total)
            continue
        if shown is not None and shown.dtype != bool:
            scores += _in_part(shown, start * part, shape)
        for begin, seen_there in visible:
            _hide(scores[:, begin:], seen_there)
        if stop * part > keys:
            scores[:, -1, :, keys - stop * part :] = -math.inf
        new = scores.max((1, 3))[..., None]
        new = new if top is None else np.maximum(new, top)
        level = np.where(new == -math.inf, 0, new)
        np.subtract(scores, level[:, None], out=scores)
        np.exp(scores, out=scores)
        found = np.matmul(scores, values[:, start:stop]).sum(1)
        total = found if total is None else total * np.exp(top - level) + found
        top = new
    sums = total[..., -1:]
    if last is not None or shown is not None:
        sums = np.where(sums == 0, 1, sums)
    np.divide(total[..., :-1], sums, out=out)


def _visible(
    shape: tuple[int, int, int, int], first: int, last: int | None, shown: Array | None
) -> list[tuple[int, Array]]:
    """Return from which part on some keys are not seen, and there those that are; for each rule."""
    found: list[tuple[int, Array]] = []
    _, parts, rows, part = shape
    if shown is not None and shown.dtype == bool:
        found.append((0, _in_part(shown, first, shape)))
    if last is not None and first + parts * part > last + 1:
        begin = max(0, (last + 1 - first) // part)
        numbers = np.arange(first + begin * part, first + parts * part).reshape(-1, 1, part)
        found.append((begin, numbers <= np.arange(last, last + rows)[:, None]))
    return found


def _in_part(mask: Array, first: int, shape: tuple[int, int, int, int]) -> Array:
    """Return a mask's columns from one on as scores lie; what is behind its last is 0."""
    _, parts, rows, part = shape
    columns = mask[..., first : first + parts * part]
    if columns.shape[-1] != parts * part:
        padded = np.zeros((*mask.shape[:-1], parts * part), mask.dtype)
        padded[..., : columns.shape[-1]] = columns
        columns = padded
    return columns.reshape(-1, rows, parts, part).swapaxes(1, 2)


def _hide(scores: Array, visible: Array) -> None:
    """Put -inf where a key is not seen, whatever is there, without a branch for each."""
    bits = scores.view(f"i{scores.dtype.itemsize}")
    hidden = visible.astype(bits.dtype) - 1  # all bits where it is not, none where it is
    np.bitwise_and(bits, ~hidden, out=bits)
    np.bitwise_or(bits, hidden & scores.dtype.type(-math.inf).view(bits.dtype), out=bits)
