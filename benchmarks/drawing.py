"""Settings that the pictures of this folder share."""

from __future__ import annotations

from typing import Any

from portarray._cli.bench import plot

__all__ = ["GREY", "SETTINGS"]

GREY = plot.GREY
SETTINGS: dict[Any, Any] = {**plot.SETTINGS, "font.size": 9}
