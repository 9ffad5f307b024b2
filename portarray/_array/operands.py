"""What goes into a call: arrays and scalars checked, and promoted to one lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import array as _array
from portarray._array import dispatch, dtypes
from portarray._array.outcome import wrapped
from portarray._devices import selection

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import Lane
    from portarray._devices.device import Device

__all__ = [
    "COMPARISONS",
    "checked",
    "common",
    "dtype_beside",
    "from_scalar",
    "promote",
    "refused",
    "scalar",
]

COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
"""Functions in which a Python integer may lie outside an integer array's range."""

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
    """Return the error for an operand that is no array of portarray, nor a scalar if it may be."""
    kind = type(x)
    what = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    return TypeError(
        f"{name} takes portarray arrays{' and Python scalars' if scalars else ''}, not {what}; "
        f"make an array of it first: pa.asarray(x, device=...)"
    )


def from_scalar(x: Any, name: str) -> Array:
    """Make a 0-d array of a scalar on the default device."""
    value = scalar(x)
    if value is NotImplemented:
        raise refused(x, name)
    device = selection.current()
    kind = _KIND_OF_SCALAR[type(value)]
    dtype = dtypes.STANDARD["bool"] if kind == "b" else dispatch.default_dtype(device, kind)
    lane = dispatch.lane_of(device, dtype)
    return wrapped(lane.functions["asarray"](value, dtype=lane.native, device=device.native), lane)


def checked(value: Any, lane: Lane) -> Any:
    """Return a scalar as the Python type that fits a lane's kind, within its range."""
    if lane.kind in "iu":
        value = int(value)
        if not lane.low <= value <= lane.high:
            raise OverflowError(
                f"Python integer {value} is out of bounds for {lane.dtype} "
                f"({lane.low} to {lane.high}); convert the array to a wider dtype first"
            )
        return value
    if lane.kind == "f":
        return float(value)
    return complex(value) if lane.kind == "c" else value


def _lane_beside(lane: Lane, value: Any) -> Lane:
    """Return the lane in which an array of ``lane`` meets a Python scalar."""
    dtype = dtype_beside(lane.dtype, value, lane.device)
    return lane if dtype is lane.dtype else dispatch.lane_of(lane.device, dtype)


def dtype_beside(dtype: np.dtype[Any], value: Any, device: Device) -> np.dtype[Any]:
    """Return the dtype in which an array of a dtype meets a Python or NumPy scalar."""
    kind = _KIND_OF_SCALAR[type(scalar(value))]
    own = dtypes.kind_of(dtype)
    if dtypes.KIND_ORDER[kind] <= dtypes.KIND_ORDER[own]:
        return dtype
    if kind == "c" and own == "f":
        wide = dtype == dtypes.STANDARD["float64"]
        return dtypes.STANDARD["complex128" if wide else "complex64"]
    return dispatch.default_dtype(device, kind)


def common(name: str, operands: Sequence[Any]) -> tuple[Lane, list[Any]]:
    """Return the lane that operands promote to, and the operands in it.

    Arrays become native arrays of the lane's dtype, scalars Python scalars of its kind.
    """
    lane: Lane | None = None
    values: list[Any] = []
    for x in operands:
        if type(x) is _array.Array:
            other = x._lane
            if lane is None:
                lane = other
            elif lane is not other:
                dispatch.check_device(name, lane, other)
                lane = dispatch.lane_of(lane.device, dtypes.promote(lane.dtype, other.dtype))
            values.append(x)
        else:
            value = scalar(x)
            if value is NotImplemented:
                raise refused(x, name)
            values.append(value)
    if lane is None:
        raise TypeError(f"{name} needs at least one array; make one with pa.asarray(x)")
    for x in values:
        if type(x) is not _array.Array:
            lane = _lane_beside(lane, x)
    comparing = lane.kind in "iu" and name in COMPARISONS
    natives = [
        (x._native if x._lane is lane else lane.cast(x._native))
        if type(x) is _array.Array
        else x
        if comparing
        else checked(x, lane)
        for x in values
    ]
    return lane, natives


def promote(name: str, *operands: Any) -> tuple[Array, ...]:
    """Return operands as arrays of the one dtype they promote to, on their device."""
    first = operands[0]
    if type(first) is _array.Array and all(
        type(x) is _array.Array and x._lane is first._lane for x in operands
    ):
        return operands
    lane, natives = common(name, operands)
    make = lane.functions["asarray"]
    device = lane.device
    return tuple(
        wrapped(
            x
            if isinstance(x, lane.array_type)
            else make(x, dtype=lane.native, device=device.native),
            lane,
        )
        for x in natives
    )
