"""Products of matrices and vectors, composed of transposition, multiplication and sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from portarray.backends.composed.manipulation import normalize_axes

__all__ = ["matrix_transpose", "tensordot", "vecdot"]

# Up to this many products, direct multiplication is faster than splitting into limbs.
_FEW = 1 << 16


def matrix_transpose(xp: Any, x: Any, /) -> Any:
    """Return the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: needs at least 2 axes, got {x.ndim}")
    return xp.permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def tensordot(
    xp: Any,
    x1: Any,
    x2: Any,
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
) -> Any:
    """Return sums of products over the axes named in both arrays."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: axes={axes} for arrays with {x1.ndim} and {x2.ndim} axes")
        first, second = tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes))
    else:
        first, second = normalize_axes(axes[0], x1.ndim), normalize_axes(axes[1], x2.ndim)
    sizes1 = [x1.shape[axis] for axis in first]
    sizes2 = [x2.shape[axis] for axis in second]
    if sizes1 != sizes2:
        raise ValueError(f"tensordot: axes have different sizes {sizes1} and {sizes2}")
    free1 = [axis for axis in range(x1.ndim) if axis not in first]
    free2 = [axis for axis in range(x2.ndim) if axis not in second]
    shape1 = [x1.shape[axis] for axis in free1]
    shape2 = [x2.shape[axis] for axis in free2]
    summed = math.prod(sizes1)
    rows = xp.reshape(xp.permute_dims(x1, (*free1, *first)), (math.prod(shape1), summed))
    columns = xp.reshape(xp.permute_dims(x2, (*second, *free2)), (summed, math.prod(shape2)))
    return xp.reshape(xp.matmul(rows, columns), (*shape1, *shape2))


def vecdot(xp: Any, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return sums of ``conj(x1) * x2`` along an axis; other axes broadcast."""
    for x in (x1, x2):
        if not -x.ndim <= axis < x.ndim:
            raise IndexError(f"vecdot: axis {axis} is out of bounds for {x.ndim} axes")
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot: axis {axis} has different sizes {x1.shape[axis]} and {x2.shape[axis]}"
        )
    dtype = xp.result_type(x1, x2)
    if xp.isdtype(x1.dtype, "complex floating"):
        x1 = xp.conj(x1)
    if x1.ndim == 1 and x2.ndim == 1:
        return xp.matmul(x1, x2)
    products = xp.multiply(xp.moveaxis(x1, axis, -1), xp.moveaxis(x2, axis, -1))
    return xp.sum(products, axis=-1, dtype=dtype)


def integer_matmul(
    xp: Any, x1: Any, x2: Any, *, bits: int, wide: Any, floating: Any, exact: int
) -> Any:
    """Return the exact matrix product of integers, by floating-point matrix products.

    Integers are split into limbs short enough for exact floating-point sums of their products.
    Overflow wraps around, as in NumPy.

    Parameters
    ----------
    bits : int
        Width of the dtype of x1 and x2.
    wide, floating : native dtype
        The widest integer dtype of the same signedness, and the dtype to multiply in.
    exact : int
        Bits of the significand of `floating`. For 24, limbs have 8 bits, which are exact in TF32
        too.
    """
    rows, columns = as_matrices(x1, x2)
    if math.prod(rows.shape) * math.prod(columns.shape[:-2]) * columns.shape[-1] <= _FEW:
        products = xp.multiply(rows[..., :, :, None], columns[..., None, :, :])
        out = xp.astype(xp.sum(products, axis=-2), x1.dtype)
    else:
        out = _by_limbs(xp, rows, columns, bits, wide, floating, exact)
    return restore_vectors(out, x1, x2)


def as_matrices(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return the operands of a matrix product with at least 2 axes, if their shapes match."""
    rows = x1[None] if x1.ndim == 1 else x1
    columns = x2[:, None] if x2.ndim == 1 else x2
    if rows.shape[-1] != columns.shape[-2]:
        raise ValueError(
            f"matmul: shapes {tuple(x1.shape)} and {tuple(x2.shape)} do not match: "
            f"{rows.shape[-1]} columns and {columns.shape[-2]} rows"
        )
    return rows, columns


def restore_vectors(out: Any, x1: Any, x2: Any) -> Any:
    """Return a matrix product without the axes that :func:`as_matrices` added."""
    if x2.ndim == 1:
        out = out[..., 0]
    if x1.ndim == 1:
        out = out[..., 0] if x2.ndim == 1 else out[..., 0, :]
    return out


def _by_limbs(
    xp: Any, rows: Any, columns: Any, bits: int, wide: Any, floating: Any, exact: int
) -> Any:
    summed = rows.shape[-1]
    # Limbs have at least 8 bits: longer sums are split.
    longest = 1 << (exact - 16)
    wide_rows, wide_columns = xp.astype(rows, wide), xp.astype(columns, wide)
    total = None
    for start in range(0, summed, longest):
        part = slice(start, min(start + longest, summed))
        limb = min((exact - (part.stop - start - 1).bit_length()) // 2, bits)
        first = _limbs(xp, wide_rows[..., :, part], limb, bits, floating)
        second = _limbs(xp, wide_columns[..., part, :], limb, bits, floating)
        for i, a in enumerate(first):
            # Products of limbs above the dtype's highest bit are skipped.
            for j, b in enumerate(second[: len(second) - i]):
                product = xp.astype(xp.matmul(a, b), wide)
                product = xp.bitwise_left_shift(product, (i + j) * limb)
                total = product if total is None else xp.add(total, product)
    return xp.astype(total, rows.dtype)


def _limbs(xp: Any, x: Any, limb: int, bits: int, floating: Any) -> list[Any]:
    """Return the digits of integers in base ``2**limb``, lowest first."""
    mask = (1 << limb) - 1
    return [
        xp.astype(xp.bitwise_and(xp.bitwise_right_shift(x, shift), mask), floating)
        for shift in range(0, bits, limb)
    ]
