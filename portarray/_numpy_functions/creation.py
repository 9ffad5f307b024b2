"""Array creation: ``zeros_like`` etc., ``like=``, ranges between arrays, matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portarray._namespace import pa
from portarray._numpy_functions.common import as_array, as_arrays, flat, is_float, joined
from portarray._numpy_functions.table import category

serves = category("Array creation")


@serves(order="prototype dtype order subok shape")
def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Any:
    if shape is None:
        return pa.empty_like(prototype, dtype=dtype)
    return pa.empty(shape, dtype=dtype or prototype.dtype, device=prototype.device)


@serves(order="a dtype order subok shape")
def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    return full_like(a, 0, dtype, shape) if shape is not None else pa.zeros_like(a, dtype=dtype)


@serves(order="a dtype order subok shape")
def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    return full_like(a, 1, dtype, shape) if shape is not None else pa.ones_like(a, dtype=dtype)


@serves(order="a fill_value dtype order subok shape")
def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    like = empty_like(a, dtype, shape)
    if type(fill_value) is pa.Array and fill_value.shape:
        return pa.broadcast_to(fill_value.astype(like.dtype), like.shape).copy()
    return pa.full_like(like, fill_value)


# --- like= -------------------------------------------------------------------------------------


@serves("asarray", "asanyarray", order="a dtype order", like=True)
def asarray(a: Any, dtype: Any = None, copy: Any = None, *, like: Any) -> Any:
    return pa.asarray(a, dtype=dtype, copy=copy, device=like.device)


@serves("ascontiguousarray", "asfortranarray", like=True)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any) -> Any:
    x = pa.asarray(a, dtype=dtype, device=like.device)
    return x if x.ndim else pa.reshape(x, (1,))


@serves(like=True)
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any) -> Any:
    return pa.asarray(a, dtype=dtype, device=like.device)


@serves(order="object dtype", like=True)
def array(object: Any, dtype: Any = None, copy: Any = True, ndmin: int = 0, *, like: Any) -> Any:
    x = pa.asarray(object, dtype=dtype, copy=copy, device=like.device)
    return pa.reshape(x, (1,) * max(0, ndmin - x.ndim) + x.shape)


@serves(like=True)
def arange(
    start_or_stop: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None, like: Any
) -> Any:
    return pa.arange(start_or_stop, stop, step, dtype=dtype, device=like.device)


@serves("zeros", "empty", order="shape dtype order", like=True)
def zeros(shape: Any, dtype: Any = None, *, like: Any) -> Any:
    return pa.zeros(shape, dtype=_dtype(dtype), device=like.device)


@serves(order="shape dtype order", like=True)
def ones(shape: Any, dtype: Any = None, *, like: Any) -> Any:
    return pa.ones(shape, dtype=_dtype(dtype), device=like.device)


@serves(order="shape fill_value dtype order", like=True)
def full(shape: Any, fill_value: Any, dtype: Any = None, *, like: Any) -> Any:
    return pa.full(shape, fill_value, dtype=dtype, device=like.device)


@serves(order="N M k dtype order", like=True)
def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None, *, like: Any) -> Any:  # noqa: N803
    return pa.eye(N, M, k=k, dtype=_dtype(dtype), device=like.device)


@serves(like=True)
def identity(n: Any, dtype: Any = None, *, like: Any) -> Any:
    return pa.eye(n, dtype=_dtype(dtype), device=like.device)


@serves(like=True)
def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None, *, like: Any) -> Any:  # noqa: N803
    shape = (N, N if M is None else M)
    return pa.tril(pa.ones(shape, dtype=_dtype(dtype), device=like.device), k=k)


@serves(like=True)
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = None, like: Any, **kwargs: Any
) -> Any:
    ranges = [pa.arange(n, dtype=_dtype(dtype) or float, device=like.device) for n in shape]
    return function(*pa.meshgrid(*ranges, indexing="ij"), **kwargs)


def _dtype(dtype: Any) -> Any:
    """Return None, the device's default dtype, for ``float``, NumPy's default."""
    return None if dtype is float else dtype


# NumPy reads files and buffers into host memory.


@serves(like=True)
def frombuffer(*args: Any, like: Any, **options: Any) -> Any:
    return pa.asarray(np.frombuffer(*args, **options), device=like.device)


@serves(like=True)
def fromfile(*args: Any, like: Any, **options: Any) -> Any:
    return pa.asarray(np.fromfile(*args, **options), device=like.device)


@serves(like=True)
def fromiter(*args: Any, like: Any, **options: Any) -> Any:
    return pa.asarray(np.fromiter(*args, **options), device=like.device)


@serves(like=True)
def fromstring(*args: Any, like: Any, **options: Any) -> Any:
    return pa.asarray(np.fromstring(*args, **options), device=like.device)


@serves(like=True)
def genfromtxt(*args: Any, like: Any, **options: Any) -> Any:
    return pa.asarray(np.genfromtxt(*args, **options), device=like.device)


@serves(like=True)
def loadtxt(*args: Any, like: Any, **options: Any) -> Any:
    return pa.asarray(np.loadtxt(*args, **options), device=like.device)


# --- ranges ------------------------------------------------------------------------------------


@serves(order="start stop num endpoint retstep dtype axis")
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    first, step, values = _spaced(start, stop, num, endpoint=endpoint)
    x = first + values * step
    if endpoint and num > 1:
        end = pa.broadcast_to(as_array(stop, first), first.shape).astype(x.dtype)
        x = joined((x[:-1], end[None]))
    if dtype is not None:
        whole = np.dtype(dtype).kind in "iu"
        x = (pa.floor(x) if whole else x).astype(dtype)
    x = pa.moveaxis(x, 0, axis)
    return (x, step) if retstep else x


def _spaced(start: Any, stop: Any, num: int, *, endpoint: bool) -> tuple[Any, Any, Any]:
    """Return the start, the step and the step indices, for ranges along axis 0."""
    array = start if type(start) is pa.Array else stop
    first, last = pa.broadcast_arrays(as_array(start, array) * 1.0, as_array(stop, array) * 1.0)
    step = (last - first) / max(1, num - 1 if endpoint else num)
    real = pa.real(step).dtype if step.dtype.kind == "c" else step.dtype
    indices = pa.arange(num, dtype=real, device=step.device)
    return first, step, pa.reshape(indices, (num, *(1,) * first.ndim))


@serves()
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    x = pa.pow(base, linspace(start, stop, num, endpoint, axis=axis))
    return x if dtype is None else x.astype(dtype)


@serves()
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    array = start if type(start) is pa.Array else stop
    first, last = pa.broadcast_arrays(as_array(start, array) * 1.0, as_array(stop, array) * 1.0)
    share = linspace(pa.zeros_like(first), 1.0, num, endpoint)
    x = first * pa.pow(last / first, share)
    x = pa.moveaxis(x, 0, axis)
    return x if dtype is None else x.astype(dtype)


@serves(order="")
def meshgrid(*xi: Any, sparse: bool = False, indexing: Any = "xy") -> Any:
    arrays = as_arrays(*xi, name="meshgrid")
    if not sparse:
        return pa.meshgrid(*arrays, indexing=indexing)
    order = [1, 0, *range(2, len(xi))] if indexing == "xy" and len(xi) > 1 else range(len(xi))
    return tuple(
        pa.reshape(x, tuple(-1 if axis == position else 1 for axis in range(len(xi))))
        for x, position in zip(arrays, order, strict=True)
    )


# --- matrices ----------------------------------------------------------------------------------


@serves()
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return pa.linalg.diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError(f"diag: the array has {v.ndim} axes, not 1 or 2")
    n = v.shape[0] + abs(k)
    pad = pa.zeros((abs(k),), dtype=v.dtype, device=v.device)
    values = joined((v, pad))
    here = pa.eye(n, k=k, dtype=pa.bool, device=v.device)
    zero = pa.zeros((), dtype=v.dtype, device=v.device)
    return pa.where(here, values[:, None] if k >= 0 else values[None, :], zero)


@serves()
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803
    count = x.shape[0] if N is None else N
    real = x.dtype if not is_float(x) else pa.abs(x[:0]).dtype
    powers = pa.arange(count, dtype=real, device=x.device)
    matrix = pa.pow(x[:, None], powers[None, :].astype(x.dtype))
    return matrix if increasing else pa.flip(matrix, axis=1)


# Functions of one expression.
serves("copy", order="a order subok")(lambda a: a.copy())
serves("diagflat")(lambda v, k=0: diag(flat(v), k))
serves("tril")(lambda m, k=0: pa.tril(m, k=k))
serves("triu")(lambda m, k=0: pa.triu(m, k=k))
