"""What can go wrong in clarray.

::

    MemoryError
        OutOfMemoryError            asked, free, total
    RuntimeError
        DeviceNotFunctionalError    reasons
            DeviceLostError
        KernelError                 kernel, log
    TypeError
        DTypeNotSupportedError
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "DTypeNotSupportedError",
    "DeviceLostError",
    "DeviceNotFunctionalError",
    "KernelError",
    "OutOfMemoryError",
]


class OutOfMemoryError(MemoryError):
    """A device has not the memory that was asked for.

    Parameters
    ----------
    message : str
        What was asked, what there is, and what to do.
    asked, free, total : int or None
        Bytes asked for, unused, and on the device in all; None where unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        asked: int | None = None,
        free: int | None = None,
        total: int | None = None,
    ) -> None:
        super().__init__(message)
        self.asked = asked
        self.free = free
        self.total = total


class DeviceNotFunctionalError(RuntimeError):
    """No OpenCL device can be used, or not the one asked for.

    Parameters
    ----------
    message : str
        What was asked, and why each candidate cannot be used.
    reasons : mapping of str to str
        Device or platform name to the reason.
    """

    def __init__(self, message: str, reasons: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons = dict(reasons or {})


class DeviceLostError(DeviceNotFunctionalError):
    """A device that worked before does no more: its driver reset it or took it away."""


class KernelError(RuntimeError):
    """A kernel could not be built or did not run.

    Parameters
    ----------
    message : str
        The kernel's name, the device and what the driver said.
    kernel : str
        The kernel's or program's name.
    log : str
        The driver's build log; empty where it built.
    """

    def __init__(self, message: str, *, kernel: str = "", log: str = "") -> None:
        super().__init__(message)
        self.kernel = kernel
        self.log = log


class DTypeNotSupportedError(TypeError):
    """A dtype that is none of the standard's, or that a device does not have."""
