"""The errors and warnings that portarray raises.

::

    PortarrayError
    ├── UnknownDeviceError (ValueError)              text that does not name a device
    ├── DeviceNotFunctionalError (RuntimeError)      a known device that does not work here
    ├── DeviceMismatchError (ValueError)             arrays on different devices in one call
    ├── DTypeNotSupportedError (TypeError)           a dtype the device does not support
    ├── PreferenceError (ValueError)                 a preference that cannot be read, met or saved
    ├── HostAccessError (TypeError)                  numpy.asarray(x) while config forbids it
    ├── HostFallbackError (RuntimeError)             a host fallback while config forbids it
    ├── KernelBuildError (RuntimeError)              a compiler rejected a kernel
    ├── KernelDebugError (RuntimeError)              an error in an interpreted kernel
    │   ├── KernelIndexError (IndexError)            an index out of bounds
    │   └── KernelZeroDivisionError (ZeroDivisionError)  integer division, in debug mode
    ├── KernelSyntaxError (SyntaxError)              unsupported syntax or types in a kernel
    ├── KernelVerificationError (AssertionError)     a device differs from the interpreter
    ├── LinAlgError (numpy.linalg.LinAlgError)       singular or indefinite matrices, ...
    ├── NoGradientError (TypeError)                  a function that cannot be differentiated
    ├── TaskCancelledError (RuntimeError)            a task that was not run
    ├── TracedArrayError (TypeError)                 an operation that cannot be traced
    ├── VerificationError (AssertionError)           a wrong result
    └── OutOfMemoryError (MemoryError)               has bytes requested, free and total

    PortarrayWarning (UserWarning)
    ├── HostAccessWarning                            numpy.asarray(x), where config warns of it
    ├── HostFallbackWarning                          a function runs on the host
    └── DeviceSelectionWarning                       a preference was not met

Every message reads ``<function>: <what is wrong, with the values>``, followed by a line
``Hint: <what to do>`` where there is a fix. Each class builds its message from values and keeps
them as attributes, which survive pickling: programs do not need to parse text.
"""

from portarray.errors._base import PortarrayError, PortarrayWarning
from portarray.errors._devices import (
    DeviceMismatchError,
    DeviceNotFunctionalError,
    DeviceSelectionWarning,
    DTypeNotSupportedError,
    HostAccessError,
    HostAccessWarning,
    HostFallbackError,
    HostFallbackWarning,
    OutOfMemoryError,
    PreferenceError,
    UnknownDeviceError,
)
from portarray.errors._functions import (
    LinAlgError,
    NoGradientError,
    TaskCancelledError,
    TracedArrayError,
    VerificationError,
)
from portarray.errors._kernels import (
    KernelBuildError,
    KernelDebugError,
    KernelIndexError,
    KernelProblem,
    KernelSyntaxError,
    KernelVerificationError,
    KernelZeroDivisionError,
)

__all__ = [
    "DTypeNotSupportedError",
    "DeviceMismatchError",
    "DeviceNotFunctionalError",
    "DeviceSelectionWarning",
    "HostAccessError",
    "HostAccessWarning",
    "HostFallbackError",
    "HostFallbackWarning",
    "KernelBuildError",
    "KernelDebugError",
    "KernelIndexError",
    "KernelProblem",
    "KernelSyntaxError",
    "KernelVerificationError",
    "KernelZeroDivisionError",
    "LinAlgError",
    "NoGradientError",
    "OutOfMemoryError",
    "PortarrayError",
    "PortarrayWarning",
    "PreferenceError",
    "TaskCancelledError",
    "TracedArrayError",
    "UnknownDeviceError",
    "VerificationError",
]

for _name in __all__:
    globals()[_name].__module__ = __name__  # where users import them from, and pickle looks
