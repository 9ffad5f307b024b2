"""Virtual devices, as options and marks name them: ``virtual``, ``virtual:cuda:1``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from functools import cache

from portarray._devices import selection
from portarray._devices.device import Device, DeviceText, parse
from portarray.backends import registry
from portarray.testing.virtual import INFO
from portarray.testing.virtual.blocks import virtual_devices
from portarray.testing.virtual.traits import presets as platforms

__all__ = ["LIBRARY", "devices", "parsed", "presets"]

LIBRARY = INFO.library


def presets() -> list[str]:
    """Return the texts of all virtual devices, one for each platform."""
    return [f"{LIBRARY}:{platform}" for platform in platforms()]


@cache  # called for each mark of each test
def parsed(text: str) -> DeviceText:
    """Return the parts of a device's text; virtual devices need not exist yet.

    Raises
    ------
    UnknownDeviceError
        If the text names an unknown device.
    """
    if text.partition(":")[0] != LIBRARY or registry.find_info(LIBRARY) is not None:
        return parse(text)
    with virtual_devices(*platforms()):  # registers the backend
        return parse(text)


def devices(requests: Iterable[str], stack: ExitStack) -> list[Device]:
    """Return virtual devices; new ones last until the stack is closed."""
    unique: dict[Device, None] = {}
    for text in requests:
        _, platform, index = parsed(text)
        for name in platforms() if platform is None else (platform,):
            text_of_device = f"{LIBRARY}:{name}:{index or 0}"
            while registry.find_info(LIBRARY) is None or not selection.functional(text_of_device):
                stack.enter_context(virtual_devices(name))
            unique[selection.device(text_of_device)] = None
    return list(unique)
