"""Memory of devices, and waiting for their work."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext

from portarray import _host_memory
from portarray._devices import discovery, selection
from portarray._devices.device import Device
from portarray.backends import sizes
from portarray.backends.types import MemoryFigures
from portarray.errors import OutOfMemoryError

__all__ = ["MemoryFigures", "let_go", "memory", "out_of_memory", "reclaim", "synchronize"]


def memory(device: object = None) -> MemoryFigures:
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
        If the text names no device, or one that cannot be used here.

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


def reclaim(device: object = None) -> None:
    """Give memory that no array lies in any more back to the device.

    That is what libraries hold in their pools, what JAX has compiled, and, where devices compute in
    the machine's memory, what the C library keeps of what was freed. Arrays are not touched.

    Parameters
    ----------
    device : device-like, optional
        As for :func:`portarray.device`; every device used so far.

    Raises
    ------
    UnknownDeviceError, DeviceNotFunctionalError
        If the text names no device, or one that cannot be used here.

    Notes
    -----
    What the C library keeps is given back on Linux with glibc, and on macOS. The next calls
    allocate anew, and JAX compiles anew: this is for when memory is short, and not for every step.

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


def synchronize(device: object = None) -> None:
    """Wait until all work given to a device is done.

    Reading a result waits by itself; timing needs this. Devices whose functions return when they
    are done return at once.

    Parameters
    ----------
    device : device-like, optional
        As for :func:`portarray.device`; every device used so far.

    Raises
    ------
    OutOfMemoryError
        If work that was started earlier found no memory, where the library tells so late.
    UnknownDeviceError, DeviceNotFunctionalError
        If the text names no device, or one that cannot be used here.

    Notes
    -----
    MLX computes what is read. What nobody asked for yet is not started by this: read it, or call
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
            short = out_of_memory(error, where)
            if short is None:
                raise
            try:
                raise short from error
            finally:
                del short  # else this frame and the error would hold each other


def out_of_memory(
    error: BaseException, *devices: Device, asked: int | None = None
) -> OutOfMemoryError | None:
    """Return the error to raise where a call ran out of memory; None where it did not.

    What the calls that failed had made so far is let go, although their frames hang on the error:
    it is gone while the error is still being handled.

    Parameters
    ----------
    error : BaseException
        A library's.
    *devices : Device
        Those that took part, the one that was to have the result first.
    asked : int, optional
        Bytes of what was to be made. What the library says of the allocation that failed goes
        before it.
    """
    known = [one for one in devices if one._backend.is_out_of_memory(error)]
    if isinstance(error, sizes.TooLargeError):
        where = devices[0]
    elif isinstance(error, MemoryError):
        # Nearly always the host's, where data is on its way to a device or from it.
        own = [one for one in known if not _on_host(one)]
        where = next(iter([*own, *filter(_on_host, devices)]), None) or selection.cpu_device()
    elif known:
        where = known[0]
    else:
        return None
    said = where._backend.requested_bytes(error)  # some of it stands in frames
    let_go(error)
    figures = memory(where)
    return OutOfMemoryError(
        str(where),
        asked=asked if said is None else said,
        free=figures.free,
        total=figures.total,
    )


def let_go(error: BaseException) -> None:
    """Let the frames that an error, and those that led to it, went through forget their variables.

    Whoever handles the error has its traceback, and would keep alive what those frames were about
    to return, such as copies on their way. An error that a caller was handling already when this
    one came, which Python keeps as its context, stays as it is: that is for the caller to look at.
    """
    import traceback  # late: only errors need it

    # By identity: a set of frames would hold this one, and this one the set.
    running = {id(frame) for frame, _ in traceback.walk_stack(sys._getframe())}
    found: list[BaseException] = []
    ahead: list[BaseException | None] = [error]
    while ahead:
        one = ahead.pop()
        if one is None or one in found:
            continue
        trace = one.__traceback__
        # A traceback begins in the frame that handles the error: of those that libraries handled
        # on the way it has returned.
        if one is not error and trace is not None and id(trace.tb_frame) in running:
            continue
        found.append(one)
        traceback.clear_frames(trace)
        ahead += [one.__cause__, one.__context__]


def _on_host(device: Device) -> bool:
    return device._backend.on_host(device.native)


def _meant(device: object) -> list[Device]:
    return discovery.made() if device is None else [selection.resolve(device)]


def _current(device: Device) -> AbstractContextManager[object]:
    """Return what makes a device current while its backend is asked."""
    return device._backend.scope(device.native) or nullcontext()
