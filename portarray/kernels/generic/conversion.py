"""Dtypes, devices and indices of operands and results."""

from __future__ import annotations

from typing import Any


def widen(xp: Any, x: Any) -> Any:
    """Return a floating-point array in at least float32."""
    return x if _is_wide(xp, x.dtype) else xp.astype(x, xp.float32)


def widen_for_sums(xp: Any, x: Any) -> Any:
    """Return an array for sums of products: floating-point ones in at least float32."""
    if _is_wide(xp, x.dtype) or xp.isdtype(x.dtype, ("integral", "complex floating")):
        return x
    return xp.astype(x, xp.float32)


def _is_wide(xp: Any, dtype: Any) -> bool:
    # Where a device lacks float64, its library may lack the name too.
    return bool(dtype == xp.float32 or dtype == getattr(xp, "float64", xp.float32))


def cast_back(xp: Any, out: Any, x: Any) -> Any:
    """Return a result in the dtype of the input."""
    return as_dtype(xp, out, x.dtype)


def as_dtype(xp: Any, x: Any, dtype: Any) -> Any:
    """Convert an array that has another dtype."""
    return x if x.dtype == dtype else xp.astype(x, dtype)


def widest_float(xp: Any, device: Any) -> Any:
    """Return a device's widest floating-point dtype."""
    info = xp.__array_namespace_info__()
    dtypes = info.dtypes(device=device, kind="real floating")
    return dtypes.get("float64", xp.float32)


def device_of(x: Any) -> Any:
    """Return an array's device, or None if the library's arrays do not have one."""
    return getattr(x, "device", None)


def iota(xp: Any, size: int, device: Any) -> Any:
    """Return 0, 1, 2, ..."""
    return xp.arange(size, dtype=xp.int32, device=device)


def negative_out_of_bounds(xp: Any, indices: Any, size: int) -> Any:
    """Return indices with negative ones moved out of bounds."""
    limits = xp.iinfo(indices.dtype)
    if not limits.min:
        return indices
    if size > limits.max:  # its lowest number may be within bounds, counted from the end
        indices = xp.astype(indices, xp.int32)
        limits = xp.iinfo(xp.int32)
    return xp.where(indices < 0, limits.min, indices)
