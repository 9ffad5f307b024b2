"""The precision of compiled functions, and products in mixed precision."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import reduce
from typing import Any, Literal

import numpy as np

from portarray._array import dispatch, dtypes
from portarray._devices.device import Device

__all__ = ["PRODUCTS", "Precision", "half_of", "mixed_product", "now", "precision"]

Function = Callable[..., Any]
Precision = Literal["float16", "bfloat16", "mixed"]

PRODUCTS = frozenset(
    (
        *("kernels.linear", "kernels.matmul", "linalg.matmul", "linalg.tensordot", "matmul"),
        "tensordot",
    )
)
"""Functions whose operands are rounded to 16 bits in mixed precision."""

_FLOAT16 = np.dtype(np.float16)


class _Now(threading.local):
    value: str | None = None


_now = _Now()


def now() -> str | None:
    """Return the precision of the enclosing ``with pa.precision(...)`` block."""
    return _now.value


def checked(value: Any) -> str | None:
    """Return a precision; raise for invalid values."""
    if value in (None, "float16", "bfloat16", "mixed"):
        return value  # type: ignore[no-any-return]
    raise ValueError(f"precision={value!r} is not 'float16', 'bfloat16', 'mixed' or None")


class precision:  # noqa: N801  (used as a function)
    """Have compiled functions compute in lower precision; a context manager.

    Parameters
    ----------
    value : {"float16", "bfloat16", "mixed"} or None
        See :func:`portarray.compile`. None computes in the dtypes of the arguments.

    Examples
    --------
    >>> import portarray as pa
    >>> product = pa.compile(lambda x, y: x @ y)
    >>> x = pa.full((2, 2), 1.001, dtype=pa.float32)
    >>> with pa.precision("mixed"):
    ...     product(x, x)[0, 0]
    Array(2.0039082, dtype=float32, device='numpy:cpu:0')
    """

    def __init__(self, value: Precision | None) -> None:
        self._value = checked(value)
        self._previous: list[str | None] = []

    def __enter__(self) -> None:
        """Set the precision."""
        self._previous.append(_now.value)
        _now.value = self._value

    def __exit__(self, *error: object) -> None:
        """Restore the previous precision."""
        _now.value = self._previous.pop()


def half_of(device: Device) -> Any:
    """Return the dtype of operands in mixed precision: bfloat16, or float16 on devices without."""
    available = dispatch.dtypes_of(device)
    bfloat16 = dtypes.bfloat16()
    if bfloat16 in available:
        return available[bfloat16]
    return dispatch.table_of(device, _FLOAT16)


def mixed_product(function: Function, device: Device) -> Function:
    """Return a product of float32 arrays whose two operands are rounded to 16 bits.

    Sums are in float32: CPUs multiply the rounded values in float32, and GPUs accumulate 16-bit
    products in it. float16 operands are first scaled by powers of two so that the largest value is
    near 1, because float16 has a small range; the product is scaled back.
    """
    half = half_of(device)
    single = dispatch.table_of(device, dtypes.STANDARD["float32"])
    xp = dispatch.functions_of(device).namespace
    owns = device._backend.owns
    is_small = half.dtype == _FLOAT16
    on_cpu = device.kind == "cpu"

    def power_of(x: Any) -> Any:
        largest = xp.max(xp.abs(x))
        usual = xp.logical_and(largest > 0, largest < math.inf)
        largest = xp.where(usual, largest, xp.ones_like(largest))
        return xp.pow(2.0, xp.floor(xp.log2(largest)))

    def product(*args: Any, **options: Any) -> Any:
        operands: list[Any] = []
        powers: list[Any] = []
        added: Any = None
        for n, x in enumerate(args):
            if not owns(x) or x.dtype != single.native:
                operands.append(x)
                continue
            if n == 2:
                added = x
                operands.append(None)
                continue
            if is_small and math.prod(x.shape):
                powers.append(power_of(x))
                x = xp.divide(x, powers[-1])
            rounded = xp.astype(x, half.native)
            operands.append(xp.astype(rounded, single.native) if on_cpu else rounded)
        out = function(*operands, **options)
        out = out if on_cpu else xp.astype(out, single.native)
        if powers:
            out = xp.multiply(out, reduce(xp.multiply, powers))
        return out if added is None else xp.add(out, added)

    return product
