"""What pictures of this folder have in common."""

from __future__ import annotations

from typing import Any

from portarray._cli.bench import plot

__all__ = ["GREY", "SETTINGS"]

GREY = plot.GREY
SETTINGS: dict[Any, Any] = {**plot.SETTINGS, "font.size": 9}
