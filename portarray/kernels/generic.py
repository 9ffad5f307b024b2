"""The kernels, written once in the standard's names.

Each takes a namespace of the standard first, then native arrays of it and every option, and runs
wherever such a namespace is: ``generic.softmax(array_api_strict, x)``. Nothing here depends
on portarray's arrays. Arguments have been checked by :mod:`portarray.kernels.checks`.

16-bit floating-point numbers are computed in float32: long sums would lose their few digits, and
exponentials would overflow.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "attention",
    "cross_entropy",
    "embedding",
    "gelu",
    "gemm",
    "layer_norm",
    "linear",
    "log_softmax",
    "matmul",
    "relu",
    "rms_norm",
    "rope",
    "rope_tables",
    "silu",
    "softmax",
    "solve_triangular",
]

# --- products -----------------------------------------------------------------------------------


def matmul(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Multiply matrices."""
    return _back(xp, xp.matmul(_summable(xp, x1), _summable(xp, x2)), x1)


def linear(xp: Any, x: Any, weight: Any, bias: Any, /) -> Any:
    """Multiply by a matrix of shape (out, in), transposed, and add a bias."""
    # One product of two matrices: some libraries multiply stacks of them one at a time.
    rows = xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])) if x.ndim > 2 else x
    out = xp.matmul(_summable(xp, rows), xp.matrix_transpose(_summable(xp, weight)))
    if bias is not None:
        out = out + _summable(xp, bias)
    out = _back(xp, out, x)
    return xp.reshape(out, (*x.shape[:-1], weight.shape[0])) if x.ndim > 2 else out


def gemm(
    xp: Any,
    a: Any,
    b: Any,
    /,
    *,
    out: Any,
    alpha: complex,
    beta: complex,
    transpose_a: bool,
    transpose_b: bool,
    in_place: bool = False,
) -> Any:
    """Multiply two matrices, and add the product to a third one, optionally in place."""
    first, second = _summable(xp, a), _summable(xp, b)
    first = xp.matrix_transpose(first) if transpose_a else first
    second = xp.matrix_transpose(second) if transpose_b else second
    product = xp.matmul(first, second)
    if out is None or beta == 0:
        return _back(xp, product if alpha == 1 else product * alpha, a)
    if in_place and product.dtype == out.dtype:
        total = out
        if beta != 1:
            total *= beta
        if alpha == -1:
            total -= product
        else:
            total += product if alpha == 1 else product * alpha
        return _back(xp, total, a)
    total = _summable(xp, out) if beta == 1 else _summable(xp, out) * beta
    total = total + (product if alpha == 1 else product * alpha)
    return _back(xp, total, a)


def embedding(xp: Any, indices: Any, weight: Any, /) -> Any:
    """Take rows of a table."""
    flat = xp.reshape(counted(xp, indices, weight.shape[0]), (math.prod(indices.shape),))
    return xp.reshape(xp.take(weight, flat, axis=0), (*indices.shape, weight.shape[1]))


# --- triangular systems -------------------------------------------------------------------------

_BLOCK = 16


def solve_triangular(
    xp: Any, a: Any, b: Any, /, *, lower: bool, transpose: bool, unit_diagonal: bool
) -> Any:
    """Solve for unknowns by blocks: products of matrices, and inverses of small blocks."""
    if b.ndim == 1:
        options = {"lower": lower, "transpose": transpose, "unit_diagonal": unit_diagonal}
        return solve_triangular(xp, a, b[:, None], **options)[..., 0]
    wide, rows = _summable(xp, a), _summable(xp, b)
    if transpose:
        wide, lower = xp.matrix_transpose(wide), not lower
    n = wide.shape[-1]
    if not n:  # what the leading axes broadcast to
        return _back(xp, xp.matmul(wide, rows), b)
    parts = [slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK)]
    blocks = [_triangle(xp, wide[..., part, part], lower, unit_diagonal) for part in parts]
    whole = n // _BLOCK
    inverses = [_inverse(xp, blocks[-1], lower)] if n % _BLOCK else []
    if whole:
        stack = _inverse(xp, xp.stack(blocks[:whole], axis=-3), lower)
        inverses = [stack[..., i, :, :] for i in range(whole)] + inverses
    return _back(xp, _substituted(xp, wide, rows, blocks, inverses, lower), b)


def _triangle(xp: Any, x: Any, lower: bool, unit_diagonal: bool) -> Any:
    """Return a block with zeros in its unused half, whose values are arbitrary."""
    half = xp.tril(x) if lower else xp.triu(x)
    if not unit_diagonal:
        return half
    eye = xp.eye(x.shape[-1], dtype=xp.bool, device=device_of(x))
    return xp.where(eye, 1.0, half)


def _inverse(xp: Any, x: Any, lower: bool) -> Any:
    """Return the inverses of a stack of triangular matrices, row by row."""
    n = x.shape[-1]
    eye = xp.eye(n, dtype=x.dtype, device=device_of(x))
    solved: Any = None
    for i in range(n) if lower else reversed(range(n)):
        row = eye[i : i + 1, :]
        if solved is not None:
            beside = slice(0, i) if lower else slice(i + 1, n)
            row = xp.subtract(row, xp.matmul(x[..., i : i + 1, beside], solved))
        row = xp.divide(row, x[..., i : i + 1, i : i + 1])
        if solved is None:
            solved = row
        else:
            solved = xp.concat([solved, row] if lower else [row, solved], axis=-2)
    return solved


def _substituted(
    xp: Any, a: Any, b: Any, blocks: list[Any], inverses: list[Any], lower: bool
) -> Any:
    """Solve recursively for one half of the unknowns, then for the other."""
    if len(blocks) == 1:
        solution = xp.matmul(inverses[0], b)
        # One step of refinement: products with an inverse have larger residuals than substitution.
        return solution + xp.matmul(inverses[0], b - xp.matmul(blocks[0], solution))
    half = len(blocks) // 2
    middle = half * _BLOCK
    top, bottom = slice(0, middle), slice(middle, a.shape[-1])
    parts = [(top, slice(0, half)), (bottom, slice(half, len(blocks)))]
    (now, here), (later, there) = parts if lower else reversed(parts)
    first = _substituted(xp, a[..., now, now], b[..., now, :], blocks[here], inverses[here], lower)
    remaining = b[..., later, :] - xp.matmul(a[..., later, now], first)
    last = _substituted(xp, a[..., later, later], remaining, blocks[there], inverses[there], lower)
    return xp.concat([first, last] if lower else [last, first], axis=-2)


# --- softmax and activations --------------------------------------------------------------------


def softmax(xp: Any, x: Any, /, *, axis: int) -> Any:
    """Divide exponentials by their sum, after subtracting the maximum."""
    if x.shape[axis] == 0:  # max of an empty axis raises
        return x
    wide = _wide(xp, x)
    powers = xp.exp(wide - xp.max(wide, axis=axis, keepdims=True))
    return _back(xp, powers / xp.sum(powers, axis=axis, keepdims=True), x)


def log_softmax(xp: Any, x: Any, /, *, axis: int) -> Any:
    """Subtract the logarithm of the sum of exponentials."""
    if x.shape[axis] == 0:
        return x
    wide = _wide(xp, x)
    below = wide - xp.max(wide, axis=axis, keepdims=True)
    total = xp.sum(xp.exp(below), axis=axis, keepdims=True)
    return _back(xp, below - xp.log(total), x)


def silu(xp: Any, x: Any, /) -> Any:
    """Multiply by the sigmoid."""
    from portarray.backends.composed.exponential import expit  # many programs do without

    wide = _wide(xp, x)
    return _back(xp, wide * expit(xp, wide), x)


def gelu(xp: Any, x: Any, /, *, approximate: str) -> Any:
    """Multiply by the normal distribution function, or by its approximation with tanh."""
    wide = _wide(xp, x)
    if approximate == "tanh":
        from portarray.backends.composed.exponential import expit

        # (1 + tanh(y)) / 2 is sigmoid(2 y), which does not cancel far below 0. Beyond 30 it is 0
        # or 1 in every dtype, and powers of large numbers would overflow.
        y = xp.clip(wide, -30.0, 30.0)
        y = math.sqrt(8 / math.pi) * (y + 0.044715 * y * y * y)
        return _back(xp, wide * expit(xp, y), x)
    from portarray.backends.composed.special import normal_tail  # many programs do without

    tail = normal_tail(xp, xp.abs(wide))
    return _back(xp, wide * xp.where(wide < 0, tail, 1 - tail), x)


def relu(xp: Any, x: Any, /) -> Any:
    """Return the larger of x and 0, whose gradient at 0 is 0."""
    return xp.where(x <= 0, 0.0, x)


# --- normalization ------------------------------------------------------------------------------


def rms_norm(xp: Any, x: Any, weight: Any, /, *, eps: float) -> Any:
    """Divide by the root of the mean square."""
    wide = _wide(xp, x)
    out = wide / xp.sqrt(_mean(xp, wide * wide) + eps)
    return _back(xp, out if weight is None else out * _wide(xp, weight), x)


def layer_norm(xp: Any, x: Any, weight: Any, bias: Any, /, *, eps: float) -> Any:
    """Subtract the mean and divide by the standard deviation."""
    wide = _wide(xp, x)
    centred = wide - _mean(xp, wide)
    out = centred / xp.sqrt(_mean(xp, centred * centred) + eps)
    if weight is not None:
        out = out * _wide(xp, weight)
    return _back(xp, out if bias is None else out + _wide(xp, bias), x)


def _mean(xp: Any, x: Any) -> Any:
    """Return the mean of the last axis, 0 if it is empty."""
    return xp.sum(x, axis=-1, keepdims=True) / max(x.shape[-1], 1)


# --- positions ----------------------------------------------------------------------------------


def rope_tables(
    xp: Any, positions: Any, /, *, dimensions: int, theta: float, dtype: Any
) -> tuple[Any, Any]:
    """Return cosines and sines of the angles ``positions * theta ** (-2 i / dimensions)``."""
    rates = [theta ** (-2 * i / dimensions) for i in range(dimensions // 2)]
    device = device_of(positions)
    wide = _widest(xp, device)
    if wide == xp.float32:
        angles = _angles_in_float32(xp, positions, rates)
    else:
        angles = xp.astype(positions, wide)[..., None] * xp.asarray(
            rates, dtype=wide, device=device
        )
    return tuple(as_dtype(xp, f(angles), dtype) for f in (xp.cos, xp.sin))


def _angles_in_float32(xp: Any, positions: Any, rates: list[float]) -> Any:
    """Return angles less whole turns, as exact as small ones are.

    A position in the thousands times a rate leaves float32 few digits for what cosines depend on.
    So each digit of the position, in base 1024, is multiplied by the part of a turn that one of it
    makes, whose first 12 bits give products without rounding, less whole turns.
    """
    device = device_of(positions)
    remaining = xp.astype(positions, xp.int32)
    turns: Any = 0.0
    more: Any = 0.0
    for power in range(3):
        digit = (
            remaining % 1024 if power < 2 else remaining
        )  # which is negative where the position is
        remaining = remaining // 1024
        parts = [(rate / (2 * math.pi) * 1024**power) % 1.0 for rate in rates]
        upper = [math.floor(part * 4096) / 4096 for part in parts]
        lower = [part - part_up for part, part_up in zip(parts, upper, strict=True)]
        digit = xp.astype(digit, xp.float32)[..., None]
        exact = digit * xp.asarray(upper, dtype=xp.float32, device=device)
        turns = turns + (exact - xp.floor(exact))
        more = more + digit * xp.asarray(lower, dtype=xp.float32, device=device)
    turns = turns - xp.round(turns) + more
    return (turns - xp.round(turns)) * (2 * math.pi)


def rope(
    xp: Any,
    x: Any,
    positions: Any,
    /,
    *,
    tables: tuple[Any, Any] | None,
    theta: float,
    interleaved: bool,
) -> Any:
    """Rotate pairs of features by angles that grow with the position."""
    wide = _wide(xp, x)
    if tables is None:
        if positions is None:
            positions = _count(xp, x.shape[-2], device_of(x))
        tables = rope_tables(xp, positions, dimensions=x.shape[-1], theta=theta, dtype=wide.dtype)
    cos, sin = (_wide(xp, table) for table in tables)
    half = cos.shape[-1]
    turning = wide[..., : 2 * half]
    if interleaved:
        pairs = xp.reshape(turning, (*x.shape[:-1], half, 2))
        a, b = pairs[..., 0], pairs[..., 1]
    else:
        a, b = turning[..., :half], turning[..., half:]
    turned = [a * cos - b * sin, b * cos + a * sin]
    if interleaved:
        turned = [xp.reshape(xp.stack(turned, axis=-1), turning.shape)]
    if 2 * half < x.shape[-1]:
        turned.append(wide[..., 2 * half :])
    return _back(xp, turned[0] if len(turned) == 1 else xp.concat(turned, axis=-1), x)


# --- attention ----------------------------------------------------------------------------------

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
        in_use = _count(xp, keys, device)[:, None] < used
        k, v = xp.where(in_use, k, 0.0), xp.where(in_use, v, 0.0)
    if keys == 0 or 0 in q.shape[:-1]:
        return xp.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype, device=device)
    # Heads that share keys become rows of one product, so that no key is repeated in memory.
    share = heads // kv_heads
    scale = 1 / math.sqrt(features) if scale is None else scale
    rows = xp.reshape(_wide(xp, q) * scale, (*lead, kv_heads, share, length, features))
    columns, values = xp.matrix_transpose(_wide(xp, k)), _wide(xp, v)
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
        blocks.append(_back(xp, attend(xp, *block, part, visible), q))
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
        return _count(xp, limit, device) < used
    return _count(xp, limit, device) < _count(xp, queries, device)[:, None] + (used + behind)


def _attend(xp: Any, rows: Any, columns: Any, values: Any, mask: Any, visible: Any) -> Any:
    """Attend from queries, (..., kv_heads, share, queries, features), to all keys given."""
    scores = _flat_product(xp, rows, columns)
    if mask is not None and mask.dtype == xp.bool:
        visible = mask if visible is None else xp.logical_and(mask, visible)
    elif mask is not None:
        scores = scores + _wide(xp, mask)
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
        mask = _wide(xp, mask)
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
        return all(bool(xp.all(xp.abs(_wide(xp, x)) < _LARGE)) for x in arrays)
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


# --- losses -------------------------------------------------------------------------------------


def cross_entropy(
    xp: Any,
    logits: Any,
    targets: Any,
    /,
    *,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
) -> Any:
    """Return the negative log-likelihood of the target classes."""
    wide = _wide(xp, logits)
    below = wide - xp.max(wide, axis=-1, keepdims=True)
    total = xp.log(xp.sum(xp.exp(below), axis=-1))
    limits = xp.iinfo(targets.dtype)
    counts = None
    if limits.min <= ignore_index <= limits.max:
        counts = targets != ignore_index
        targets = xp.where(counts, targets, 0)
    targets = counted(xp, targets, logits.shape[-1])
    due = xp.take_along_axis(below, targets[..., None], axis=-1)[..., 0]
    losses = total - due
    if label_smoothing:
        even = total - xp.sum(below, axis=-1) / logits.shape[-1]
        losses = (1 - label_smoothing) * losses + label_smoothing * even
    losses = losses if counts is None else xp.where(counts, losses, 0.0)
    if reduction == "none":
        return _back(xp, losses, logits)
    loss = xp.sum(losses)
    if reduction == "mean":
        total_count = (
            math.prod(losses.shape) if counts is None else xp.sum(as_dtype(xp, counts, wide.dtype))
        )
        loss = loss / total_count
    return _back(xp, loss, logits)


def counted(xp: Any, indices: Any, size: int) -> Any:
    """Return indices with negative ones moved out of bounds."""
    limits = xp.iinfo(indices.dtype)
    if not limits.min:
        return indices
    if size > limits.max:  # its lowest number may be within bounds, counted from the end
        indices = xp.astype(indices, xp.int32)
        limits = xp.iinfo(xp.int32)
    return xp.where(indices < 0, limits.min, indices)


# --- dtypes and places --------------------------------------------------------------------------


def _wide(xp: Any, x: Any) -> Any:
    """Return a floating-point array in at least float32."""
    return x if _is_wide(xp, x.dtype) else xp.astype(x, xp.float32)


def _summable(xp: Any, x: Any) -> Any:
    """Return an array for sums of products: floating-point ones in at least float32."""
    if _is_wide(xp, x.dtype) or xp.isdtype(x.dtype, ("integral", "complex floating")):
        return x
    return xp.astype(x, xp.float32)


def _is_wide(xp: Any, dtype: Any) -> bool:
    # Where a device lacks float64, its library may lack the name too.
    return bool(dtype == xp.float32 or dtype == getattr(xp, "float64", xp.float32))


def _back(xp: Any, out: Any, x: Any) -> Any:
    """Return a result in the dtype of the input."""
    return as_dtype(xp, out, x.dtype)


def as_dtype(xp: Any, x: Any, dtype: Any) -> Any:
    """Convert an array that has another dtype."""
    return x if x.dtype == dtype else xp.astype(x, dtype)


def _widest(xp: Any, device: Any) -> Any:
    """Return a device's widest floating-point dtype."""
    info = xp.__array_namespace_info__()
    dtypes = info.dtypes(device=device, kind="real floating")
    return dtypes.get("float64", xp.float32)


def device_of(x: Any) -> Any:
    """Return an array's device, or None if the library's arrays do not have one."""
    return getattr(x, "device", None)


def _count(xp: Any, size: int, device: Any) -> Any:
    """Return 0, 1, 2, ..."""
    return xp.arange(size, dtype=xp.int32, device=device)
