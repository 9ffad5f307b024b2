"""Array creation: ``zeros_like`` and its kin, ``like=``, ranges between arrays, matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import portarray as pa
from portarray._numpy_functions.common import beside, flat, is_float, joined
from portarray._numpy_functions.table import chapter

serves = chapter("Array creation")


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
    made = empty_like(a, dtype, shape)
    if type(fill_value) is pa.Array and fill_value.shape:
        return pa.broadcast_to(fill_value.astype(made.dtype), made.shape).copy()
    return pa.full_like(made, fill_value)


@serves("copy", order="a order subok")
def copied(a: Any) -> Any:
    return a.copy()


# --- like= -------------------------------------------------------------------------------------


@serves("asarray", "asanyarray", order="a dtype order", like=True)
def asarray(a: Any, dtype: Any = None, copy: Any = None, *, like: Any) -> Any:
    return pa.asarray(a, dtype=dtype, copy=copy, device=like.device)


@serves("ascontiguousarray", "asfortranarray", like=True)
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any) -> Any:
    found = pa.asarray(a, dtype=dtype, device=like.device)
    return found if found.ndim else pa.reshape(found, (1,))


@serves(like=True)
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any) -> Any:
    return pa.asarray(a, dtype=dtype, device=like.device)


@serves(order="object dtype", like=True)
def array(object: Any, dtype: Any = None, copy: Any = True, ndmin: int = 0, *, like: Any) -> Any:
    found = pa.asarray(object, dtype=dtype, copy=copy, device=like.device)
    return pa.reshape(found, (1,) * max(0, ndmin - found.ndim) + found.shape)


@serves(like=True)
def arange(
    start_or_stop: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None, like: Any
) -> Any:
    return pa.arange(start_or_stop, stop, step, dtype=dtype, device=like.device)


@serves("zeros", "empty", order="shape dtype order", like=True)
def zeros(shape: Any, dtype: Any = None, *, like: Any) -> Any:
    return pa.zeros(shape, dtype=_own(dtype), device=like.device)


@serves(order="shape dtype order", like=True)
def ones(shape: Any, dtype: Any = None, *, like: Any) -> Any:
    return pa.ones(shape, dtype=_own(dtype), device=like.device)


@serves(order="shape fill_value dtype order", like=True)
def full(shape: Any, fill_value: Any, dtype: Any = None, *, like: Any) -> Any:
    return pa.full(shape, fill_value, dtype=dtype, device=like.device)


@serves(order="N M k dtype order", like=True)
def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None, *, like: Any) -> Any:  # noqa: N803
    return pa.eye(N, M, k=k, dtype=_own(dtype), device=like.device)


@serves(like=True)
def identity(n: Any, dtype: Any = None, *, like: Any) -> Any:
    return pa.eye(n, dtype=_own(dtype), device=like.device)


@serves(like=True)
def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None, *, like: Any) -> Any:  # noqa: N803
    shape = (N, N if M is None else M)
    return pa.tril(pa.ones(shape, dtype=_own(dtype), device=like.device), k=k)


@serves(like=True)
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = None, like: Any, **kwargs: Any
) -> Any:
    each = [pa.arange(n, dtype=_own(dtype) or float, device=like.device) for n in shape]
    return function(*pa.meshgrid(*each, indexing="ij"), **kwargs)


def _own(dtype: Any) -> Any:
    """Return None for Python's float, NumPy's default: the device's own default dtype."""
    return None if dtype is float else dtype


# What NumPy reads from files and buffers is on the host first.


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
    found = first + values * step
    if endpoint and num > 1:
        end = pa.broadcast_to(beside(stop, first), first.shape).astype(found.dtype)
        found = joined((found[:-1], end[None]))
    if dtype is not None:
        whole = np.dtype(dtype).kind in "iu"
        found = (pa.floor(found) if whole else found).astype(dtype)
    found = pa.moveaxis(found, 0, axis)
    return (found, step) if retstep else found


def _spaced(start: Any, stop: Any, num: int, *, endpoint: bool) -> tuple[Any, Any, Any]:
    """Return the start, the step and the numbers of the steps, for ranges along axis 0."""
    array = start if type(start) is pa.Array else stop
    first, last = pa.broadcast_arrays(beside(start, array) * 1.0, beside(stop, array) * 1.0)
    step = (last - first) / max(1, num - 1 if endpoint else num)
    real = pa.real(step).dtype if step.dtype.kind == "c" else step.dtype
    numbers = pa.arange(num, dtype=real, device=step.device)
    return first, step, pa.reshape(numbers, (num, *(1,) * first.ndim))


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
    found = pa.pow(base, linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else found.astype(dtype)


@serves()
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    array = start if type(start) is pa.Array else stop
    first, last = pa.broadcast_arrays(beside(start, array) * 1.0, beside(stop, array) * 1.0)
    share = linspace(pa.zeros_like(first), 1.0, num, endpoint)
    found = first * pa.pow(last / first, share)
    found = pa.moveaxis(found, 0, axis)
    return found if dtype is None else found.astype(dtype)


@serves(order="")
def meshgrid(*xi: Any, sparse: bool = False, indexing: Any = "xy") -> Any:
    if not sparse:
        return pa.meshgrid(*xi, indexing=indexing)
    order = [1, 0, *range(2, len(xi))] if indexing == "xy" and len(xi) > 1 else range(len(xi))
    return tuple(
        pa.reshape(x, tuple(-1 if axis == place else 1 for axis in range(len(xi))))
        for x, place in zip(xi, order, strict=True)
    )


# --- matrices ----------------------------------------------------------------------------------


@serves()
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return pa.linalg.diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError(f"diag takes arrays of one or two axes, and this one has {v.ndim}")
    n = v.shape[0] + abs(k)
    pad = pa.zeros((abs(k),), dtype=v.dtype, device=v.device)
    values = joined((v, pad))
    here = pa.eye(n, k=k, dtype=pa.bool, device=v.device)
    zero = pa.zeros((), dtype=v.dtype, device=v.device)
    return pa.where(here, values[:, None] if k >= 0 else values[None, :], zero)


@serves()
def diagflat(v: Any, k: int = 0) -> Any:
    return diag(flat(v), k)


@serves()
def tril(m: Any, k: int = 0) -> Any:
    return pa.tril(m, k=k)


@serves()
def triu(m: Any, k: int = 0) -> Any:
    return pa.triu(m, k=k)


@serves()
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:  # noqa: N803
    count = x.shape[0] if N is None else N
    real = x.dtype if not is_float(x) else pa.abs(x[:0]).dtype
    powers = pa.arange(count, dtype=real, device=x.device)
    found = pa.pow(x[:, None], powers[None, :].astype(x.dtype))
    return found if increasing else pa.flip(found, axis=1)
