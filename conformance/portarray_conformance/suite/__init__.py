"""The suite: one module for each chapter of the standard (elementwise is split by family)."""

from __future__ import annotations

CHAPTERS: tuple[str, ...] = ()
