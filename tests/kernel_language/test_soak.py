"""Many launches: nothing stays behind, and threads and devices do not disturb each other.

``PORTARRAY_KERNEL_LAUNCHES=1000000`` runs so many.
"""

from __future__ import annotations

import gc
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
import portarray.kernel_language as kl
from portarray._kernel_language import launch_cache

LAUNCHES = int(os.environ.get("PORTARRAY_KERNEL_LAUNCHES", "20000"))
EACH = 5
STATM = Path("/proc/self/statm")


@pa.kernel
def axpy(y: Any, a: Any, x: Any) -> None:
    i = kl.index()
    y[i] = a * x[i] + y[i]


@pa.kernel
def turned(y: Any, x: Any) -> None:
    shared = kl.local(8, kl.float32)
    here = kl.local_index()
    shared[here] = x[kl.index()]
    kl.barrier()
    y[kl.index()] = shared[7 - here]


@pa.kernel
def counts(y: Any, z: Any, x: Any) -> None:
    i = kl.index()
    kl.atomic_add(y, 0, 1)
    z[i] = x[i] * 2


@pytest.fixture(scope="module")
def places() -> list[pa.Device]:
    """The devices that run programs."""
    names = os.environ.get("PORTARRAY_TEST_DEVICES", "").split()
    result = [pa.device(device) for device in names] if names else pa.devices()
    runs = [
        device for device in result if not isinstance(device._backend.launcher(device.native), str)
    ]
    if not runs:
        pytest.skip("no programs run here")
    return runs


def launch(device: pa.Device, launch_index: int) -> None:
    """Run one of several calls a few times, and compare what it gives."""
    size = 8 * (1 + launch_index * 7 % 64)
    host = np.arange(launch_index % 13, launch_index % 13 + 2 * size, dtype=np.float32)
    x = pa.asarray(host, device=device)[:: 1 + launch_index % 2][:size]
    sample = host[:: 1 + launch_index % 2][:size]
    y = pa.ones(size, dtype=pa.float32, device=device)
    total = pa.zeros(1, dtype=pa.int32, device=device)
    for _ in range(EACH):
        if launch_index % 3 == 0:
            y = axpy(y, launch_index % 5 - 0.5, x)
        elif launch_index % 3 == 1:
            y = turned(y, x, group=8)
        else:
            total, y = counts(total, y, x, ndrange=size)
    if launch_index % 3 == 0:
        want = EACH * (launch_index % 5 - 0.5) * sample + 1
    elif launch_index % 3 == 1:
        want = sample.reshape(-1, 8)[:, ::-1].reshape(-1)
    else:
        want = sample * 2
        assert int(total[0]) == EACH * size
    np.testing.assert_array_equal(np.asarray(y), want)


def resident() -> int:
    """Return the bytes of memory that the process uses."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not STATM.exists(), reason="the system does not tell the memory of a process")
def test_launches_leave_nothing_behind(places: list[pa.Device]) -> None:
    for launch_index in range(LAUNCHES // EACH // 10):  # what is made once
        launch(places[launch_index % len(places)], launch_index // len(places))
    bytes_at_start = resident()
    for launch_index in range(LAUNCHES // EACH):
        launch(places[launch_index % len(places)], launch_index // len(places))
    # SYCL keeps some hundred bytes of each launch, of dpnp's own functions more than of kernels.
    theirs = sum(device.library == "dpnp" for device in places) * LAUNCHES // len(places) * 1024
    assert resident() - bytes_at_start < (32 << 20) + theirs
    for kernel in (axpy, turned, counts):
        assert len(kernel._prepared) <= 2 * len(places)
        assert len(kernel._calls) <= launch_cache.MOST_CALLS


def test_programs_of_many_static_values_are_forgotten(
    places: list[pa.Device], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_cache, "MOST_PROGRAMS", 3)

    @pa.kernel(static=("n",))
    def raised(y: Any, n: Any) -> None:
        y[kl.index()] = n

    y = pa.zeros(2, device=places[0])
    for n in (1, 2, 3, 4, 5, 1):
        assert raised(y, n).tolist() == [n, n]
        assert raised.interpret(y, n).tolist() == [n, n]
    assert len(raised._prepared) == len(raised._oracle.programs) == 3


def test_threads_and_devices_at_once(places: list[pa.Device]) -> None:
    """Eight threads run the same kernels, each on all devices in turn."""
    start = threading.Barrier(8)

    def many(thread: int) -> None:
        start.wait()
        for launch_index in range(LAUNCHES // EACH // 40):
            launch(places[(thread + launch_index) % len(places)], thread + 3 * launch_index)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(8)))
