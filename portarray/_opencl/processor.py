"""An identifier of the CPU, for caches that are valid on one model only."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

_VARYING = ("processor", "cpu MHz", "bogomips", "apicid", "initial apicid", "core id")


@cache
def processor() -> str:
    """Return a digest of the CPU's model and instruction set."""
    # Programs built for a CPU run on that model only, different models share a device name, and
    # machines may share a cache folder.
    try:
        with Path("/proc/cpuinfo").open("rb") as file:
            first = file.read(16384).decode(errors="replace").partition("\n\n")[0]
    except OSError:  # not Linux
        return f"{platform.machine()} {platform.processor()}"
    fixed = [line for line in first.splitlines() if line.partition(":")[0].strip() not in _VARYING]
    return hashlib.sha256("\n".join(fixed).encode()).hexdigest()[:16]
