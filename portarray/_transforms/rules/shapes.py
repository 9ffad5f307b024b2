"""Gradients of functions that move elements: joining, reshaping, indexing."""

from __future__ import annotations

import math
from typing import Any

from portarray._array import slow_path
from portarray._array.array import Array
from portarray._namespace import pa
from portarray._transforms.rules.table import RULES, as_operand, define, summed_to


def _permuted(g: Any, y: Any, x: Any, axes: Any) -> Any:
    places = [0] * len(axes)
    for n, axis in enumerate(axes):
        places[axis % len(axes)] = n
    return pa.permute_dims(g, tuple(places))


def _roll(g: Any, y: Any, x: Any, shift: Any, axis: Any = None) -> Any:
    back = tuple(-n for n in shift) if isinstance(shift, tuple) else -shift
    return pa.roll(g, back, axis=axis)


def _repeat(g: Any, y: Any, x: Any, repeats: Any, *, axis: Any = None) -> Any:
    flat = x if axis is not None else pa.reshape(x, (-1,))
    n = 0 if axis is None else axis % x.ndim
    length = flat.shape[n]
    if isinstance(repeats, Array) and repeats.size > 1:
        # Not differences of running sums, which lose digits and spread infinities.
        rows = pa.repeat(pa.arange(length, device=x.device), repeats)
        g = pa.moveaxis(g, n, 0)
        out = pa.zeros((length, *g.shape[1:]), dtype=g.dtype, device=g.device)
        return pa.reshape(pa.moveaxis(_added(out, rows, g), 0, n), x.shape)
    times = g.shape[n] // length if length else 1
    shape = (*flat.shape[:n], length, times, *flat.shape[n + 1 :])
    return pa.reshape(pa.sum(pa.reshape(g, shape), axis=n + 1), x.shape)


def _tile(g: Any, y: Any, x: Any, repeats: Any) -> Any:
    repeats = tuple(repeats) if isinstance(repeats, (tuple, list)) else (repeats,)
    shape = x.shape
    repeats = (1,) * (len(shape) - len(repeats)) + repeats
    shape = (1,) * (len(repeats) - len(shape)) + shape
    parts = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    return pa.reshape(
        pa.sum(pa.reshape(g, tuple(parts)), axis=tuple(range(0, len(parts), 2))), x.shape
    )


def _moved(g: Any, device: Any) -> Any:
    """Return a cotangent on a device, a copy where two libraries might share its memory."""
    moved = pa.to_device(g, device)
    return pa.asarray(moved, copy=True) if moved.device.kind == g.device.kind == "cpu" else moved


define(
    {
        "astype": lambda g, y, x, *_, **__: as_operand(g, x),
        "asarray": lambda g, y, x, *_, **__: as_operand(g, x),
        "broadcast_to": lambda g, y, x, *_, **__: g,
        "expand_dims": lambda g, y, x, *_, **__: pa.reshape(g, x.shape),
        "fft.fftshift": lambda g, y, x, **options: pa.fft.ifftshift(g, **options),
        "fft.ifftshift": lambda g, y, x, **options: pa.fft.fftshift(g, **options),
        "flip": lambda g, y, x, *, axis=None: pa.flip(g, axis=axis),
        "matrix_transpose": lambda g, y, x: pa.matrix_transpose(g),
        "moveaxis": lambda g, y, x, source, destination: pa.moveaxis(g, destination, source),
        "permute_dims": _permuted,
        "repeat": _repeat,
        "reshape": lambda g, y, x, *_, **__: pa.reshape(g, x.shape),
        "roll": _roll,
        "squeeze": lambda g, y, x, *_, **__: pa.reshape(g, x.shape),
        "tile": _tile,
        "to_device": lambda g, y, x, back: as_operand(_moved(g, back), x),
        "tril": lambda g, y, x, *, k=0: pa.tril(g, k=k),
        "triu": lambda g, y, x, *, k=0: pa.triu(g, k=k),
    }
)


def _concat(gs: Any, ys: Any, needs_grad: Any, arrays: Any, *, axis: int | None = 0) -> Any:
    (g,) = gs
    if axis is None:
        axis = 0
        flat = True
    else:
        flat = False
    parts = []
    start = 0
    for x in arrays:
        length = x.size if flat else x.shape[axis]
        key = [slice(None)] * g.ndim
        key[axis] = slice(start, start + length)
        parts.append(pa.reshape(g[tuple(key)], x.shape))
        start += length
    return (parts,)


def _stack(gs: Any, ys: Any, needs_grad: Any, arrays: Any, *, axis: int = 0) -> Any:
    return (list(pa.unstack(gs[0], axis=axis)),)


def _unstack(gs: Any, ys: Any, needs_grad: Any, x: Any, *, axis: int = 0) -> Any:
    filled = [pa.zeros_like(y) if g is None else g for g, y in zip(gs, ys, strict=True)]
    return (pa.stack(filled, axis=axis),)


def _broadcast_arrays(gs: Any, ys: Any, needs_grad: Any, *arrays: Any) -> Any:
    return [None if g is None else summed_to(g, x.shape) for g, x in zip(gs, arrays, strict=True)]


def _meshgrid(gs: Any, ys: Any, needs_grad: Any, *arrays: Any, indexing: str = "xy") -> Any:
    parts: list[Any] = []
    for n, (g, x) in enumerate(zip(gs, arrays, strict=True)):
        if g is None:
            parts.append(None)
            continue
        axis = 1 - n if indexing == "xy" and n < 2 and len(arrays) > 1 else n
        others = tuple(m for m in range(g.ndim) if m != axis)
        parts.append(pa.reshape(pa.sum(g, axis=others), x.shape))
    return parts


def _getitem(gs: Any, ys: Any, needs_grad: Any, x: Any, key: Any) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    if any(_is_index_array(part) for part in parts):
        places = pa.reshape(pa.arange(x.size, device=x.device), x.shape)[key]
        flat = pa.zeros((x.size,), dtype=x.dtype, device=x.device)
        return (pa.reshape(_added(flat, places, pa.reshape(gs[0], (-1,))), x.shape),)
    out = pa.zeros_like(x)
    out[key] = gs[0]
    return (out,)


def _is_index_array(part: Any) -> bool:
    return isinstance(part, Array) and not pa.isdtype(part.dtype, "bool")


def _added(x: Any, indices: Any, values: Any) -> Any:
    """Return x with values added to the rows at indices, which may repeat."""
    return slow_path.apply("add_at", (x, pa.reshape(indices, (-1,)), values))


def _take(g: Any, y: Any, x: Any, indices: Any, axis: int | None = None) -> Any:
    axis = 0 if axis is None else axis % x.ndim
    n = indices.ndim
    rows = pa.permute_dims(g, (*range(axis, axis + n), *range(axis), *range(axis + n, g.ndim)))
    others = (*x.shape[:axis], *x.shape[axis + 1 :])
    out = pa.zeros((x.shape[axis], *others), dtype=x.dtype, device=x.device)
    out = _added(out, _wrapped(indices, x.shape[axis]), pa.reshape(rows, (indices.size, *others)))
    return pa.moveaxis(out, 0, axis)


def _wrapped(indices: Any, size: int) -> Any:
    """Return negative indices counted from 0."""
    return pa.where(indices < 0, indices + size, indices)


def _take_along_axis(g: Any, y: Any, x: Any, indices: Any, axis: int = -1) -> Any:
    axis %= x.ndim
    shape = (*g.shape[:axis], x.shape[axis], *g.shape[axis + 1 :])
    places = pa.reshape(pa.arange(math.prod(shape), device=x.device), shape)
    places = pa.take_along_axis(places, pa.broadcast_to(indices, g.shape), axis=axis)
    out = pa.zeros((math.prod(shape),), dtype=x.dtype, device=x.device)
    return pa.reshape(_added(out, places, pa.reshape(g, (-1,))), shape)


def _extremes_at(
    gs: Any, ys: Any, needs_grad: Any, x: Any, indices: Any, values: Any
) -> tuple[Any, ...]:
    """Return the cotangents of ``max_at`` and ``min_at``: equal extremes share that of a place."""
    (g,), (y,) = gs, ys
    unchanged = x == y
    chosen = values == pa.take(y, indices, axis=0)
    share = g / _added(pa.astype(unchanged, g.dtype), indices, pa.astype(chosen, g.dtype))
    of_values = None
    if needs_grad[2]:
        taken = pa.take(share, indices, axis=0)
        of_values = pa.where(chosen, taken, pa.zeros_like(taken))
    return pa.where(unchanged, share, pa.zeros_like(share)), None, of_values


def _multiply_at(
    gs: Any, ys: Any, needs_grad: Any, x: Any, indices: Any, values: Any
) -> tuple[Any, ...]:
    (g,) = gs
    # The product of the factors of each place but zeros, and the number of zeros.
    product = slow_path.apply("multiply_at", (_not_zero(x), indices, _not_zero(values)))
    real = pa.real(x).dtype if pa.isdtype(x.dtype, "complex floating") else x.dtype
    zeros = _added(pa.astype(x == 0, real), indices, pa.astype(values == 0, real))
    of_values = None
    if needs_grad[2]:
        taken, *others = (pa.take(part, indices, axis=0) for part in (g, product, zeros))
        of_values = taken * _without(values, *others)
    return g * _without(x, product, zeros), None, of_values


def _not_zero(x: Any) -> Any:
    return pa.where(x == 0, pa.ones_like(x), x)


def _without(factor: Any, product: Any, zeros: Any) -> Any:
    """Return the product of the other factors, where the product leaves zeros out."""
    others = pa.where(zeros == pa.astype(factor == 0, zeros.dtype), product / _not_zero(factor), 0)
    return pa.conj(others) if pa.isdtype(others.dtype, "complex floating") else others


define(
    {
        "add_at": (
            lambda g, y, x, indices, values: g,
            None,
            lambda g, y, x, indices, values: pa.take(g, indices, axis=0),
        ),
        "take": (_take, None),
        "take_along_axis": (_take_along_axis, None),
    }
)


def _setitem(gs: Any, ys: Any, needs_grad: Any, x: Any, key: Any, value: Any) -> Any:
    (g,) = gs
    of_x = None
    if needs_grad[0]:
        of_x = pa.asarray(g, copy=True)
        of_x[key] = 0
    part = None
    if needs_grad[2]:
        part = g[key]
        if any(_is_index_array(index) for index in (key if isinstance(key, tuple) else (key,))):
            part = pa.where(_stayed(x, key, part), part, 0)
        part = summed_to(part, value.shape)
    return (of_x, None, part)


def _stayed(x: Any, key: Any, part: Any) -> Any:
    """Return which elements of an assigned value were not overwritten by later ones."""
    numbers = pa.reshape(pa.arange(part.size, device=x.device), part.shape)
    places = pa.full(x.shape, -1, dtype=numbers.dtype, device=x.device)
    places[key] = numbers
    return places[key] == numbers


RULES.update(
    {
        "broadcast_arrays": _broadcast_arrays,
        "concat": _concat,
        "getitem": _getitem,
        "max_at": _extremes_at,
        "meshgrid": _meshgrid,
        "min_at": _extremes_at,
        "multiply_at": _multiply_at,
        "setitem": _setitem,
        "stack": _stack,
        "unstack": _unstack,
    }
)
