"""Native functions that run with their device current."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portarray._devices.device import Device

__all__ = ["scoped"]

Function = Callable[..., Any]


def scoped(function: Function, device: Device) -> Function:
    """Wrap a function so that its device is current during the call, where a backend needs that."""
    backend, native = device._backend, device.native
    if backend.scope(native) is None:
        return function

    def called(*args: Any, **options: Any) -> Any:
        scope = backend.scope(native)
        assert scope is not None  # the backend had one when this wrapper was chosen
        with scope:
            return function(*args, **options)

    return called
