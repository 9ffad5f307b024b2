"""The bounds of ``clip``: converted to the dtype of what is clipped, the same for every library."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._dtypes.promotion import KIND_ORDER, Kind, kind_of, limits

if TYPE_CHECKING:
    from portarray._dispatch.native_functions import NativeFunctions

__all__ = ["clipping"]

DType = np.dtype[Any]
Function = Callable[..., Any]

_REAL = frozenset((bool, int, float))


def clipping(functions: NativeFunctions, clip: Function, dtype: DType) -> Function:
    """Return a library's ``clip`` with bounds of x's dtype, numbers that it holds, or None."""
    is_float = kind_of(dtype) == "f"

    def limit(value: Any, lower: bool) -> Any:
        if value is None:
            return None
        if is_float and type(value) in _REAL:
            return float(value)
        if not hasattr(value, "dtype"):
            return _bound(value, dtype, lower=lower)
        value_dtype = functions.numpy_dtype(value.dtype)
        if value_dtype == dtype:
            return value
        ends = _bound_array(value_dtype, dtype)
        if ends is not None:
            make, native = functions.resolve("asarray")[0], functions.native_dtype(value_dtype)
            for name, end in zip(("maximum", "minimum"), ends, strict=True):
                held = make(end, dtype=native, device=functions.device)
                value = functions.resolve(name, value_dtype)[0](value, held)
        return functions.cast(value_dtype, dtype)(value)

    def clipped(x: Any, /, min: Any = None, max: Any = None) -> Any:
        return clip(x, limit(min, True), limit(max, False))

    return clipped


def _bound(value: Any, dtype: DType, *, lower: bool) -> Any:
    """Return a scalar bound of ``clip`` as a Python number that a dtype holds; None for no limit.

    Raises
    ------
    TypeError
        If its kind is above the dtype's.
    OverflowError
        If it leaves no value of the dtype.
    """
    kinds: dict[type, Kind] = {bool: "b", int: "i", float: "f", complex: "c"}
    kind = next(kinds[scalar_type] for scalar_type in kinds if isinstance(value, scalar_type))
    _check_kind(kind, repr(value), dtype)
    if kind_of(dtype) not in "iu":
        return float(value) if kind_of(dtype) == "f" else value
    low, high = limits(dtype)
    if (value <= low) if lower else (value >= high):
        return None
    if not low <= value <= high:
        raise OverflowError(
            f"clip: the bound {value} excludes every value of {dtype} ({low} to {high})"
        )
    return int(value)


def _bound_array(bound_dtype: DType, dtype: DType) -> tuple[int, int] | None:
    """Return the range to which an array of bounds is limited before it is cast; None for none.

    Raises
    ------
    TypeError
        If its kind is above that of the clipped array.
    """
    _check_kind(kind_of(bound_dtype), f"of dtype {bound_dtype}", dtype)
    if kind_of(bound_dtype) not in "iu" or kind_of(dtype) not in "iu":
        return None
    (low, high), (lowest, highest) = limits(bound_dtype), limits(dtype)
    return (max(low, lowest), min(high, highest)) if low < lowest or high > highest else None


def _check_kind(kind: Kind, bound: str, dtype: DType) -> None:
    if KIND_ORDER[kind] > KIND_ORDER[kind_of(dtype)]:
        raise TypeError(
            f"clip: x has dtype {dtype}, and the bound {bound} has a higher kind\n"
            f"Hint: convert x with pa.astype, or pass a bound of x's kind"
        )
