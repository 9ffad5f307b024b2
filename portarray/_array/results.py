"""Results of libraries: native arrays are wrapped, native errors translated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from portarray._array import base, dispatch, refusals
from portarray._devices import memory
from portarray.backends.common import sizes
from portarray.errors import DeviceNotFunctionalError, LinAlgError, PortarrayError

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device

__all__ = ["countable", "refusing_gradient", "reraise", "wrap", "wrapped", "wrapped_like"]

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
        out._dispatch = table if native.dtype is table.native else table.tables[native.dtype]
    except KeyError:
        if native.dtype in dispatch.tables_of(table.device):  # settings have changed
            return wrapped(native, table)
        title = table.device._backend.info.title
        raise TypeError(
            f"{title} dtype {native.dtype} is not supported\n"
            f"Hint: convert the array with {title}'s own functions first"
        ) from None
    return out


def refusing_gradient(x: Array, error: Exception) -> Array:
    """Return an array through which gradients of its library raise an error."""
    native = x._native
    guarded = x._dispatch.device._backend.refuse_gradient(native, error)
    return x if guarded is native else wrapped(guarded, x._dispatch)


def wrapped_like(natives: Sequence[Any], arrays: Sequence[Array]) -> list[Any]:
    """Return native arrays with the dtypes and devices of others as arrays; None as it is."""
    new = base.new_uninitialized
    arrays_out: list[Any] = []
    for x, native in zip(arrays, natives, strict=True):
        out = None
        if native is not None:
            out = new()
            out._native = native
            out._dispatch = x._dispatch
        arrays_out.append(out)
    return arrays_out


def _as_array(native: Any, table: DispatchTable) -> Any:
    """Wrap a result of another class than ``array_type`` (NumPy scalars, subclasses)."""
    if table.array_type is _ndarray:
        return _asarray(native)
    device = table.device
    if device._backend.owns(native):
        return native
    if isinstance(native, (np.generic, np.ndarray)):
        return device._backend.from_host(np.asarray(native), device.native, copy=None)
    raise TypeError(f"{device.library} returned {type(native).__name__} instead of an array")


def countable(shape: tuple[int, ...], table: DispatchTable, name: str) -> None:
    """Raise if the size in bytes of a shape overflows 64 bits.

    Some libraries abort the process, or return an empty array.
    """
    try:
        sizes.counted(shape, table.dtype.itemsize)
    except sizes.TooLargeError as error:
        reraise(error, name, table.device)


def reraise(
    error: Exception,
    name: str,
    *devices: Device,
    nbytes: int | None = None,
    call: tuple[Sequence[Any], dict[str, Any]] | None = None,
) -> NoReturn:
    """Raise a library's error translated; the native one is its ``__cause__``.

    ``devices`` are those involved, the result's first. ``nbytes`` is the size in bytes of the
    result, if known, for out-of-memory errors of libraries that do not report it. ``call`` has the
    native operands and the options of a function of the standard.
    """
    translated = _translated(error, name, devices, nbytes, call)
    try:
        if translated is error:
            raise error
        raise translated from error
    finally:
        # Break the reference cycle of error, traceback and this frame, which would keep the arrays
        # in the caller's frames alive until the next garbage collection.
        del error, translated, call


def _translated(
    error: Exception,
    name: str,
    devices: tuple[Device, ...],
    nbytes: int | None,
    call: tuple[Sequence[Any], dict[str, Any]] | None,
) -> Exception:
    """Return the translated error."""
    if isinstance(error, LinAlgError) and not error.device:
        return LinAlgError(name, error.reason, str(devices[0]))
    if isinstance(error, PortarrayError):
        return error
    wrong = None if call is None else refusals.fault(name, devices[0], *call)
    if wrong is not None:
        return wrong
    exhaustion = memory.out_of_memory(error, *devices, nbytes=nbytes)
    if exhaustion is not None:
        return exhaustion
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
    # Some libraries raise RuntimeError (or their own classes) for wrong shapes and values.
    if isinstance(error, RuntimeError) and not isinstance(
        error, (NotImplementedError, RecursionError)
    ):
        return ValueError(f"{name} on {devices[0]}: {error}")
    return error


def _why_gone(device: Device) -> str:
    """Return why a device that functioned no longer does, or an empty string."""
    count: int = device._backend.count(device.platform)
    if device.index < count:
        return ""
    there = "no device" if count == 0 else f"{count} device{'s' if count > 1 else ''}"
    title = device._backend.info.title
    return f"it was there before, but {title} sees {there} on {device.platform} now"
