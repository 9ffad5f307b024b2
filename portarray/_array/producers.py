"""DLPack import: from any producer to an array on a device.

Native arrays of a backend are moved by that backend. All other producers are asked for a capsule,
once.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from portarray import _dlpack as dlpack
from portarray._array import base, host_access, native_arrays, results, values
from portarray._devices import discovery, selection
from portarray._movement import array_moves, routes

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

__all__ = ["from_dlpack", "imported", "is_producer", "refuse_capsule"]

_CUDA, _CUDA_MANAGED = 2, 13  # DLPack's kDLCUDA and kDLCUDAManaged


def from_dlpack(
    x: Any,
    /,
    *,
    device: object = None,
    copy: bool | None = None,
    narrow: bool = False,
    default: Device | None = None,
) -> Array:
    """See :func:`portarray.from_dlpack`; ``default`` is used instead of the default device."""
    copy = copy if copy is None else native_arrays.copy_flag(copy)
    if isinstance(x, base.array_type):
        where = x.device if device is None else selection.resolve(device)
        host_access.tell_move(x.device, where)
        return array_moves.moved(x, where, copy=copy, narrow=narrow)
    owner = native_arrays.device_of(x)
    if owner is not None:
        where = owner if device is None else selection.resolve(device)
        if device is None and type(x) is np.ndarray and default is not None and copy is not False:
            # As of other libraries' host memory: a device that reads it, preferably the default.
            where = default if default._backend.on_host(default.native) else owner
        host_access.tell_move(owner, where)
        taken = native_arrays.from_native(x, owner, copy=copy)
        return array_moves.moved(taken, where, copy=copy, narrow=narrow)
    if not is_producer(x):
        refuse_capsule(x, "from_dlpack")
        raise TypeError(
            f"from_dlpack: expected an object with __dlpack__ and __dlpack_device__, got "
            f"{type(x).__name__}\nHint: use pa.asarray"
        )
    target = None if device is None else selection.resolve(device)
    with default or nullcontext():
        return imported(x, target, copy=copy, narrow=narrow)


def is_producer(obj: object) -> bool:
    """Return whether an object supports DLPack export."""
    return hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__")


def refuse_capsule(obj: object, name: str) -> None:
    """Raise for a raw capsule."""
    if type(obj).__name__ == "PyCapsule":
        raise TypeError(
            f"{name}: raw capsules (PyCapsule) are not accepted, because a capsule serves one "
            f"consumer "
            f"and cannot synchronize its data\nHint: pass the object that made the capsule"
        )


def imported(x: Any, device: Device | None, *, copy: bool | None, narrow: bool = False) -> Array:
    """Import from a producer that belongs to no backend.

    Parameters
    ----------
    x : object
        With ``__dlpack__`` and ``__dlpack_device__``.
    device : Device or None
        Target; None is a device that reads the data in place, preferably the default device.
    copy : bool or None
        None shares memory if possible, True always copies, False raises if sharing is impossible.
    narrow : bool
        Whether to accept the nearest dtype if the device lacks x's.
    """
    dlpack_device = _place_of(x)
    if dlpack_device[0] in dlpack.HOST_KINDS:
        return _from_host(x, device, copy=copy, narrow=narrow)
    here = _driver_of(dlpack_device, device)
    if here is None:
        return _from_afar(x, dlpack_device, device, copy=copy, narrow=narrow)
    where = here if device is None else device
    # If the data moves on, the first import need not copy.
    taken = _taken(x, here, copy=copy if where is here else None)
    return array_moves.moved(taken, where, copy=copy, narrow=narrow) if where is not here else taken


def _place_of(x: Any) -> tuple[int, int]:
    """Return DLPack's device type and index of a producer, checked."""
    answer = x.__dlpack_device__()
    try:
        kind, index = map(int, answer)
    except (TypeError, ValueError):
        raise TypeError(
            f"from_dlpack: {type(x).__name__}.__dlpack_device__() returned {answer!r}; DLPack "
            f"requires a "
            f"device type and an index, such as (1, 0) for host memory"
        ) from None
    return kind, index


def _taken(x: Any, device: Device, *, copy: bool | None) -> Array:
    """Import a producer's data on a device whose library reads its memory."""
    try:
        native = device._backend.from_dlpack(x, device.native, copy=copy)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "from_dlpack", device)
    return results.wrap(native, device)


def _from_host(x: Any, device: Device | None, *, copy: bool | None, narrow: bool) -> Array:
    """Import from a producer in host memory."""
    where = device
    if where is None:
        current = selection.current()
        on_host = current._backend.dlpack_device_of(current.native) == routes.HOST
        where = current if on_host else selection.cpu_device()
    host_access.tell("from_dlpack", where, to_host=False)
    if not isinstance(x, np.ndarray):  # NumPy does not export some arrays
        said = type(x).__name__
        x = dlpack.take(x)
        if x.__dlpack_device__()[0] not in dlpack.HOST_KINDS:
            raise BufferError(
                f"from_dlpack: {said}.__dlpack_device__() reports host memory, but its capsule "
                f"reports "
                f"{_named(x.__dlpack_device__())}"
            )
        if x.dtype is None:
            raise TypeError(f"from_dlpack: {said} has elements of an unsupported DLPack type")
        # Raises for unsupported dtypes before the capsule is consumed.
        if native_arrays.table_for(x.dtype, where, narrow=narrow).dtype == x.dtype:
            return _taken(x, where, copy=copy)
        x = dlpack.host_values(x)
    owner = native_arrays.device_of(x)
    if owner is None:
        return values.from_python(x, None, where, copy=copy, narrow=narrow)
    taken = native_arrays.from_native(x, owner, copy=copy)
    return array_moves.moved(taken, where, copy=copy, narrow=narrow)


def _driver_of(dlpack_device: tuple[int, int], device: Device | None) -> Device | None:
    """Return a device whose library reads memory: the one asked for, the default, or the best."""
    first = [selection.current()] if device is None else [device]
    for candidate in (*first, *discovery.devices()):
        backend, native = candidate._backend, candidate.native
        driver_device = backend.dlpack_device_of(native)
        # Managed memory is readable like the GPU's other memory.
        same = driver_device == dlpack_device or (
            driver_device == (_CUDA, dlpack_device[1]) and dlpack_device[0] == _CUDA_MANAGED
        )
        if same and dlpack_device[0] in backend.readable_dlpack_types(native):
            return candidate
    return None


def _from_afar(
    x: Any,
    dlpack_device: tuple[int, int],
    device: Device | None,
    *,
    copy: bool | None,
    narrow: bool,
) -> Array:
    """Import through host memory from a device that no backend here drives."""
    if copy is False:
        raise ValueError(
            f"from_dlpack: copy=False, but the data is on {_named(dlpack_device)}, which no device "
            f"here "
            f"can read\nHint: pass copy=None or copy=True"
        )
    try:
        held = dlpack.take(x, to_host=True)
    except (BufferError, ValueError, NotImplementedError, RuntimeError) as error:
        _unreachable(x, dlpack_device, error)
    # The exported copy is not shared with anyone.
    return _from_host(held, device, copy=None, narrow=narrow)


def _unreachable(x: Any, dlpack_device: tuple[int, int], error: Exception) -> NoReturn:
    devices = ", ".join(map(str, discovery.devices()))
    raise BufferError(
        f"from_dlpack: the data of this {type(x).__name__} is on {_named(dlpack_device)}, which "
        f"none of "
        f"the devices here can read ({devices}), and it does not export a copy in host memory: "
        f"{type(error).__name__}: {error}\nHint: move it to the host with its own library first"
    ) from error


def _named(dlpack_device: tuple[int, int]) -> str:
    return f"DLPack device {dlpack_device} ({dlpack.kind_name(dlpack_device[0])})"
