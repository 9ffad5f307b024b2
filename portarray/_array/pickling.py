"""Pickling and deep copies of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from portarray._array import conversion, dispatch, dtypes, host_access, results, slow_path
from portarray._config import config
from portarray._devices import notices, selection
from portarray.errors import (
    DeviceNotFunctionalError,
    DTypeNotSupportedError,
    OutOfMemoryError,
    UnknownDeviceError,
)

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

__all__ = ["ELSEWHERE", "MAKE_ROOM", "deep_copy", "reduce", "restored", "restored_behind"]

ELSEWHERE: list[Callable[[Array, str], None]] = []
"""Called with an array that was pickled on a device that is not here, and that device's text."""

MAKE_ROOM: list[Callable[[OutOfMemoryError], bool]] = []
"""Asked to free memory of a device where an array does not fit; they return whether they did."""


def reduce(x: Array, protocol: SupportsIndex) -> tuple[Any, ...]:
    """Return ``__reduce_ex__``'s tuple: the values in host memory, dtype and device by name.

    From protocol 5 on NumPy pickles the values out of band if the pickler has a buffer callback; in
    host memory that buffer is a zero-copy view.
    """
    host_access.tell("pickle", x.device)
    # Before protocol 5 NumPy pickles a copy (bytes), made at once.
    values = slow_path.host_view(x) if operator.index(protocol) >= 5 else slow_path.read(x)
    one_block = values.flags.c_contiguous or values.flags.f_contiguous
    if not one_block and operator.index(protocol) >= 5:
        try:
            values = values.copy()  # only contiguous arrays are pickled out of band
        except MemoryError as error:
            results.reraise(error, "pickling", x._dispatch.device)
    if x._dispatch.dtype.kind == "V":
        values = values.view(np.uint16)  # bfloat16 has no buffer format
    return restored, (values, dtypes.name_of(x._dispatch.dtype), str(x._dispatch.device))


def deep_copy(x: Array, memo: dict[int, Any]) -> Array:
    """Return a copy on the same device; arrays that share a native array share its copy."""
    native = x._native
    known_copy = memo.get(id(native))
    if known_copy is not None:
        return results.wrap(known_copy, x._dispatch.device)
    new = x.copy()
    memo[id(native)] = new._native
    memo.setdefault(id(memo), []).append(native)  # keep alive, as the copy module does
    return new


def restored(values: np.ndarray[Any, Any], dtype: str, device: str) -> Array:
    """Return an unpickled array on its original device, or on ``config.unpickle_device``.

    Arrays in host memory share the unpickler's buffers, as NumPy's do.
    """
    # joblib passes memory-mapped arrays, a subclass of ndarray.
    values = np.asarray(values)
    numpy_dtype = dtypes.canonical(dtype)
    try:
        if not values.dtype.isnative:  # pickled on a machine of other byte order
            values = values.astype(values.dtype.newbyteorder("="))
        values = values.view(numpy_dtype)
        if not values.flags.aligned:  # out-of-band buffers may be unaligned
            values = values.copy()
    except MemoryError as error:
        results.reraise(error, "unpickling")
    home = _home_of_pickle(device, numpy_dtype)
    host_access.tell("unpickle", home, to_host=False)
    while True:
        try:
            result = conversion.from_host(values, home)
            break
        except OutOfMemoryError as error:
            if not any(made_room(error) for made_room in MAKE_ROOM):
                raise
    if str(home) != device:
        for tell in ELSEWHERE:
            tell(result, device)
    return result


def restored_behind(_: Any, values: np.ndarray[Any, Any], dtype: str, device: str) -> Array:
    """Return an array whose values are not the first buffer: for ``portarray.dask``."""
    return restored(values, dtype, device)


def _home_of_pickle(text: str, dtype: np.dtype[Any]) -> Device:
    """Return the device that an array was pickled on, or ``config.unpickle_device``."""
    try:
        home = selection.device(text)
    except DeviceNotFunctionalError as error:
        return _fallback(text, error.reasons, error)
    except UnknownDeviceError as error:  # the plugin is not installed
        return _fallback(text, {text: error.rule}, error)
    available = dispatch.dtypes_of(home)
    if dtype in available:
        return home
    # Different hardware under the same name, or other settings of the library.
    lacking = dtypes.missing(dtype, home, set(available))
    return _fallback(text, {text: str(lacking)}, lacking)


def _fallback(text: str, reasons: Mapping[str, str], error: Exception) -> Device:
    """Return ``config.unpickle_device``, with a warning that says why."""
    fallback = config.unpickle_device
    if fallback is None:
        if isinstance(error, DTypeNotSupportedError):
            raise error
        raise DeviceNotFunctionalError(
            text,
            reasons,
            "The array was pickled there: unpickle it where that device works, or choose another: "
            "pa.config(unpickle_device='cpu')",
        ) from error
    taken = selection.device(fallback)
    why = "; ".join(
        reason if candidate == text else f"{candidate}: {reason}"
        for candidate, reason in reasons.items()
    )
    notices.warn(
        f"an array pickled on {text!r} is loaded to {taken}, as config.unpickle_device says: {why}"
    )
    return taken
