"""Operands of calls: arrays and scalars, checked and promoted to one table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import base, dispatch, dtypes
from portarray._array.results import wrapped
from portarray._devices import selection
from portarray._dtypes import promotion

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable, Function, Promotion
    from portarray._devices.device import Device

__all__ = [
    "common",
    "dtype_with_scalar",
    "from_scalar",
    "promote",
    "promotion_of_arrays",
    "refused",
    "scalar",
]

_KIND_OF_SCALAR = {bool: "b", int: "i", float: "f", complex: "c"}


def scalar(x: Any) -> Any:
    """Return a Python scalar for a Python or NumPy scalar, NotImplemented for anything else."""
    if type(x) in _KIND_OF_SCALAR:
        return x
    if isinstance(x, np.generic):
        item = x.item()
        return item if type(item) in _KIND_OF_SCALAR else NotImplemented
    if isinstance(x, dtypes.PYTHON_SCALARS):  # subclasses, like IntEnum
        base: Any = next(cls for cls in dtypes.PYTHON_SCALARS if isinstance(x, cls))
        return base(x)
    return NotImplemented


def refused(x: Any, name: str, *, scalars: bool = True) -> TypeError:
    """Return the error for an operand that is neither an array nor an allowed scalar."""
    kind = type(x)
    type_name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return TypeError(
        f"{name}: expected portarray arrays{' and Python scalars' if scalars else ''}, got "
        f"{type_name}\n"
        f"Hint: make an array of it first: pa.asarray(x, device=...)"
    )


def from_scalar(x: Any, name: str, device: Device | None = None) -> Array:
    """Make a 0-d array of a scalar, on the default device or another."""
    value = scalar(x)
    if value is NotImplemented:
        raise refused(x, name)
    if device is None:
        device = selection.current()
    kind = _KIND_OF_SCALAR[type(value)]
    dtype = dtypes.STANDARD["bool"] if kind == "b" else dispatch.default_dtype(device, kind)
    table = dispatch.table_of(device, dtype)
    value = promotion.checked(value, dtype)
    return wrapped(
        table.functions["asarray"](value, dtype=table.native, device=device.native), table
    )


def promotion_of_arrays(name: str, table: DispatchTable, second: DispatchTable) -> Promotion:
    """Return the table that arrays of two tables promote to, with the casts of both."""
    promoted = dispatch.require_same_device(name, table, second)
    if table.dtype != second.dtype:
        dtype = dtypes.promote(table.dtype, second.dtype)
        promoted = dispatch.table_of(promoted.device, dtype)
    entry = promoted, _cast(table, promoted), _cast(second, promoted)
    if promoted.device._backend.has_fixed_dtype(promoted.native):
        table.promotions[second] = entry
    return entry


def _promotion_with_scalar(table: DispatchTable, value: Any) -> Promotion:
    """Return the table that an array of ``table`` and a Python or NumPy scalar promote to.

    With the cast of the array, and the conversion of the scalar: it raises OverflowError for an
    integer out of range.
    """
    kind = type(value)
    try:
        return table.promotions[kind]
    except KeyError:
        dtype = dtype_with_scalar(table.dtype, value, table.device)
    promoted = table if dtype is table.dtype else dispatch.table_of(table.device, dtype)
    convert = _CONVERSIONS.get(promoted.kind) or partial(promotion.checked, dtype=dtype)
    entry = promoted, _cast(table, promoted), convert
    if kind in dtypes.NUMBERS and table.known_type is not None:
        table.promotions[kind] = entry
    return entry


def _cast(table: DispatchTable, target: DispatchTable) -> Function | None:
    return None if table.dtype == target.dtype else dispatch.caster(table, target)


_CONVERSIONS: dict[str, Function] = {"b": bool, "f": float, "c": complex}


def dtype_with_scalar(dtype: np.dtype[Any], value: Any, device: Device) -> np.dtype[Any]:
    """Return the dtype that an array's dtype and a Python or NumPy scalar promote to."""
    return promotion.scalar_dtype(scalar(value), dtype, partial(dispatch.default_dtype, device))


def common(name: str, operands: Sequence[Any]) -> tuple[DispatchTable, list[Any]]:
    """Return the table that operands promote to, and the operands in it.

    Arrays become native arrays of the table's dtype, scalars Python scalars of its kind.
    """
    if len(operands) == 2:
        first, second = operands
        if type(first) is base.array_type and type(second) is base.array_type:
            table, second_table = first._dispatch, second._dispatch
            try:
                promoted, cast_first, cast_second = table.promotions[second_table]
            except KeyError:
                promoted, cast_first, cast_second = promotion_of_arrays(name, table, second_table)
            return promoted, [
                cast_first(first._native) if cast_first else first._native,
                cast_second(second._native) if cast_second else second._native,
            ]
    return _common(name, operands)


def _common(name: str, operands: Sequence[Any]) -> tuple[DispatchTable, list[Any]]:
    table: DispatchTable | None = None
    values: list[Any] = []
    for x in operands:
        if type(x) is base.array_type:
            x_table = x._dispatch
            if table is None:
                table = x_table
            elif table is not x_table:
                cached = table.promotions.get(x_table)
                table = (cached or promotion_of_arrays(name, table, x_table))[0]
            values.append(x)
        else:
            value = scalar(x)
            if value is NotImplemented:
                raise refused(x, name)
            values.append(value)
    if table is None:
        raise TypeError(f"{name}: expected at least one array\nHint: make one with pa.asarray(x)")
    for x in operands:
        if type(x) is not base.array_type:
            table = _promotion_with_scalar(table, x)[0]
    comparing = table.kind in "iu" and name in promotion.COMPARISONS
    natives = [
        (x._native if x._dispatch.dtype == table.dtype else table.cast(x._native))
        if type(x) is base.array_type
        else x
        if comparing
        else table.operand(x)
        for x in values
    ]
    return table, natives


def promote(name: str, *operands: Any) -> tuple[Array, ...]:
    """Return operands as arrays of the one dtype they promote to, on their device."""
    first = operands[0]
    if type(first) is base.array_type and all(
        type(x) is base.array_type and x._dispatch is first._dispatch for x in operands
    ):
        return operands
    table, natives = common(name, operands)
    make = table.functions["asarray"]
    device = table.device
    return tuple(
        wrapped(
            x
            if isinstance(x, table.array_type)
            else make(x, dtype=table.native, device=device.native),
            table,
        )
        for x in natives
    )
