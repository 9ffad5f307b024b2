"""The devices that commands are told by name."""

from __future__ import annotations

from collections.abc import Iterable

from portarray._devices import selection
from portarray._devices.device import Device


def chosen(names: Iterable[str]) -> list[Device]:
    """Return the devices that are asked for, each once; every functional one where none is."""
    return list(dict.fromkeys(map(selection.device, names))) or selection.devices()
