"""Matrix products of operands of any layout; transposed or broadcast ones are not copied.

Batch axes are merged to three for each launch. A long summed axis with few results is cut into
parts, whose products are summed. :mod:`portarray.clarray.engine.matmul_launch` chooses the kernel.
"""

from __future__ import annotations

import math
from operator import mul

import numpy as np

from portarray.clarray.dtypes import computed_dtype, promote, real_dtype_of
from portarray.clarray.engine.copy import cast, fill
from portarray.clarray.engine.matmul_launch import launch
from portarray.clarray.engine.matmul_tasks import Task, Three
from portarray.clarray.engine.parts import as_parts
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.layout import broadcast_shapes, broadcast_strides, collapse
from portarray.clarray.strided import Array, empty

Shape = tuple[int, ...]

_PARTS = 2048
"""Terms of each part of a sum."""

_ONCE: tuple[Shape, ...] = ((),)
_ALONE: tuple[Three, Three, Three] = ((1, 1, 1), (0, 0, 0), (0, 0, 0))

_SUM = Reduction("matmul", {"real": ("a + b", "0"), "unsigned": ("a + b", "0")}, "result")


def product(a: Array, b: Array, *, conjugate: bool = False, wide: bool = False) -> Array:
    """Return the matrix products of two arrays' innermost two axes; the others broadcast."""
    dtype = promote(a.dtype, b.dtype)
    a = a if a.dtype == dtype else cast(a, dtype)
    b = b if b.dtype == dtype else cast(b, dtype)
    outer = broadcast_shapes(a.shape[:-2], b.shape[:-2]) if a.ndim + b.ndim > 4 else ()
    m, depth, n = a.shape[-2], a.shape[-1], b.shape[-1]
    out = empty((*outer, m, n), computed_dtype(dtype) if wide else dtype, a.device)
    if out.size and depth:
        _into(out, a, b, outer, conjugate and dtype.kind == "c")
    else:
        fill(out, 0)
    return out


def _into(
    out: Array, a: Array, b: Array, outer: Shape, conjugate: bool, *, parts: bool = True
) -> None:
    """Write products into a contiguous array of the operands' dtype or, for 16 bits, float32."""
    (m, depth), n = a.shape[-2:], b.shape[-1]
    a_m, a_k = a.strides[-2:]
    b_k, b_n = b.strides[-2:]
    sizes: Shape = ()
    strides: tuple[Shape, ...] = ((), ())
    if outer:
        folded = _folded(a) if b.ndim == 2 else None
        if folded is not None:  # the rows of all matrices of a are those of one
            m, a_m = folded
        else:
            sizes, strides = collapse(
                outer, [broadcast_strides(x.shape[:-2], x.strides[:-2], outer) for x in (a, b)]
            )
    if parts and _splits(out, m, n, depth, math.prod(sizes)):
        _split_depth(out, a, b, outer, conjugate)
        return
    lead = sizes[:-3]
    inner = math.prod(sizes[-3:]) * m * n
    threes = (_three(sizes, 1), _three(strides[0], 0), _three(strides[1], 0)) if sizes else _ALONE
    for position, index in enumerate(np.ndindex(lead) if lead else _ONCE):
        task = Task(
            a.storage, b.storage, out.storage,
            a.offset + sum(map(mul, index, strides[0])),
            b.offset + sum(map(mul, index, strides[1])),
            out.offset + position * inner,
            m, n, depth, a_m, a_k, b_k, b_n, n, 1, *threes,
        )  # fmt: skip
        launch(out.device, a.dtype, out.dtype, task, conjugate)


def _three(values: Shape, missing: int) -> Three:
    """Return the last three of some values, padded in front."""
    first, second, third = (missing, missing, missing, *values)[-3:]
    return first, second, third


def _folded(a: Array) -> tuple[int, int] | None:
    """Return length and stride of all axes but the last merged; None if they do not merge."""
    sizes, (steps,) = collapse(a.shape[:-1], [a.strides[:-1]])
    if len(sizes) > 1:
        return None
    return (sizes[0], steps[0]) if sizes else (1, 0)


def _splits(out: Array, m: int, n: int, depth: int, matrices: int) -> bool:
    """Return whether results are too few to occupy a device, but sums are long."""
    return depth >= 2 * _PARTS and m * n * matrices <= 64 * 64 * out.device.traits.units


def _split_depth(out: Array, a: Array, b: Array, outer: Shape, conjugate: bool) -> None:
    """Write products whose summed axis is cut into parts: a batch axis of products, then a sum."""
    depth = a.shape[-1]
    segments = min(depth // _PARTS, 32 * out.device.traits.units)
    length = depth // segments
    remainder = depth - segments * length
    sums = empty((segments + bool(remainder), *out.shape), computed_dtype(out.dtype), out.device)
    a_k, b_k = a.strides[-1], b.strides[-2]
    a = _stretched(a, out.ndim)
    b = _stretched(b, out.ndim)
    _into(
        sums.view((segments, *out.shape), sums.strides, sums.offset),
        a.view((segments, *a.shape[:-1], length), (length * a_k, *a.strides), a.offset),
        b.view(
            (segments, *b.shape[:-2], length, b.shape[-1]), (length * b_k, *b.strides), b.offset
        ),
        (segments, *outer),
        conjugate,
        parts=False,
    )
    if remainder:
        done = segments * length
        _into(
            sums.view(out.shape, sums.strides[1:], sums.offset + segments * sums.strides[0]),
            a.view((*a.shape[:-1], remainder), a.strides, a.offset + done * a_k),
            b.view((*b.shape[:-2], remainder, b.shape[-1]), b.strides, b.offset + done * b_k),
            outer,
            conjugate,
            parts=False,
        )
    reals = as_parts(sums) if sums.dtype.kind == "c" else sums
    total = reduce(_SUM, reals, (0,), False, real_dtype_of(out.dtype))
    out.storage, out.offset = total.storage, 0


def _stretched(x: Array, ndim: int) -> Array:
    """Return a view with leading axes of length 1."""
    added = ndim - x.ndim
    return x.view((1,) * added + x.shape, (0,) * added + x.strides, x.offset)
