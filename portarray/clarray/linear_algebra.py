"""Products of arrays, computed on the device."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from portarray.clarray.arguments import array_of, axes_of, axis_of, integer_of
from portarray.clarray.arithmetic import multiply
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.matmul import product
from portarray.clarray.engine.operands import one_device
from portarray.clarray.layout import broadcast_shapes, broadcast_strides, collapse, strides_of
from portarray.clarray.statistical import sum
from portarray.clarray.strided import Array, permuted, transposed

_BOOL = np.dtype(np.bool_)
_FEW_TERMS = 128


def _numeric(x1: object, x2: object, function: str) -> tuple[Array, Array]:
    """Return two arguments that must be numeric arrays of one device."""
    a, b = array_of(x1, function, "x1"), array_of(x2, function, "x2")
    one_device(function, a, b)
    if a.dtype == _BOOL or b.dtype == _BOOL:
        raise TypeError(
            f"{function} takes numeric arrays, got bool\nHint: convert with astype first"
        )
    return a, b


def matmul(x1: Array, x2: Array, /) -> Array:
    """Return the matrix product of two arrays.

    Complex products, also of infinities, follow the textbook formula; a multiplication and an
    addition may be rounded once.
    """
    a, b = _numeric(x1, x2, "matmul")
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError(
            f"matmul takes arrays of at least one axis, got shapes {a.shape} and {b.shape}\n"
            f"Hint: use multiply for scalars"
        )
    if a.shape[-1] != b.shape[-min(b.ndim, 2)]:
        raise ValueError(
            f"matmul sums over the last axis of x1 and the last but one of x2, whose sizes differ: "
            f"shapes {a.shape} and {b.shape}"
        )
    row, column = a.ndim == 1, b.ndim == 1
    if row:
        a = a.view((1, *a.shape), (0, *a.strides), a.offset)
    if column:
        b = b.view((*b.shape, 1), (*b.strides, 0), b.offset)
    result = product(a, b)
    if not (row or column):
        return result
    shape = list(result.shape)
    if column:
        del shape[-1]
    if row:
        del shape[-1 if column else -2]
    return result.view(tuple(shape), strides_of(tuple(shape)), result.offset)


def matrix_transpose(x: Array, /) -> Array:
    """Return views of transposed matrices."""
    x = array_of(x, "matrix_transpose")
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose takes arrays of two or more axes, got shape {x.shape}")
    return transposed(x)


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Return the sums of products over axes of two arrays."""
    a, b = _numeric(x1, x2, "tensordot")
    if isinstance(axes, Sequence):
        if len(axes) != 2:
            raise ValueError(f"tensordot's axes are {axes!r}; they must be an int or a pair")
        first = axes_of(axes[0], a.ndim, "axes of x1")
        second = axes_of(axes[1], b.ndim, "axes of x2")
    else:
        count = integer_of(axes, "axes")
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise ValueError(
                f"tensordot's axes are {count}; shapes {a.shape} and {b.shape} have from 0 to "
                f"{min(a.ndim, b.ndim)} axes to sum over"
            )
        first = tuple(range(a.ndim - count, a.ndim))
        second = tuple(range(count))
    sizes = [a.shape[axis] for axis in first]
    if sizes != [b.shape[axis] for axis in second]:
        raise ValueError(
            f"tensordot sums over axes {first} of x1 and {second} of x2, whose sizes differ: "
            f"shapes {a.shape} and {b.shape}"
        )
    rows = tuple(axis for axis in range(a.ndim) if axis not in first)
    columns = tuple(axis for axis in range(b.ndim) if axis not in second)
    shape = (*(a.shape[axis] for axis in rows), *(b.shape[axis] for axis in columns))
    result = product(_matrix(a, rows, first), _matrix(b, second, columns))
    return result.view(shape, strides_of(shape), result.offset)


def _matrix(x: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """Return an array as a matrix of two groups of axes, a view if possible."""
    x = permuted(x, (*rows, *columns))
    sides = math.prod(x.shape[: len(rows)]), math.prod(x.shape[len(rows) :])
    merged = []
    for part in (slice(0, len(rows)), slice(len(rows), None)):
        sizes, (steps,) = collapse(x.shape[part], [x.strides[part]])
        if len(sizes) > 1:
            x = contiguous(x)
            return x.view(sides, strides_of(sides), x.offset)
        merged.append(steps[0] if steps else 0)
    return x.view(sides, tuple(merged), x.offset)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the inner products of vectors along an axis: sums of ``conj(x1) * x2``."""
    a, b = _numeric(x1, x2, "vecdot")
    least = min(a.ndim, b.ndim)
    position = axis_of(axis, least) - least if axis < 0 else axis_of(axis, a.ndim) - a.ndim
    if position < -least or a.shape[position] != b.shape[position]:
        raise ValueError(
            f"vecdot sums over axis {axis}, whose sizes differ: shapes {a.shape} and {b.shape}"
        )
    depth = a.shape[position]
    shapes, strides = [], []
    for x in (a, b):
        at = x.ndim + position
        shapes.append((*x.shape[:at], *x.shape[at + 1 :]))
        strides.append((*x.strides[:at], *x.strides[at + 1 :]))
    # Matrix products add one term after another in each lane: 64 of contiguous float32.
    has_lanes = a.strides[position] == b.strides[position] == 1 and a.dtype.itemsize == 4
    if depth > _FEW_TERMS and not has_lanes and a.dtype.kind == "f" == b.dtype.kind:
        products = multiply(a, b)
        return sum(products, axis=products.ndim + position, dtype=products.dtype)
    outer = broadcast_shapes(*shapes)
    steps = [broadcast_strides(s, w, outer) for s, w in zip(shapes, strides, strict=True)]
    result = product(
        a.view((*outer, 1, depth), (*steps[0], 0, a.strides[position]), a.offset),
        b.view((*outer, depth, 1), (*steps[1], b.strides[position], 0), b.offset),
        conjugate=True,
    )
    return result.view(outer, strides_of(outer), result.offset)
