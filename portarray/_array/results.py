"""What comes back from a library: native results become arrays, native errors portarray's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from portarray._array import base, dispatch
from portarray._devices import memory
from portarray.backends import sizes
from portarray.errors import DeviceNotFunctionalError, PortarrayError

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device

__all__ = ["countable", "reraise", "wrap", "wrapped"]

_asarray = np.asarray
_ndarray = np.ndarray


def wrap(native: Any, device: Device) -> Array:
    """Return a native array of a device as :class:`~portarray.Array`."""
    return wrapped(native, next(iter(dispatch.tables_of(device).values())))


def wrapped(native: Any, table: DispatchTable) -> Array:
    """Return a native array as :class:`~portarray.Array`; any table of its device will do."""
    if type(native) is not table.array_type:
        native = _as_array(native, table)
    out = base.new_uninitialized()
    out._native = native
    try:
        out._table = table if native.dtype is table.native else table.tables[native.dtype]
    except KeyError:
        if native.dtype in dispatch.tables_of(table.device):  # the user's settings have changed
            return wrapped(native, table)
        title = table.device._backend.info.title
        raise TypeError(
            f"{title} dtype {native.dtype} is no dtype of portarray; "
            f"convert the array with {title}'s own functions first"
        ) from None
    return out


def _as_array(native: Any, table: DispatchTable) -> Any:
    """Make an array of what a library returns in an array's place (NumPy's scalars, subclasses)."""
    if table.array_type is _ndarray:
        return _asarray(native)
    device = table.device
    if device._backend.owns(native):
        return native
    if isinstance(native, (np.generic, np.ndarray)):
        return device._backend.from_host(np.asarray(native), device.native, copy=None)
    raise TypeError(f"{device.library} returned {type(native).__name__} where an array was due")


def countable(shape: tuple[int, ...], table: DispatchTable, name: str) -> None:
    """Refuse a shape whose bytes 64 bits cannot count, before a library sees it.

    Some end the process there, or return an array without elements.
    """
    try:
        sizes.counted(shape, table.dtype.itemsize)
    except sizes.TooLargeError as error:
        reraise(error, name, table.device)


def reraise(error: Exception, name: str, *devices: Device, asked: int | None = None) -> NoReturn:
    """Raise what the user sees in a library's error's place; the native one stays as the cause.

    ``devices`` are those that took part, the one that was to have the result first. ``asked`` are
    the bytes of what was to be made, where they are known: not every library says them when there
    is no memory.
    """
    translated = _translated(error, name, devices, asked)
    try:
        if translated is error:
            raise error
        raise translated from error
    finally:
        # This frame is in the traceback: what it holds, the error among it, would live until the
        # garbage collector comes by, and with it all that the caller's frames hold.
        del error, translated


def _translated(
    error: Exception, name: str, devices: tuple[Device, ...], asked: int | None
) -> Exception:
    """Return the error that the user sees in a library's error's place."""
    if isinstance(error, PortarrayError):
        return error
    short = memory.out_of_memory(error, *devices, asked=asked)
    if short is not None:
        return short
    for device in devices:
        better = device._backend.translate_error(error)
        if better is not None:
            return better
    if isinstance(error, (TypeError, ValueError, IndexError, ArithmeticError, KeyError)):
        return error
    for device in devices:
        gone = _why_gone(device)
        if gone:
            return DeviceNotFunctionalError(str(device), {str(device): gone})
    if any(device._backend.is_device_failure(error) for device in devices):
        return error
    # Libraries raise RuntimeError (and their own classes) for wrong shapes and values; users of
    # every other library expect ValueError there.
    if isinstance(error, RuntimeError) and not isinstance(
        error, (NotImplementedError, RecursionError)
    ):
        return ValueError(f"{name} on {devices[0]}: {error}")
    return error


def _why_gone(device: Device) -> str:
    """Return why a device that was there is there no longer; empty where it is."""
    number: int = device._backend.count(device.platform)
    if device.index < number:
        return ""
    there = "no device" if number == 0 else f"{number} device{'s' if number > 1 else ''}"
    title = device._backend.info.title
    return f"it was there before, and {title} sees {there} on {device.platform} now"
