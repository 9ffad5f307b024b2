"""Products with a weight matrix of shape ``(out, in)``.

For few rows, as in decoding, reading the weights takes most of the time: one kernel reads each once
and widens float16 and bfloat16. For more rows the matrix product reads the transposed view.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.arguments import array_of
from portarray.clarray.arithmetic import add
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.copy import cast, contiguous
from portarray.clarray.engine.matmul import product
from portarray.clarray.engine.matmul_rows import FEW, columns_per_item, rows_kernel
from portarray.clarray.engine.operands import one_device
from portarray.clarray.layout import strides_of
from portarray.clarray.strided import Array, new_array, transposed

DType = np.dtype[Any]
Shape = tuple[int, ...]

_FLOAT32 = np.dtype(np.float32)


class _Plan(NamedTuple):
    """What calls with operands of the same layout share."""

    kernel: Kernel
    size: tuple[int, int]
    values: tuple[int, ...]
    shape: Shape
    strides: Shape
    nbytes: int


def linear(x: Array, weight: Array, bias: Array | None = None, /) -> Array:
    """Return ``x @ weight.T + bias``, for numeric ``x`` (..., in) and ``weight`` (out, in).

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> weight = cl.asarray([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=cl.float32)
    >>> x, bias = (cl.asarray(one, dtype=cl.float32) for one in ([2.0, 3.0], [0.5, 0.5, 0.5]))
    >>> cl.neural.linear(x, weight, bias).tolist()
    [2.5, 3.5, 5.5]
    """
    x, weight = array_of(x, "linear"), array_of(weight, "linear", "weight")
    bias = None if bias is None else array_of(bias, "linear", "bias")
    few_rows = _few(x, weight, bias)
    if few_rows is not None:
        return few_rows
    _check(x, weight, bias)
    rows = x if x.ndim > 1 else x.view((1, *x.shape), (0, *x.strides), x.offset)
    result = product(rows, transposed(weight), wide=bias is not None)
    if bias is not None:
        result = add(result, bias)  # in float32 for 16-bit dtypes
        result = result if result.dtype == x.dtype else cast(result, x.dtype)
    if x.ndim == 1:
        return result.view(result.shape[1:], (1,), result.offset)
    return result


def _check(x: Array, weight: Array, bias: Array | None) -> None:
    """Raise unless dtypes and shapes fit."""
    one_device("linear", x, weight)
    arrays = [x, weight]
    if bias is not None:
        arrays.append(bias)
        one_device("linear", x, bias)
    if any(array.dtype != x.dtype for array in arrays) or x.dtype == np.bool_:
        raise TypeError(
            f"linear takes numeric arrays of one dtype, got "
            f"{', '.join(str(array.dtype) for array in arrays)}\nHint: convert with astype first"
        )
    fits = x.ndim >= 1 and weight.ndim == 2 and x.shape[-1] == weight.shape[1]
    if not fits or (bias is not None and bias.shape != weight.shape[:1]):
        raise ValueError(
            f"linear takes x (..., in), weight (out, in) and bias (out,), got shapes "
            f"{', '.join(str(array.shape) for array in arrays)}"
        )


def _few(x: Array, weight: Array, bias: Array | None) -> Array | None:
    """Return the products of few rows; None if the kernel does not apply."""
    device = x.storage.device
    if weight.storage.device is not device or x.dtype != weight.dtype:
        return None
    if bias is not None and (bias.storage.device is not device or bias.dtype != x.dtype):
        return None
    plan = _plan(
        device, x.dtype, x.shape, weight.shape, weight.strides,
        None if bias is None else bias.shape,
    )  # fmt: skip
    if plan is None:
        return None
    if x.dtype.itemsize == 2:
        x = cast(x, _FLOAT32)
    elif not x.contiguous:
        x = contiguous(x)
    if bias is not None:
        bias = contiguous(bias)
    out = device.pool.take(plan.nbytes)
    storages = (x.storage, weight.storage, (weight if bias is None else bias).storage, out)
    plan.kernel.launch(
        plan.size, (1, 1), storages, x.offset, weight.offset, -1 if bias is None else bias.offset,
        0, *plan.values,
    )  # fmt: skip
    return new_array(out, weight.dtype, plan.shape, plan.strides, 0, True)


@lru_cache(maxsize=1024)
def _plan(
    device: Device, dtype: DType, x: Shape, weight: Shape, strides: Shape, bias: Shape | None
) -> _Plan | None:
    """Return the launch for few rows; None if the kernel does not apply."""
    if device.traits.local_memory or kind_of(dtype) != "real" or not x or len(weight) != 2:
        return None
    n, depth = weight
    rows = math.prod(x[:-1])
    fits = x[-1] == depth and strides[1] == 1 and bias in (None, (n,))
    if not (fits and 1 <= rows <= FEW and n and depth):
        return None
    per_item = columns_per_item(device, dtype, n, depth, 1)
    shape = (*x[:-1], n)
    return _Plan(
        rows_kernel(device, dtype, dtype, rows), (-(-n // per_item), 1),
        (rows, n, depth, depth, strides[0], n, 1, per_item, 1, 1, 0, 0, 0, 0, 0, 0),
        shape, strides_of(shape), rows * n * dtype.itemsize,
    )  # fmt: skip
