"""Memory figures, reclaim, synchronize, and selection by free memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import portarray as pa
from portarray import _host_memory
from portarray.backends.types import MemoryFigures

SIZE = 32 << 20
COUNT = SIZE // 4


def new_array(device: str) -> pa.Array:
    """Return a computed array of SIZE bytes whose source is freed."""
    x = pa.asarray(np.ones(COUNT, np.float32), device=device, copy=True)
    float(x[0])
    pa.synchronize(device)
    return x


def test_used_and_pooled_follow_the_arrays(device: str) -> None:
    del_me = new_array(device)  # whatever a first array needs
    del del_me
    gc.collect()
    pa.reclaim(device)
    initial = pa.memory(device)
    assert initial.total is None or initial.free is None or 0 < initial.free <= initial.total
    x = new_array(device)
    with_it = pa.memory(device)
    if initial.used is not None:
        assert with_it.used is not None
        assert SIZE <= with_it.used - initial.used <= 1.25 * SIZE + (1 << 20)
    del x
    gc.collect()
    without = pa.memory(device)
    if initial.used is not None:
        assert without.used is not None
        assert abs(without.used - initial.used) < 1 << 20
    pa.reclaim(device)
    final = pa.memory(device)
    if final.pooled is not None:
        assert final.pooled < 1 << 20
    assert final.total == initial.total


@pytest.mark.parametrize("library", ["mlx", "jax", "clarray"])
def test_libraries_that_count_memory_report_it(library: str) -> None:
    if not pa.functional(library):
        pytest.skip(f"{library} is not here")
    figures = pa.memory(library)
    assert figures.used is not None
    assert figures.pooled is not None


def test_clarrays_pool_is_released() -> None:
    if not pa.functional("clarray"):
        pytest.skip("no OpenCL device is here")
    x = new_array("clarray")
    del x
    gc.collect()
    pooled = pa.memory("clarray").pooled
    assert pooled is not None
    assert pooled >= SIZE
    pa.reclaim("clarray")
    assert pa.memory("clarray").pooled == 0


def test_machines_without_files_of_linux_say_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_host_memory, "_read", lambda file: "")
    monkeypatch.setattr(_host_memory, "_pages", lambda name: None)
    monkeypatch.setattr(_host_memory, "_groups", lambda: ())
    monkeypatch.setattr(_host_memory, "_address_limit", lambda: None)
    figures = pa.memory("numpy")
    assert figures.free is None
    assert pa.device("numpy", memory=10**18) is pa.device("numpy")  # who knows


GROUPS = {
    "/proc/meminfo": "MemTotal: 9000 kB\nMemAvailable:    8000 kB\n",
    "/proc/self/cgroup": "4:memory:/box/inner\n0::/box/inner\n",
    "/sys/fs/cgroup/memory/box/memory.limit_in_bytes": "3000000",
    "/sys/fs/cgroup/memory/box/memory.usage_in_bytes": "1000000",
    "/sys/fs/cgroup/memory/box/memory.stat": "cache 900000\ntotal_inactive_file 400000\n",
    "/sys/fs/cgroup/box/inner/memory.max": "5000000",
    "/sys/fs/cgroup/box/inner/memory.current": "4000000",
    "/sys/fs/cgroup/box/memory.max": "max",
}


def test_limits_of_containers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    files = dict(GROUPS)
    monkeypatch.setattr(_host_memory, "_read", lambda file: files.get(file, ""))
    monkeypatch.setattr(_host_memory, "_pages", lambda name: 9_216_000)
    _host_memory._machine.cache_clear()
    _host_memory._groups.cache_clear()
    try:
        assert pa.memory("numpy") == MemoryFigures(total=3_000_000, free=1_000_000)
        files["/sys/fs/cgroup/box/inner/memory.current"] = "2000000"
        assert pa.memory("numpy").free == 2_400_000  # file pages go when memory is wanted
        with pytest.raises(pa.errors.DeviceNotFunctionalError, match="2,400,000 bytes"):
            pa.device("numpy", memory=2_500_000)
    finally:
        _host_memory._machine.cache_clear()
        _host_memory._groups.cache_clear()


LIMITED = """
import os, resource
import portarray as pa
assert pa.memory("numpy").free > 1 << 29
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * os.sysconf("SC_PAGE_SIZE") + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
free = pa.memory("numpy").free
assert 150 << 20 < free <= 200 << 20, free
assert pa.memory("numpy").total == limit
x = pa.ones((100 << 20,), dtype="uint8", device="numpy")
assert pa.memory("numpy").free < 110 << 20
try:
    pa.device("numpy", memory=150 << 20)
except pa.errors.DeviceNotFunctionalError as error:
    assert "157,286,400 bytes" in str(error) and "pa.reclaim" in str(error)
else:
    raise AssertionError("there is too little")
assert pa.device("numpy", memory=50 << 20)
try:
    pa.zeros((limit // 8 + 1,), dtype="float64", device="numpy")
except pa.errors.OutOfMemoryError as error:
    assert error.requested > error.total and "pa.reclaim" not in str(error), error
else:
    raise AssertionError("the limit is lower")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the program reads Linux' files")
def test_the_limit_of_a_process_counts() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


HELD = """
import gc, os
import numpy as np
import portarray as pa

def resident():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")

blocks = [np.full(3000, 1.0) for _ in range(4000)]  # too small to be given back by themselves
last = [np.full(3000, 1.0)]
del blocks
gc.collect()
before = resident()
pa.reclaim("numpy")
assert before - resident() > 50 << 20, (before, resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the program reads Linux' files")
def test_memory_pooled_by_the_c_library_is_released() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELD], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_choosing_by_free_memory_on_real_devices() -> None:
    devices = pa.devices()
    for device in devices:
        assert pa.device(str(device), memory=1 << 20) is device
        free = pa.memory(device).free
        if free is not None:
            with pytest.raises(pa.errors.DeviceNotFunctionalError, match="are needed"):
                pa.device(str(device), memory=1 << 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pa.device("auto", memory=1 << 20) is pa.device("auto")
    if all(pa.memory(device).free is not None for device in devices):
        with pytest.raises(pa.errors.DeviceNotFunctionalError) as caught:
            pa.device("auto", memory=1 << 60)
        assert set(map(str, devices)) <= set(caught.value.reasons)
        assert "are needed" in next(iter(caught.value.reasons.values()))
        assert "'auto'" in str(caught.value).splitlines()[0]


def test_synchronize_waits_for_every_device_and_thread() -> None:
    """synchronize waits with and without a device, and for work of other threads."""
    arrays: dict[str, pa.Array] = {}

    def work() -> None:
        for device in map(str, pa.devices()):
            x = pa.asarray(np.full((200, 200), 0.5, np.float32), device=device)
            y = pa.matmul(x, x) + 1.0
            pa.synchronize(device)
            if pa.device(device).library == "mlx":
                # What MLX has not computed stays with its thread.
                float(y[0, 0])
            arrays[device] = y
        pa.synchronize()

    errors = run(work)
    pa.synchronize()
    errors += run(pa.synchronize)
    assert errors == []
    assert len(arrays) == len(pa.devices())
    for device, y in arrays.items():
        assert float(y[3, 4]) == 51.0, device


def run(work: Callable[[], object]) -> list[BaseException]:
    """Run a function in a thread and return what it raised."""
    errors: list[BaseException] = []

    def caught() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  (the test looks at it)
            errors.append(error)

    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()
    return errors


def test_synchronize_while_others_allocate() -> None:
    """Arrays that other threads create and free do not disturb synchronize and memory."""
    stop = threading.Event()
    errors: list[BaseException] = []

    def allocate(device: str) -> None:
        try:
            while not stop.is_set():
                x = pa.ones((64,), dtype="float32", device=device)
                float((x + 1.0)[0])
        except BaseException as error:  # noqa: BLE001  (the test looks at it)
            errors.append(error)

    threads = [threading.Thread(target=allocate, args=(str(d),)) for d in pa.devices()]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            pa.synchronize()
            for device in pa.devices():
                pa.memory(device)
        pa.reclaim()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert errors == []
