"""Arrays in and out: host memory and DLPack.

JAX's arrays never change, and other libraries' memory does. Memory that others may write is
therefore shared only where that is asked for (``copy=False``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.jax import devices, tracing

__all__ = [
    "dlpack_device",
    "from_dlpack",
    "from_host",
    "move",
    "on_host",
    "peek",
    "to_dlpack",
    "to_host",
    "why_copied_in",
]

_DLPACK_CPU = 1

# JAX's own types call the results anything.
_put: Callable[[Any, jax.Device], jax.Array] = jax.device_put


def on_host(device: jax.Device) -> bool:
    """Tell whether a device's memory is host memory."""
    return bool(device.platform == "cpu")


def from_host(
    array: np.ndarray[Any, Any],
    device: jax.Device,
    *,
    copy: bool | None,
    non_blocking: bool = False,
) -> jax.Array:
    """Make an array on a device from a NumPy array.

    Parameters
    ----------
    array : numpy.ndarray
        Of a dtype that the device has.
    device : jax.Device
        Where to.
    copy : bool or None
        None and True copy: a later write into the NumPy array would change a JAX array that shares
        its memory, and whatever was computed lazily from it. False shares, which XLA does with
        C-contiguous memory at addresses divisible by 64, and leaves that to the caller.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory cannot be shared.
    """
    if copy is False:
        return _over(array, device)
    if on_host(device):
        # A private copy, which XLA may then take over without another.
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
        with devices.at_once():
            return _put(array, device)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    with devices.at_once():
        # Until the transfer is done it reads the caller's memory.
        return _put(array, device).block_until_ready()


def why_copied_in(array: np.ndarray[Any, Any], device: jax.Device) -> str:
    """Return why JAX copies NumPy's memory unless it is told not to."""
    if not on_host(device):
        return f"{device} has memory of its own"
    return "JAX's arrays never change, and the memory may; copy=False shares it where XLA can"


def _over(array: np.ndarray[Any, Any], device: jax.Device) -> jax.Array:
    """Return an array over NumPy's memory, which nobody may write from then on."""
    obstacle = ""
    if not on_host(device):
        obstacle = f"{device} does not use host memory"
    elif not array.dtype.isnative:
        obstacle = f"JAX has no byte order {array.dtype.byteorder!r}"
    elif not array.flags.c_contiguous:
        obstacle = "the array is not C-contiguous"
    if not obstacle:
        with devices.at_once():
            x = _put(array, device)
        if array.size == 0 or np.shares_memory(to_host(x, copy=None), array):
            return x
        obstacle = f"XLA shares memory at addresses divisible by 64, not at {array.ctypes.data:#x}"
    raise ValueError(f"copy=False, but {obstacle}; pass copy=None or copy=True")


def to_host(x: jax.Array, *, copy: bool | None) -> np.ndarray[Any, Any]:
    """Return an array as NumPy array: read-only, for JAX's arrays never change, unless copied.

    Raises
    ------
    ValueError
        If ``copy=False`` and the device has memory of its own.
    TypeError
        If the values are not known while JAX traces a function.
    """
    if tracing.is_traced(x):
        with tracing.values_needed():
            return np.asarray(x)
    if copy is False and not _in_host_memory(x):
        raise ValueError(
            f"copy=False, but {x.device} has memory of its own, which NumPy cannot read; "
            f"pass copy=None or copy=True"
        )
    return np.array(x, copy=True) if copy else np.asarray(x)


def _in_host_memory(x: jax.Array) -> bool:
    return all(map(on_host, x.devices()))


class _Unknown:
    """An element that has no value yet."""

    def __repr__(self) -> str:
        return "?"


def peek(x: jax.Array) -> np.ndarray[Any, Any]:
    """Return values for printing; question marks where JAX traces a function."""
    if tracing.is_traced(x):
        return np.full(x.shape, _Unknown(), dtype=object)
    return to_host(x, copy=None)


def move(
    x: jax.Array, device: jax.Device, *, copy: bool | None, non_blocking: bool = False
) -> jax.Array:
    """Return an array on another device.

    Raises
    ------
    ValueError
        If ``copy=False`` and the data must move.
    """
    if tracing.is_traced(x):
        return _put(x, device)
    if x.devices() == {device}:
        return jnp.array(x, copy=True) if copy else x
    if copy is False:
        raise ValueError(
            f"copy=False, but moving an array from {x.device} to {device} copies it; "
            f"pass copy=None or copy=True"
        )
    return _put(x, device)


def from_dlpack(x: Any, device: jax.Device | None, *, copy: bool | None) -> jax.Array:
    """Make an array on a device from an object with ``__dlpack__``.

    Parameters
    ----------
    x : object
        With ``__dlpack__`` and ``__dlpack_device__``.
    device : jax.Device or None
        Where to; None is where the data is.
    copy : bool or None
        None and True copy, False shares; as in :func:`from_host`.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory cannot be shared.
    TypeError
        For 64-bit numbers while the user's setting excludes them.
    """
    if isinstance(x, jax.Array):
        return move(x, _only_device(x) if device is None else device, copy=copy)
    if isinstance(x, np.ndarray):
        # NumPy exports no read-only array and no bfloat16; its own way in handles both.
        return from_host(x, _cpu() if device is None else device, copy=copy)
    try:
        # Elsewhere JAX narrows 64-bit numbers while the user's setting is off, and only warns.
        with jax.enable_x64(True), devices.at_once():
            found = jnp.from_dlpack(x)
    except jax.errors.JaxRuntimeError as error:
        # XLA takes compact memory only.
        if copy is False:
            raise ValueError(
                f"copy=False, but XLA cannot use the memory as it is ({error}); pass copy=None"
            ) from error
        values = np.from_dlpack(x)
        _refuse_missing(values.dtype)
        return from_host(values, _cpu() if device is None else device, copy=True)
    _refuse_missing(found.dtype)
    if copy is False:
        if device is not None and found.devices() != {device}:
            raise ValueError(
                f"copy=False, but the data lies on {found.device} and not on {device}; "
                f"pass copy=None or copy=True"
            )
        return found
    here = _only_device(found)
    with devices.at_once():
        if device is None or device == here:
            return jnp.array(found, copy=True).block_until_ready()
        return _put(found, device).block_until_ready()


def _refuse_missing(dtype: np.dtype[Any]) -> None:
    if dtype not in devices.dtypes("cpu", 0):
        raise TypeError(
            f"JAX has no {dtype} now; 64-bit numbers exist where the user enables them: "
            f"JAX_ENABLE_X64=1, or jax.config.update('jax_enable_x64', True). Nothing is narrowed "
            f"in silence: convert the data to 32 bits before handing it over"
        )


def _cpu() -> jax.Device:
    return jax.local_devices(backend="cpu")[0]


def _only_device(x: jax.Array) -> jax.Device:
    (device,) = x.devices()
    return device


def to_dlpack(
    x: Any,
    *,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a DLPack capsule of an array.

    JAX's capsules cannot say that the memory is read-only. NumPy takes it so; other consumers must
    not write into it, as JAX's own documentation demands.

    Raises
    ------
    BufferError
        If ``copy=False`` and the data must move, or the device asked for is neither the array's own
        nor the CPU.
    TypeError
        If the values are not known while JAX traces a function.
    """
    own = dlpack_device(x)
    source = x
    if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != own:
        if int(dl_device[0]) != _DLPACK_CPU:
            raise BufferError(
                f"an array on {x.device} can be exported to its own DLPack device {own} and to "
                f"the CPU ({_DLPACK_CPU}, 0), not to {tuple(dl_device)}"
            )
        if copy is False:
            raise BufferError(f"copy=False, but the array on {x.device} must be moved first")
        source = _put(x, _cpu())
        stream = None
    elif copy is True:
        source = jnp.array(x, copy=True)
    # The room has done the moving and copying, so JAX is asked for the array as it is.
    # It refuses a version before 0.5, which its capsules serve like any other.
    version = max_version if max_version is not None and max_version >= (1, 0) else None
    return source.__dlpack__(stream=stream, max_version=version)


def dlpack_device(x: Any) -> tuple[int, int]:
    """Return DLPack's device type and index of an array."""
    if tracing.is_traced(x):
        with tracing.values_needed():
            x.__dlpack__()  # the other method is missing there
    kind, index = x.__dlpack_device__()
    return int(kind), int(index)
