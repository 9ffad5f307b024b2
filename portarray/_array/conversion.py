"""``asarray`` and ``astype``: arrays from lists, NumPy and native arrays, and DLPack."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import (
    base,
    dispatch,
    dtypes,
    host_access,
    native_arrays,
    operands,
    producers,
    results,
    values,
)
from portarray._devices import selection
from portarray._movement import array_moves, routes

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device

DType = np.dtype[Any]
DOUBLE = dtypes.STANDARD["float64"]


def asarray(
    obj: Any,
    /,
    *,
    dtype: object = None,
    device: object = None,
    copy: bool | None = None,
    narrow: bool = False,
    default: Device | None = None,
) -> Array:
    """See :func:`portarray.asarray`; ``default`` is used instead of the default device."""
    if type(obj) in values.HOST_TYPES and (copy is None or copy is True):
        result = values.from_numbers(obj, dtype, default if device is None else device)
        if result is not None:
            return result
    if type(obj) is np.ndarray and dtype is None is copy:
        where = selection.resolve(default if device is None else device)
        if _shares(obj, where):
            host_access.tell("asarray", where, to_host=False)
            return from_host(obj, where)
    copy = copy if copy is None else native_arrays.copy_flag(copy)
    target_dtype = None if dtype is None else dtypes.canonical(dtype)
    if isinstance(obj, base.array_type):
        where = obj.device if device is None else selection.resolve(device)
        host_access.tell_move(obj.device, where)
        return _finished(obj, target_dtype, where, copy=copy, narrow=narrow)
    owner = native_arrays.device_of(obj)
    if owner is not None:
        native = native_arrays.from_native(obj, owner, copy=copy)
        where = owner if device is None else selection.resolve(device)
        # NumPy is the common host format, so its arrays go to the default device.
        if device is None and type(obj) is np.ndarray:
            where = default or selection.current()
        if type(obj) is np.ndarray:
            host_access.tell("asarray", where, to_host=False)
        else:
            host_access.tell_move(owner, where)
        return _finished(native, target_dtype, where, copy=copy, narrow=narrow)
    arrays = values.arrays_in(obj) if isinstance(obj, (list, tuple)) else []
    home = values.home_of(arrays) if device is None else None
    where = selection.resolve(default if device is None else device) if home is None else home
    if any(map(values.is_traced, arrays)):  # their values are not known yet
        joined = values.stacked(obj, target_dtype, values.home_of(arrays))
        return _finished(joined, target_dtype, where, copy=None, narrow=narrow)
    if not isinstance(obj, np.ndarray) and producers.is_producer(obj):
        if target_dtype is None:
            return producers.imported(obj, where, copy=copy, narrow=narrow)
        taken = producers.imported(obj, where, copy=False if copy is False else None, narrow=narrow)
        return _finished(taken, target_dtype, where, copy=copy, narrow=narrow)
    producers.refuse_capsule(obj, "asarray")
    host_access.tell("asarray", where, to_host=False)
    return values.from_python(obj, target_dtype, where, copy=copy, narrow=narrow)


def _shares(values: np.ndarray[Any, Any], device: Device) -> bool:
    """Return whether a NumPy array becomes a device's array as it is, in host memory."""
    try:
        return device._creation[np.ndarray, values.dtype] is not None
    except (AttributeError, KeyError):
        table = dispatch.dtypes_of(device).get(values.dtype)
    if table is None or table.dtype.num != values.dtype.num:  # see native_arrays.canonical_values
        return False
    if device._backend.dlpack_device_of(device.native) != routes.HOST:
        return False
    dispatch.cache_creation(table, (np.ndarray, values.dtype), table)
    return True


def beside(value: Any, x: Array, name: str) -> Any:
    """Return a list or NumPy array as an array on the device of x, anything else unchanged.

    Raises
    ------
    TypeError
        For NumPy arrays, if the device's memory is not host memory.
    HostAccessError
        For NumPy arrays, while ``config.host_access`` is ``"error"``.
    """
    if isinstance(value, np.ndarray):
        device = x.device
        host_access.refuse_if_set(name, device, to_host=False)
        if not device._backend.on_host(device.native):
            raise TypeError(
                f"{name}: an operand is a NumPy array in host memory, and another is on {device}\n"
                f"Hint: move it there: pa.asarray(values, device={str(device)!r})"
            )
        return asarray(value, device=device)
    if not isinstance(value, (list, tuple)):
        return value
    result = asarray(value, device=x.device)
    if result.dtype.name in ("float32", "complex64") and x.dtype.name in ("float64", "complex128"):
        # The device's default dtype would round Python's numbers.
        return asarray(value, dtype=dtypes.promote(result.dtype, DOUBLE), device=x.device)
    return result


def operand(value: Any, x: Array, name: str) -> Any:
    """Return an operand of ``x op value`` as NumPy's function of that operator takes it.

    NumPy arrays go to the device of x, see :func:`beside`; 0-d ones count as numbers.
    """
    if not isinstance(value, np.ndarray):
        return value
    return beside(value, x, name) if value.ndim else value[()]


def from_host(
    values: np.ndarray[Any, Any],
    device: Device,
    *,
    narrow: bool = False,
    take_ownership: bool = False,
) -> Array:
    """Return an array of host values in one of portarray's own dtypes.

    A faster :func:`asarray` for files and pickles with thousands of arrays. With
    ``take_ownership``, the caller gives up the memory.
    """
    table = dispatch.dtypes_of(device).get(values.dtype)
    if table is None or values.dtype.num != table.dtype.num:  # see native_arrays.canonical_values
        return asarray(values, device=device, narrow=narrow)
    try:
        if take_ownership:
            native = device._backend.from_owned_host(values, device.native)
        else:
            native = device._backend.from_host(values, device.native, copy=None)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "moving", device, nbytes=values.nbytes)
    return results.wrapped(native, table)


def astype(
    x: Any,
    dtype: object,
    /,
    *,
    copy: bool = True,
    device: object = None,
    access_reported: bool = False,
) -> Array:
    """See :func:`portarray.astype`; ``access_reported`` says that listeners know of the move."""
    if type(x) is not base.array_type:
        raise operands.refused(x, "astype", scalars=False)
    table = x._dispatch
    if device is None:
        try:
            function, target = table.casts[dtype]
        except (KeyError, TypeError):  # a dtype may be written as a list
            pass
        else:
            return x if target is table and not copy else _cast(x, function, target)
    target_dtype = dtypes.canonical(dtype)
    where = table.device if device is None else selection.resolve(device)
    if device is not None and not access_reported:
        host_access.tell_move(x.device, where)
    if where is table.device._home:
        where = table.device
    if target_dtype == table.dtype:
        if copy and where is table.device is table.device._home:
            return _cast(x, _cache_cast(table, table, dtype), table)
        return array_moves.moved(x, where, copy=True if copy else None)
    if table.kind == "c" and dtypes.kind_of(target_dtype) not in "bc":
        raise values.loses_imaginary_part(table.dtype, target_dtype)
    target = dispatch.table_of(where, target_dtype)
    if where is table.device:
        return _cast(x, _cache_cast(table, target, dtype), target)
    try:
        # Convert on the device that has both dtypes.
        if target_dtype in dispatch.dtypes_of(table.device):
            cast = dispatch.table_of(table.device, target_dtype).cast
            if table.kind == "f" and target.kind in "iu":
                # Libraries differ in how they convert out-of-range values.
                native = routes.move(
                    cast(x._native), table.device, where, copy=None, exclusive=True
                )
            else:
                native = routes.convert(x._native, table.device, where, target_dtype, cast)
            return results.wrapped(native, target)
        if table.dtype in dispatch.dtypes_of(where):
            return results.wrapped(
                target.cast(array_moves.moved(x, where, copy=None)._native), target
            )
        # Neither device has both, for example float64 on NumPy to bfloat16 where float64 is
        # missing.
        with np.errstate(all="ignore"):
            host_values = table.device._backend.read_host(x._native, table.device.native).astype(
                target_dtype
            )
        return from_host(host_values, where, take_ownership=True)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "astype", where, table.device, nbytes=x.size * target_dtype.itemsize)


def _cache_cast(table: DispatchTable, target: DispatchTable, dtype: object) -> dispatch.Function:
    """Return the function that converts arrays of a table, or copies them, and cache it."""
    device = table.device
    function = (
        dispatch.caster(table, target)
        if target is not table
        else lambda x: device._backend.move(x, device.native, copy=True)
    )
    if table.known_type is not None and isinstance(dtype, Hashable):
        table.casts[dtype] = (function, target)
    return function


def _cast(x: Array, function: dispatch.Function, target: DispatchTable) -> Array:
    try:
        native = function(x._native)
        if type(native) is not target.known_type:
            return results.wrapped(native, target)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "astype", target.device, nbytes=x.size * target.dtype.itemsize)
    out = base.new_uninitialized()
    out._native = native
    out._dispatch = target
    return out


def _finished(
    x: Array, dtype: DType | None, device: Device, *, copy: bool | None, narrow: bool
) -> Array:
    """Convert and move an array where asked."""
    if dtype is None or dtype == x.dtype:
        return array_moves.moved(x, device, copy=copy, narrow=narrow)
    if copy is False:
        raise native_arrays.needs_copy(x.dtype, dtype)
    return astype(x, dtype, device=device, access_reported=True)
