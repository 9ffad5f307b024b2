"""Where commands print: whole rows into a pipe, what fits into a terminal."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from rich.console import Console

__all__ = ["as_csv", "console", "size"]

WIDE = 10_000
"""Columns of what is no terminal: more than any row has."""


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError  # the group of commands ends quietly


def console() -> Console:
    """Return what prints to standard output, as wide as the terminal or, elsewhere, as it takes."""
    found = _Console()
    if found.is_terminal or os.environ.get("COLUMNS"):
        return found
    return _Console(width=WIDE)


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows with the same keys as text with commas, the keys first."""
    text = io.StringIO()
    listed = list(rows)
    writer = csv.DictWriter(text, listed[0] if listed else (), lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue()


def size(nbytes: int) -> str:
    """Return bytes as people read them."""
    value = float(nbytes)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
