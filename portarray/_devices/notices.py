"""Warnings about the choice of devices, each issued once."""

from __future__ import annotations

import sys
import warnings

from portarray.errors import DeviceSelectionWarning

__all__ = ["forget", "warn"]

_warned: set[str] = set()


def warn(message: str) -> None:
    """Warn once for each message, at the line that called portarray."""
    if message in _warned:
        return
    _warned.add(message)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("portarray."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DeviceSelectionWarning, stacklevel=level)


def forget() -> None:
    """Let every warning be shown again."""
    _warned.clear()
