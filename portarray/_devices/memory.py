"""Memory figures, memory reclaim, synchronization and out-of-memory errors."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from portarray import _host_memory
from portarray._devices import discovery, selection
from portarray._devices.device import Device
from portarray.backends.common import sizes
from portarray.backends.types import MemoryFigures
from portarray.errors import OutOfMemoryError

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["MemoryFigures", "clear_frames", "memory", "out_of_memory", "reclaim", "synchronize"]


def memory(device: DeviceLike | None = None) -> MemoryFigures:
    """Return the memory figures of a device.

    Parameters
    ----------
    device : device-like, optional
        As for :func:`portarray.device`; the default device.

    Returns
    -------
    MemoryFigures
        ``total``, ``free``, ``used`` (by arrays of this library in this process) and ``pooled``
        (held by the library beyond that), in bytes; None where the library cannot say. Where a
        device computes in the machine's memory, ``total`` and ``free`` are the machine's, or what
        the limits of a container or process leave of it.

    Raises
    ------
    UnknownDeviceError, DeviceNotFunctionalError
        If the text does not name a device, or one that cannot be used here.

    See Also
    --------
    reclaim : Gives pooled memory back.
    device : Takes ``memory=``, the bytes that must be free.

    Notes
    -----
    ``used`` and ``pooled`` are None for NumPy, PyTorch and dpnp on CPUs, which keep no account.
    JAX pools nothing on CPUs. MLX counts all its devices as one.

    Examples
    --------
    >>> import portarray as pa
    >>> figures = pa.memory("numpy")
    >>> figures.used is None  # NumPy keeps no account
    True
    >>> f"{figures.free / 2**30:.1f} GiB are free"  # doctest: +SKIP
    '11.4 GiB are free'
    """
    where = selection.resolve(device)
    with _current(where):
        return where._backend.memory(where.native)


def reclaim(device: DeviceLike | None = None) -> None:
    """Release unused memory.

    Frees the libraries' memory pools, JAX's compiled programs and, for devices in host memory,
    freed memory that the C library caches. Arrays are not touched.

    Parameters
    ----------
    device : device-like, optional
        As for :func:`portarray.device`; every device used so far.

    Raises
    ------
    UnknownDeviceError, DeviceNotFunctionalError
        If the text does not name a device, or one that cannot be used here.

    Notes
    -----
    The C library's cache is released on Linux with glibc and on macOS. Later calls allocate and
    compile again, so use this when memory is short, not in every step.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.reclaim("numpy")
    """
    meant = _meant(device)
    for where in meant:
        with _current(where):
            where._backend.reclaim(where.native)
    if any(map(_on_host, meant)):
        _host_memory.trim()


def synchronize(device: DeviceLike | None = None) -> None:
    """Wait until all work queued on a device is done.

    Reading a result waits automatically; timing needs this. Returns at once on synchronous devices.

    Parameters
    ----------
    device : device-like, optional
        As for :func:`portarray.device`; every device used so far.

    Raises
    ------
    OutOfMemoryError
        If earlier work ran out of memory and the library reports it late.
    UnknownDeviceError, DeviceNotFunctionalError
        If the text does not name a device, or one that cannot be used here.

    Notes
    -----
    MLX is lazy: this does not start computations that nothing has read yet. Read them, or call
    ``mlx.core.eval(x.native)``.

    Examples
    --------
    >>> import time
    >>> import portarray as pa
    >>> x = pa.ones((100, 100), device="numpy")
    >>> begin = time.perf_counter()
    >>> y = x @ x
    >>> pa.synchronize(x.device)
    >>> seconds = time.perf_counter() - begin
    """
    for where in _meant(device):
        try:
            with _current(where):
                where._backend.synchronize(where.native)
        except Exception as error:
            exhaustion = out_of_memory(error, where)
            if exhaustion is None:
                raise
            try:
                raise exhaustion from error
            finally:
                del exhaustion  # else this frame and the error form a reference cycle


def out_of_memory(
    error: BaseException, *devices: Device, nbytes: int | None = None
) -> OutOfMemoryError | None:
    """Return the error to raise where a call ran out of memory; None where it did not.

    Intermediate arrays in the frames of the error's traceback are released, so that they do not
    stay allocated while the error is handled.

    Parameters
    ----------
    error : BaseException
        The library's error.
    *devices : Device
        The devices involved, that of the result first.
    nbytes : int, optional
        Size of the result in bytes, if the library does not report that of the failed allocation.
    """
    exhausted = [device for device in devices if device._backend.is_out_of_memory(error)]
    if isinstance(error, sizes.TooLargeError):
        where = devices[0]
    elif isinstance(error, MemoryError):
        # Nearly always host memory, in a transfer to or from a device.
        accelerators = [device for device in exhausted if not _on_host(device)]
        where = (
            next(iter([*accelerators, *filter(_on_host, devices)]), None) or selection.cpu_device()
        )
    elif exhausted:
        where = exhausted[0]
    else:
        return None
    reported = where._backend.requested_bytes(error)  # may read variables of frames
    clear_frames(error)
    figures = memory(where)
    return OutOfMemoryError(
        str(where),
        requested=nbytes if reported is None else reported,
        free=figures.free,
        total=figures.total,
    )


def clear_frames(error: BaseException) -> None:
    """Clear the frames in the tracebacks of an error and of its causes.

    The traceback would keep their local arrays alive while the error is handled. An error that a
    caller was already handling, which is this one's ``__context__``, is left alone.
    """
    import traceback  # only errors need it

    # By id: a set of frames would form a reference cycle with this frame.
    running = {id(frame) for frame, _ in traceback.walk_stack(sys._getframe())}
    errors: list[BaseException] = []
    ahead: list[BaseException | None] = [error]
    while ahead:
        current = ahead.pop()
        if current is None or current in errors:
            continue
        trace = current.__traceback__
        # A traceback begins in the frame that handles its error. If that frame still runs, a caller
        # is handling it.
        if current is not error and trace is not None and id(trace.tb_frame) in running:
            continue
        errors.append(current)
        traceback.clear_frames(trace)
        ahead += [current.__cause__, current.__context__]


def _on_host(device: Device) -> bool:
    return device._backend.on_host(device.native)


def _meant(device: DeviceLike | None) -> list[Device]:
    return discovery.existing() if device is None else [selection.resolve(device)]


def _current(device: Device) -> AbstractContextManager[object]:
    """Return a context manager that makes a device current."""
    return device._backend.scope(device.native) or nullcontext()
