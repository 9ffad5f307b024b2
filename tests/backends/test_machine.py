"""The processor's name and the host's memory."""

import mmap
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from portarray.backends import machine


def test_processor() -> None:
    assert machine.processor().kind == "cpu"
    assert machine.processor().name


def test_memory_is_part_of_what_there_is() -> None:
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
        place = values.ctypes.data + 100
        machine.in_large_pages(place, 2**20)  # too little
        assert not _asked_for(place + mmap.PAGESIZE)
        machine.in_large_pages(place, 2**24 - 100)
        assert _asked_for(place + mmap.PAGESIZE)
        del values


def _asked_for(address: int) -> bool:
    """Tell whether large pages were asked for where an address lies."""
    text = Path("/proc/self/smaps").read_text("utf-8")
    within = False
    for line in text.splitlines():
        found = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if found:
            within = int(found[1], 16) <= address < int(found[2], 16)
        elif within and line.startswith("VmFlags:"):
            return "hg" in line.split()
    raise AssertionError(f"no memory at {address:#x}")
