"""Requests beyond the memory raise before MLX would end the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import portarray as pa

PROGRAM = """
import gc, os, resource
import numpy as np
import portarray as pa

SIZE = 48 << 20
ones = pa.asarray(np.ones(SIZE // 4, np.float32), device="mlx")
square = pa.reshape(ones, (4096, -1))
mask = ones > 0
assert bool(mask[0])

def last(x):
    x = x[0] if isinstance(x, tuple) else x
    return float(x[(-1,) * x.ndim])

ways = {
    "nonzero": lambda: last(pa.nonzero(ones)),
    "reshape": lambda: last(pa.reshape(square.mT, (-1,))),
    "mask": lambda: last(ones[mask]),
    "assign": lambda: ones.copy().__setitem__(mask, 2.0),
    "clip": lambda: last(pa.clip(ones, 0.0, 0.5)),
    "sin": lambda: last(pa.sin(ones)),
    "silu": lambda: last(pa.kernels.silu(ones)),
    "argsort": lambda: last(pa.argsort(square)),
}
for name, way in ways.items():
    way()  # whatever a first call needs, it has now
    outcomes = []
    for backend in (20 << 20, 3 * SIZE // 2, 5 * SIZE // 2, 16 * SIZE):
        gc.collect()
        pa.reclaim()
        pages = int(open("/proc/self/statm").read().split()[0])
        limit = pages * os.sysconf("SC_PAGE_SIZE") + backend
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            way()
            outcomes.append(True)
        except pa.OutOfMemoryError as error:
            assert error.requested and error.free <= backend, (name, error)
            outcomes.append(False)
        if name == "reshape":  # in the order in which they lie nothing is copied
            assert last(pa.reshape(square, (-1, 2))) == 1.0
    assert not outcomes[0] and outcomes[-1], (name, outcomes)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
    print(name, outcomes, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the program reads Linux' files")
@pytest.mark.skipif(
    not pa.functional("mlx") or pa.device("mlx").platform != "cpu", reason="GPUs raise themselves"
)
def test_functions_of_several_steps_raise_before_the_process_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
