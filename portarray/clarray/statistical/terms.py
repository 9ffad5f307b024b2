"""What sums, products, extremes and spreads share: their dtypes, their terms, and how many."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from portarray.clarray.arguments import dtype_on
from portarray.clarray.dtypes import kind_of, real_dtype_of
from portarray.clarray.engine.copy import cast
from portarray.clarray.engine.parts import as_complex, as_parts
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.strided import Array

DType = np.dtype[Any]

SUM = Reduction("sum", {"unsigned": ("a + b", "0"), "real": ("a + b", "0")}, "result")
PROD = Reduction(
    "prod",
    {"unsigned": ("a * b", "1"), "real": ("a * b", "1"), "complex": ("c_mul(a, b)", "(T)(1, 0)")},
    "result",
)


def total_dtype(x: Array, dtype: Any, name: str) -> DType:
    """Return the dtype of sums and products of an array."""
    if dtype is not None:
        target = dtype_on(dtype, x.device)
        if x.dtype.kind == "c" and target.kind != "c":
            raise TypeError(
                f"{name}: cannot cast complex numbers to {target}\n"
                f"Hint: take the real part, or use a "
                f"complex dtype"
            )
        return target
    kind = kind_of(x.dtype)
    if kind in ("bool", "signed"):
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "unsigned" else x.dtype


def converted(x: Array, dtype: DType) -> Array:
    """Return an array for sums in a dtype, converted unless kernels convert as they read."""
    if x.dtype == dtype or (x.dtype.kind in "biu" and dtype.kind in "iuf"):
        return x
    if x.dtype.itemsize == 2 and dtype.kind == "f" and dtype.itemsize > 2:
        return x
    if x.dtype == np.float32 and dtype == np.float64:
        return x
    return cast(x, dtype)


def summed(
    reduction: Reduction,
    x: Array,
    axes: tuple[int, ...],
    keepdims: bool,
    dtype: DType,
    divisor: float,
) -> Array:
    """Return sums; complex ones as sums of pairs of real numbers."""
    if dtype.kind != "c":
        return reduce(reduction, x, axes, keepdims, dtype, divisor=divisor)
    parts = reduce(reduction, as_parts(x), axes, keepdims, real_dtype_of(dtype), divisor=divisor)
    return as_complex(parts, dtype)


def refuse_empty(name: str, x: Array, axes: tuple[int, ...]) -> NoReturn:
    """Raise ValueError: there are no elements to reduce."""
    raise ValueError(
        f"{name}: no elements to reduce: x has shape {x.shape}, axes are {axes}\n"
        f"Hint: check x.size first"
    )


def count_along(x: Array, axes: tuple[int, ...]) -> int:
    """Return the number of elements along some axes."""
    return math.prod([x.shape[axis] for axis in axes])
