"""Host fallbacks: warn once per device and function, or raise, as configured."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from portarray._array import host_access
from portarray._config import config
from portarray._devices import notices
from portarray._devices.device import Device
from portarray.errors import HostFallbackError, HostFallbackWarning

__all__ = ["forget_warnings", "reporting_fallback"]

Function = Callable[..., Any]

_warned: set[tuple[Device, str]] = set()


def forget_warnings(device: Device) -> None:
    """Let the warnings of a device's host functions be shown again."""
    _warned.difference_update([key for key in _warned if key[0] is device])


def reporting_fallback(function: Function, name: str, device: Device) -> Function:
    """Wrap a host fallback: warn once for each device, or raise, as configured."""

    def reporting(*args: Any, **options: Any) -> Any:
        if config.host_fallback == "error":
            raise HostFallbackError(name, str(device))
        host_access.tell("host fallback", device, name=name)
        if config.host_fallback == "warn" and (device, name) not in _warned:
            _warned.add((device, name))
            warnings.warn(
                f"{name}: runs on the host, because {device} does not have it\n"
                f"Hint: pa.config(host_fallback='allow') silences this, 'error' forbids it",
                HostFallbackWarning,
                stacklevel=notices.users_level(),
            )
        return function(*args, **options)

    return reporting
