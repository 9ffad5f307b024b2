"""clarray's errors.

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


class OutOfMemoryError(MemoryError):
    """A device lacks the memory that was asked for."""

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
    """No OpenCL device, or not the one asked for, can be used."""

    def __init__(self, message: str, reasons: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons = dict(reasons or {})


class DeviceLostError(DeviceNotFunctionalError):
    """A device that worked stopped working: its driver reset or removed it."""


class KernelError(RuntimeError):
    """A kernel could not be built or did not run."""

    def __init__(self, message: str, *, kernel: str = "", log: str = "") -> None:
        super().__init__(message)
        self.kernel = kernel
        self.log = log


class DTypeNotSupportedError(TypeError):
    """A dtype that clarray, or a device, does not support."""
