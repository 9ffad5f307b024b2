"""The processor's name, host memory figures and huge pages, for CPU backends."""

from __future__ import annotations

import ctypes
import mmap
import platform
import re
import sys
from functools import cache

from portarray import _host_memory
from portarray.backends.types import Description, MemoryFigures

__all__ = ["in_large_pages", "memory", "processor"]


@cache
def processor() -> Description:
    """Return the processor's name."""
    return Description(_linux_name() or platform.processor() or platform.machine() or "CPU", "cpu")


def memory() -> MemoryFigures:
    """Return the host's total and available memory.

    Limits of containers and of the process are taken into account.
    """
    return MemoryFigures(total=_host_memory.total(), free=_host_memory.available())


def in_large_pages(address: int, nbytes: int) -> None:
    """Ask Linux for huge pages for untouched memory, as NumPy does.

    A page fault costs more than copying 4 KiB. The memory before the first huge page and behind the
    last is populated in one call. Without effect for little memory and on other systems.
    """
    if nbytes < _LARGE or sys.platform != "linux":
        return
    first = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    last = (address + nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    _advise(first, address + nbytes, mmap.MADV_HUGEPAGE)
    _advise(first, -(-first // _PAGE) * _PAGE, _MADV_POPULATE_WRITE)
    _advise(last // _PAGE * _PAGE, last, _MADV_POPULATE_WRITE)


_LARGE = 1 << 22  # bytes; as in NumPy
_PAGE = 1 << 21  # bytes of a huge page, where pages have 4 KiB
_MADV_POPULATE_WRITE = 23  # since Linux 5.14


def _advise(start: int, end: int, advice: int) -> None:
    if end > start:
        ctypes.CDLL(None).madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)


def _linux_name() -> str:
    """Return the name in /proc/cpuinfo."""
    match = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return match[1].strip() if match else ""


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
