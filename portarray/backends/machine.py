"""The machine itself: the processor's name and the host's memory, for rooms that compute there."""

from __future__ import annotations

import os
import platform
import re
from functools import cache
from pathlib import Path

from portarray.backends.protocol import Description, MemoryFigures

__all__ = ["memory", "processor"]


@cache
def processor() -> Description:
    """Return the processor's name, as exactly as the system tells it."""
    return Description(_linux_name() or platform.processor() or platform.machine() or "CPU", "cpu")


def memory() -> MemoryFigures:
    """Return the host's memory: in all, and what programs can still get."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
        free = _linux_available() or page * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf; names vary elsewhere
        return MemoryFigures()
    return MemoryFigures(total=total, free=free)


def _linux_name() -> str:
    """Return Linux' name of the first processor; other systems lack the file."""
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return found[1].strip() if found else ""


def _linux_available() -> int:
    """Return the bytes that Linux could hand out, reclaimable caches among them; 0 elsewhere."""
    found = re.search(r"^MemAvailable:\s*(\d+) kB$", _read("/proc/meminfo"), re.MULTILINE)
    return 1024 * int(found[1]) if found else 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
