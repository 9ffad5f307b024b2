"""The devices that commands are told by name."""

from __future__ import annotations

from collections.abc import Iterable

from portarray._devices import selection
from portarray._devices.device import Device


def chosen(names: Iterable[str]) -> list[Device]:
    """Return the named devices, each once; every functional one if none is named."""
    return list(dict.fromkeys(map(selection.device, names))) or selection.devices()
