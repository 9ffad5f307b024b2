"""How much memory the machine has and can still hand out, containers' limits heeded."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

__all__ = ["available", "resident", "total"]


@cache
def total() -> int | None:
    """Return the bytes that this process could ever use; None where the system does not tell."""
    machine = _windows()[0] or _pages("SC_PHYS_PAGES")
    limits = [limit for limit, _ in _groups() if limit is not None]
    return min([machine, *limits] if machine else limits, default=None)


def available() -> int | None:
    """Return the bytes that can be had without swapping; None where the system does not tell."""
    found = re.search(r"^MemAvailable:\s*(\d+) kB$", _read(Path("/proc/meminfo")), re.MULTILINE)
    machine = 1024 * int(found[1]) if found else _windows()[1] or _pages("SC_AVPHYS_PAGES")
    # What a group has used includes file pages that the kernel drops when memory is wanted.
    groups = [
        max(0, limit - (_number(folder, _USED) or 0) + _droppable(folder))
        for limit, folder in _groups()
        if limit is not None
    ]
    return min([machine, *groups] if machine else groups, default=None)


def resident() -> int | None:
    """Return the bytes of this process that lie in memory; None where the system does not tell."""
    found = _read(Path("/proc/self/statm")).split()
    return int(found[1]) * os.sysconf("SC_PAGE_SIZE") if len(found) > 1 else None


_LIMITS = ("memory.max", "memory.limit_in_bytes")
_USED = ("memory.current", "memory.usage_in_bytes")


@cache
def _groups() -> tuple[tuple[int | None, Path], ...]:
    """Return the control groups that limit this process's memory, by limit and folder."""
    found = []
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, names, path = line.split(":", 2)
        if names and "memory" not in names.split(","):
            continue
        root = Path("/sys/fs/cgroup") / ("memory" if names else "")
        # Within a container the group's own folder is mounted as the root.
        own = root / path.lstrip("/")
        for folder in (own, *own.parents):
            limit = _number(folder, _LIMITS)
            if limit is not None and limit < 1 << 60:
                found.append((limit, folder))
            if folder == root:
                break
    return tuple(found)


def _droppable(folder: Path) -> int:
    text = _read(folder / "memory.stat")
    found = re.search(r"^(?:total_)?inactive_file (\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _number(folder: Path, names: tuple[str, str]) -> int | None:
    for name in names:
        text = _read(folder / name).strip()
        if text.isdigit():
            return int(text)
    return None


def _pages(name: str) -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf(name)
    except (AttributeError, ValueError, OSError):
        return None


if sys.platform == "win32":

    def _windows() -> tuple[int | None, int | None]:
        """Return the machine's bytes, and those available."""
        import ctypes

        names = ("total", "available", "total_page", "free_page", "total_virtual", "free_virtual")

        class Status(ctypes.Structure):
            _fields_ = (
                ("length", ctypes.c_ulong),
                ("load", ctypes.c_ulong),
                *((name, ctypes.c_ulonglong) for name in (*names, "extended")),
            )

        status = Status(length=ctypes.sizeof(Status))
        if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return None, None
        return int(status.total), int(status.available)

else:

    def _windows() -> tuple[int | None, int | None]:
        """Return nothing: other systems are asked otherwise."""
        return None, None


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""
