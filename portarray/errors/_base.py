"""The classes that all errors and warnings derive from."""

from __future__ import annotations

from typing import Any


class PortarrayError(Exception):
    """Base class of every error that portarray defines.

    Examples
    --------
    >>> import portarray as pa
    >>> try:
    ...     pa.device("numpy:cpu:7")
    ... except pa.PortarrayError as error:
    ...     print(type(error).__name__)
    DeviceNotFunctionalError
    """

    @property
    def hint(self) -> str:
        """What to type or do; empty if the message has no hint."""
        return str(self).partition("\nHint: ")[2]

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would pass the message to __init__, which takes the values.
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(
    cls: type[PortarrayError], args: tuple[Any, ...], state: dict[str, Any]
) -> PortarrayError:
    error = BaseException.__new__(cls, *args)  # MemoryError.__new__ refuses a second base class
    error.args = args
    error.__dict__.update(state)
    return error


def with_hint(problem: str, hint: str) -> str:
    return f"{problem}\nHint: {hint}" if hint else problem


class PortarrayWarning(UserWarning):
    """Base class of every warning that portarray issues.

    Examples
    --------
    >>> import warnings
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("opencl") as (device,), warnings.catch_warnings():
    ...     warnings.simplefilter("error", pa.PortarrayWarning)  # as pytest's filterwarnings does
    ...     pa.sort(pa.ones(2, device=device))
    Traceback (most recent call last):
        ...
    portarray.errors.HostFallbackWarning: sort: runs on the host, because virtual:opencl:0 ...
    """
