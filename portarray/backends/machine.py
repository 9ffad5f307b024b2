"""The machine itself: the processor's name and the host's memory, for backends there."""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
import sys
from functools import cache
from pathlib import Path

from portarray import _host_memory
from portarray.backends.types import Description, MemoryFigures

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

    The first touch of each page costs more than the copy of its 4 KiB. What lies before the first
    large page and behind the last is taken in one call rather than page by page. Where Linux does
    not offer that, and for little memory, nothing happens.
    """
    if nbytes < _LARGE or sys.platform != "linux":
        return
    first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    last = (address + nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    _advise(first, address + nbytes, mmap.MADV_HUGEPAGE)
    _advise(first, -(-first // _PAGE) * _PAGE, _MADV_POPULATE_WRITE)
    _advise(last // _PAGE * _PAGE, last, _MADV_POPULATE_WRITE)


_LARGE = 1 << 22  # bytes; as in NumPy
_PAGE = 1 << 21  # bytes of a large page, where pages have 4 KiB
_MADV_POPULATE_WRITE = 23  # of Linux 5.14; earlier ones refuse it


def _advise(start: int, end: int, advice: int) -> None:
    if end > start:
        ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)


def _linux_name() -> str:
    """Return Linux' name of the first processor; other systems lack the file."""
    found = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return found[1].strip() if found else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
