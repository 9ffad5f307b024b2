"""Warnings about the choice of devices, each issued once."""

from __future__ import annotations

import sys
import warnings

from portarray.errors import DeviceSelectionWarning

__all__ = ["forget", "users_level", "warn"]

_warned: set[str] = set()


def warn(message: str) -> None:
    """Warn once for each message, at the line that called portarray."""
    if message in _warned:
        return
    _warned.add(message)
    warnings.warn(message, DeviceSelectionWarning, stacklevel=users_level())


def forget() -> None:
    """Let every warning be shown again."""
    _warned.clear()


def users_level() -> int:
    """Return the ``stacklevel`` of the first caller outside portarray."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("portarray."):
        level, frame = level + 1, frame.f_back
    return level
