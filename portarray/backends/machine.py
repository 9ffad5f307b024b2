"""The machine itself: the processor's name and the host's memory, for rooms that compute there."""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
import sys
from functools import cache
from pathlib import Path

from portarray import _host_memory
from portarray.backends.protocol import Description, MemoryFigures

__all__ = ["in_large_pages", "memory", "processor"]


@cache
def processor() -> Description:
    """Return the processor's name, as exactly as the system tells it."""
    return Description(_linux_name() or platform.processor() or platform.machine() or "CPU", "cpu")


def memory() -> MemoryFigures:
    """Return the host's memory: in all, and what this process can still get.

    Limits of containers and of the process count where they are lower than what the machine has.
    """
    return MemoryFigures(total=_host_memory.total(), free=_host_memory.available())


def in_large_pages(address: int, nbytes: int) -> None:
    """Ask Linux to put memory that nobody has touched yet into large pages, as NumPy does.

    The first touch of each page costs more than the copy of its 4 KiB. Where Linux does not offer
    that, and for little memory, nothing happens.
    """
    if nbytes < _LARGE or sys.platform != "linux":
        return
    first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    length = ctypes.c_size_t(address + nbytes - first)
    ctypes.CDLL(None).madvise(ctypes.c_void_p(first), length, mmap.MADV_HUGEPAGE)


_LARGE = 1 << 22  # bytes; as in NumPy


def _linux_name() -> str:
    """Return Linux' name of the first processor; other systems lack the file."""
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return found[1].strip() if found else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
