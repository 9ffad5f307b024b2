"""What pictures of this folder have in common."""

from __future__ import annotations

from typing import Any

__all__ = ["GREY", "SETTINGS"]

GREY = "#767676"
"""Colour of what stands on the page itself: to be read on white and on black."""

SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "path",
    "svg.hashsalt": "portarray",  # the same figures make the same file
}
"""Matplotlib's settings."""
