"""Host memory: total, available and resident bytes, and releasing freed memory.

Limits of containers (control groups) and of the process (``ulimit -v``) are taken into account.
Imports no array library and nothing that would slow down `import portarray`.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache

if sys.platform != "win32":
    import resource

__all__ = ["available", "resident", "total", "trim"]


def total() -> int | None:
    """Return the bytes that this process could use at most; None if unknown."""
    limits = [limit for limit in (_machine(), _address_limit()) if limit is not None]
    return min(limits, default=None)


@cache
def _machine() -> int | None:
    """Return the machine's bytes, or the limit of the control groups."""
    machine = _windows()[0] or _pages("SC_PHYS_PAGES")
    limits = [limit for limit, _ in _groups() if limit is not None]
    return min([machine, *limits] if machine else limits, default=None)


def available() -> int | None:
    """Return the bytes available without swapping; None if unknown."""
    words = _read("/proc/meminfo").partition("MemAvailable:")[2].split(maxsplit=1)  # 9 kB
    machine = 1024 * int(words[0]) if words else _windows()[1] or _pages("SC_AVPHYS_PAGES")
    # A group's usage includes page cache, which the kernel reclaims on demand.
    groups = [
        max(0, limit - (_read_number(folder, _USED) or 0) + _droppable(folder))
        for limit, folder in _groups()
        if limit is not None
    ]
    limits = [limit for limit in (machine, _addresses_left(), *groups) if limit is not None]
    return min(limits, default=None)


def trim() -> None:
    """Return freed memory of this process to the system.

    C libraries cache it for later allocations; supported with glibc and on macOS.
    """
    import ctypes

    if sys.platform == "win32":
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
    elif hasattr(library, "malloc_zone_pressure_relief"):
        library.malloc_zone_pressure_relief(None, 0)


def resident() -> int | None:
    """Return the resident bytes of this process; None if unknown."""
    return _sizes()[1]


def _sizes() -> tuple[int | None, int | None]:
    """Return this process's bytes of address space and of resident memory."""
    fields = _read("/proc/self/statm").split()
    if len(fields) < 2:
        return None, None
    page = os.sysconf("SC_PAGE_SIZE")
    return int(fields[0]) * page, int(fields[1]) * page


def _address_limit() -> int | None:
    """Return the address space that ``ulimit -v`` allows; None without a limit."""
    if sys.platform == "win32":
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _addresses_left() -> int | None:
    """Return the bytes that ``ulimit -v`` leaves to this process; None without a limit."""
    limit = _address_limit()
    taken = None if limit is None else _sizes()[0]
    return None if limit is None or taken is None else max(0, limit - taken)


_LIMITS = ("memory.max", "memory.limit_in_bytes")
_USED = ("memory.current", "memory.usage_in_bytes")


@cache
def _groups() -> tuple[tuple[int | None, str], ...]:
    """Yield the limit and folder of the control groups of this process."""
    groups = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        if names and "memory" not in names.split(","):
            continue
        folder = "/sys/fs/cgroup/memory" if names else "/sys/fs/cgroup"
        # In a container the group's own folder is mounted as the root.
        for name in ("", *filter(None, path.split("/"))):
            folder = f"{folder}/{name}" if name else folder
            limit = _read_number(folder, _LIMITS)
            if limit is not None and limit < 1 << 60:
                groups.append((limit, folder))
    return tuple(groups)


def _droppable(folder: str) -> int:
    text = _read(f"{folder}/memory.stat")
    match = re.search(r"^(?:total_)?inactive_file (\d+)$", text, re.MULTILINE)
    return int(match[1]) if match else 0


def _read_number(folder: str, names: tuple[str, str]) -> int | None:
    for name in names:
        text = _read(f"{folder}/{name}").strip()
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


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as text:
            return text.read()
    except OSError:
        return ""
