"""Errors of OpenCL devices; :mod:`portarray.clarray.errors` publishes them."""

from __future__ import annotations

from collections.abc import Mapping


class OutOfMemoryError(MemoryError):
    """A device lacks the requested memory."""

    def __init__(
        self,
        message: str,
        *,
        requested: int | None = None,
        free: int | None = None,
        total: int | None = None,
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.free = free
        self.total = total


class DeviceNotFunctionalError(RuntimeError):
    """No OpenCL device, or not the requested one, can be used."""

    def __init__(self, message: str, reasons: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons = dict(reasons or {})


class DeviceLostError(DeviceNotFunctionalError):
    """A device stopped working: its driver reset or removed it.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> try:
    ...     total = cl.sum(cl.ones(4, dtype=cl.int32)).tolist()
    ... except cl.errors.DeviceLostError:
    ...     total = sum([1] * 4)  # on the host
    >>> total
    4
    >>> issubclass(cl.errors.DeviceLostError, cl.errors.DeviceNotFunctionalError)
    True
    """


class KernelError(RuntimeError):
    """A kernel could not be built or did not run.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> try:
    ...     cl.default_device().kernel("kernel void f(", "f", 0)
    ... except cl.errors.KernelError as error:
    ...     print(error.kernel, len(error.log) > 0)
    f True
    """

    def __init__(self, message: str, *, kernel: str = "", log: str = "") -> None:
        super().__init__(message)
        self.kernel = kernel
        self.log = log
