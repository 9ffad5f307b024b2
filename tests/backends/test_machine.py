"""The processor's name and the host's memory."""

import ctypes
import mmap
import platform
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from portarray.backends.common import machine


def test_processor() -> None:
    assert machine.processor().kind == "cpu"
    assert machine.processor().name


def test_available_memory_is_part_of_the_total() -> None:
    figures = machine.memory()
    if figures.total is None or figures.free is None:  # a system that does not tell
        assert figures.total is figures.free is None
    else:
        assert 0 < figures.free <= figures.total


@pytest.mark.skipif(sys.platform != "linux", reason="Linux asks for large pages")
def test_large_pages() -> None:
    if not Path("/sys/kernel/mm/transparent_hugepage").is_dir():
        pytest.skip("this Linux has none")
    with mmap.mmap(-1, 2**24) as memory:
        values = np.frombuffer(memory, dtype=np.uint8)
        address = values.ctypes.data + 100
        machine.in_large_pages(address, 2**20)  # too little
        assert not _is_in_large_pages(address + mmap.PAGESIZE)
        machine.in_large_pages(address, 2**24 - 100)
        assert _is_in_large_pages(address + mmap.PAGESIZE)
        del values


@pytest.mark.skipif(sys.platform != "linux", reason="Linux asks for large pages")
def test_memory_around_large_pages_is_resident_before_writes() -> None:
    if tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (5, 14):
        pytest.skip("this Linux takes no pages at once")
    with mmap.mmap(-1, 2**24, mmap.MAP_PRIVATE) as memory:
        values = np.frombuffer(memory, dtype=np.uint8)
        start = values.ctypes.data
        address = -(-start // 2**21) * 2**21 + 5 * mmap.PAGESIZE + 100
        assert not _resident(start, 2**24).any()
        machine.in_large_pages(address, 2**23)
        there = _resident(start, 2**24)
        del values
    taken = np.zeros_like(there)
    first, large = (address - start - 100) // mmap.PAGESIZE + 1, 2**21 // mmap.PAGESIZE
    taken[first : first - 6 + large] = True  # up to the first large page
    taken[first - 6 + 4 * large : first + 4 * large - 1] = True  # and behind the last
    np.testing.assert_array_equal(there, taken)


def _resident(address: int, nbytes: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which pages of memory are resident."""
    pages = np.zeros(nbytes // mmap.PAGESIZE, np.uint8)
    status = ctypes.CDLL(None).mincore(
        ctypes.c_void_p(address), ctypes.c_size_t(nbytes), ctypes.c_void_p(pages.ctypes.data)
    )
    assert status == 0
    return (pages & 1).astype(bool)


def _is_in_large_pages(address: int) -> bool:
    """Return whether the pages around an address were requested as large ones."""
    text = Path("/proc/self/smaps").read_text("utf-8")
    within = False
    for line in text.splitlines():
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if match:
            within = int(match[1], 16) <= address < int(match[2], 16)
        elif within and line.startswith("VmFlags:"):
            return "hg" in line.split()
    raise AssertionError(f"no memory at {address:#x}")
