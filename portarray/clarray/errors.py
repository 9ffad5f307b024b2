"""clarray's errors.

::

    MemoryError
        OutOfMemoryError            requested, free, total
    RuntimeError
        DeviceNotFunctionalError    reasons
            DeviceLostError
        KernelError                 kernel, log
    TypeError
        DTypeNotSupportedError
"""

from portarray._opencl.errors import (
    DeviceLostError,
    DeviceNotFunctionalError,
    KernelError,
    OutOfMemoryError,
)

__all__ = ["DTypeNotSupportedError", "DeviceLostError", "DeviceNotFunctionalError", "KernelError"]
__all__ += ["OutOfMemoryError"]


class DTypeNotSupportedError(TypeError):
    """A dtype that clarray, or a device, does not support."""


for _error in (DeviceLostError, DeviceNotFunctionalError, KernelError, OutOfMemoryError):
    _error.__module__ = __name__  # where users import them from
