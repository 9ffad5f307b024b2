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


@cache  # asked for each mark of each test
def parsed(text: str) -> DeviceText:
    """Return the parts of a device's text; virtual ones need not be there yet.

    Raises
    ------
    UnknownDeviceError
        If the text names nothing known.
    """
    if text.partition(":")[0] != LIBRARY or registry.find_info(LIBRARY) is not None:
        return parse(text)
    with virtual_devices(*platforms()):  # registered meanwhile
        return parse(text)


def devices(texts: Iterable[str], stack: ExitStack) -> list[Device]:
    """Return virtual devices; those that are made last until the stack is closed."""
    found: dict[Device, None] = {}
    for text in texts:
        _, platform, number = parsed(text)
        for name in platforms() if platform is None else (platform,):
            wanted = f"{LIBRARY}:{name}:{number or 0}"
            while registry.find_info(LIBRARY) is None or not selection.functional(wanted):
                stack.enter_context(virtual_devices(name))
            found[selection.device(wanted)] = None
    return list(found)
