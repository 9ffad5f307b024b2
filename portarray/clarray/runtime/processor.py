"""Which processor this is, for what must not be carried to another one."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

_VARYING = ("processor", "cpu MHz", "bogomips", "apicid", "initial apicid", "core id")


@cache
def processor() -> str:
    """Return a digest of the processor's kind and of the instructions it has.

    Programs built for CPU devices run on processors of that kind only, the devices of several have
    the same name, and home folders with caches are shared between machines.
    """
    try:
        with Path("/proc/cpuinfo").open("rb") as file:
            first = file.read(16384).decode(errors="replace").partition("\n\n")[0]
    except OSError:  # other systems than Linux
        return f"{platform.machine()} {platform.processor()}"
    kept = [line for line in first.splitlines() if line.partition(":")[0].strip() not in _VARYING]
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()[:16]
