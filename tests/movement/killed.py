"""Saves killed at random moments, and saves without permission, for test_files_atomic.py.

It saves from child processes, so that the process of the tests need not fork. All elements of a
save have one value, so a file with two values was written in part.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

import portarray as pa

KILLED = 25
MOST = 500  # saves that are killed until some came to their end before, and some did not
ELEMENTS = 250_000  # 2 MB


def save_for_ever(path: Path, value: int) -> None:
    while True:
        value += 1
        pa.save(path, {name: np.full(ELEMENTS // 3, value) for name in "abc"})


def values_of(path: Path) -> set[int]:
    return {int(v) for x in pa.load(path, device="numpy").values() for v in np.unique(x.native)}


def killed(path: Path) -> None:
    """Kill saves half way, check the file each time, and print the counts."""
    pa.save(path, {"a": np.zeros(ELEMENTS, int)})
    saved = {0}
    leftovers: list[str] = []
    rng = random.Random(0)
    for turn in range(MOST):
        if turn >= KILLED and len(saved) > 2 and len(leftovers) > 5:
            break
        child = os.fork()
        if not child:
            save_for_ever(path, 1000 * turn)
        until = time.monotonic() + 0.03 * rng.random()
        while time.monotonic() < until:  # others read meanwhile
            values = values_of(path)
            assert len(values) == 1, f"a file with {values}"
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        values = values_of(path)
        assert len(values) == 1, f"a file with {values} after a kill"
        saved |= values
        leftovers = [name for name in os.listdir(path.parent) if name != path.name]
    sys.stdout.write(f"{len(saved)} {len(leftovers)}\n")


def refused(path: Path) -> None:
    """Save as a user who may create files, but not write into the existing one."""
    pa.save(path, pa.ones(3))
    path.chmod(0o444)
    path.parent.chmod(0o777)
    if os.geteuid() == 0:  # who may all
        os.setuid(65534)
    try:
        pa.save(path, pa.zeros(3))
    except PermissionError as error:
        sys.stdout.write(f"{error}\n")
    assert pa.load(path).tolist() == [1.0, 1.0, 1.0]
    sys.stdout.write(f"{os.listdir(path.parent)}\n")


def too_large(path: Path) -> None:
    """Save more than the limit of a file's size."""
    import resource

    pa.save(path, pa.ones(3))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    try:
        pa.save(path, pa.zeros(100_000))
    except OSError as error:
        sys.stdout.write(f"{error}\n")
    assert pa.load(path).tolist() == [1.0, 1.0, 1.0]
    sys.stdout.write(f"{os.listdir(path.parent)}\n")


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
