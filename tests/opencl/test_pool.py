from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pyopencl as cl
import pytest

from portarray import _host_memory as host_memory
from portarray._opencl.device import Device
from portarray._opencl.pool import Pool, size_class
from portarray.clarray.array import Array
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.errors import KernelError, OutOfMemoryError
from portarray.clarray.strided import empty

Process = Callable[..., "subprocess.CompletedProcess[str]"]
MIB = 1 << 20
NO_MEMORY = cl._cl._ErrorRecord(
    msg="none left", code=cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, routine="clCreateBuffer"
)


@pytest.fixture
def pool(device: Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """A new pool for a device, without guard bytes."""
    gc.collect()
    result = Pool(device, guard=False)
    monkeypatch.setattr(device, "pool", result)
    yield result
    device.finish()
    gc.collect()


def filled(device: Device, count: int, value: int) -> Array:
    return from_numpy(np.full(count, value, np.int32), device)


def test_size_classes_waste_at_most_an_eighth() -> None:
    sizes = [*range(1, 9000), *(2**k + d for k in range(13, 45) for d in (-1, 0, 1, 777))]
    for nbytes in sizes:
        assert nbytes <= size_class(nbytes) <= max(128, 2 * nbytes)
        if nbytes > 4096:
            assert size_class(nbytes) <= nbytes * 1.126


def test_blocks_are_used_again_and_counted(pool: Pool, device: Device) -> None:
    assert (pool.used, pool.pooled) == (0, 0)
    x = filled(device, 1000, 1)
    assert (pool.used, pool.pooled) == (4096, 0)
    buffer = x.storage.buffer
    del x
    assert (pool.used, pool.pooled) == (0, 4096)
    y = filled(device, 1001, 2)
    assert y.storage.buffer is buffer
    pool.reclaim()
    assert (pool.used, pool.pooled) == (4096, 0)
    figures = device.memory()
    assert figures.used == 4096
    assert 0 < figures.free <= figures.total
    assert (to_numpy(y) == 2).all()


def test_borrowed_memory_is_not_counted_and_lives_as_long_as_kernels_use_it(
    pool: Pool, device: Device
) -> None:
    if not device.host_memory:
        pytest.skip("the device has memory of its own")
    values = np.arange(1000, dtype=np.int32)
    gone = weakref.ref(values)
    x = from_numpy(values, device, copy=False)
    assert (pool.used, pool.pooled) == (0, 0)
    del values
    device.launched += 1  # something may be running on it
    storage = x.storage
    del x, storage
    assert gone() is not None
    device.finish()
    assert gone() is None


def test_reclaim_waits_for_kernels_that_use_the_blocks(pool: Pool, device: Device) -> None:
    kernel = device.kernel(SLOW, "slow", 1, [np.int32])
    for _ in range(20):
        storage = pool.take(MIB)
        kernel.launch((1024,), None, (storage,), 200)
        del storage
        pool.reclaim()
        assert not device.pending
        assert pool.pooled == 0


SLOW = """__kernel void slow(__global volatile int *o, int rounds) {
    for (int round = 0; round < rounds; round++) o[get_global_id(0)] += round;
}
"""


def test_unused_blocks_have_a_limit_and_the_oldest_sizes_go_first(
    pool: Pool, device: Device
) -> None:
    pool.unused_limit = 8 * MIB
    for size in (2, 3, 4):
        pool.take(size * MIB)
    device.finish()
    assert pool.pooled <= pool.unused_limit
    assert not pool._free.get(2 * MIB)
    assert pool._free[4 * MIB]
    small = [pool.take(128) for _ in range(5000)]
    pool.unused_limit = 0
    del small
    assert pool.pooled < 1024 * 128
    assert pool.used == 0


def test_no_more_is_taken_than_arrays_need_and_a_fifth(pool: Pool, device: Device) -> None:
    pool.unused_allowance = 0
    live = peak = 0
    for step in range(40):
        nbytes = (7 * step % 12 + 1) * MIB
        x = empty((nbytes,), np.dtype(np.uint8), device)
        y = empty((nbytes,), np.dtype(np.uint8), device)
        device.finish()
        live, peak = max(live, 2 * nbytes), max(peak, pool.used + pool.pooled)
        del x, y
    assert peak <= 1.2 * live
    # With room to spare the sizes of a loop all stay warm.
    pool.unused_allowance = 64 * MIB
    for _ in range(3):
        retained = {id(pool.take(size * MIB).buffer) for size in (8, 12, 20)}
    assert retained == {id(pool.take(size * MIB).buffer) for size in (8, 12, 20)}


def test_blocks_that_kernels_still_use_do_not_pile_up(pool: Pool, device: Device) -> None:
    pool.unused_limit = pool.unused_allowance = 0
    kernel = device.kernel(SLOW, "slow", 1, [np.int32])
    for size in (2, 3, 4, 5):
        storage = pool.take(size * MIB)
        kernel.launch((1024,), None, (storage,), 200)
        del storage
        assert len(device._retired) <= 1
    device.finish()
    assert not device._retired


def test_more_than_the_largest_block_is_an_error_that_says_so(device: Device, pool: Pool) -> None:
    retained = filled(device, 1000, 7)
    with pytest.raises(OutOfMemoryError, match="exceeds the largest block") as caught:
        empty((1 << 44,), np.dtype(np.float64), device)
    assert caught.value.requested == 1 << 47
    assert caught.value.free is not None
    assert caught.value.total == pool.total
    assert (to_numpy(retained) == 7).all()
    pool.largest = MIB
    assert empty((MIB,), np.dtype(np.uint8), device).size == MIB
    for more in (1, 8, MIB):
        with pytest.raises(OutOfMemoryError, match="exceeds the largest block, 1048576"):
            empty((MIB + more,), np.dtype(np.uint8), device)


def test_more_than_the_limit_is_an_error_and_all_goes_on(device: Device, pool: Pool) -> None:
    pool.limit = 10 * MIB
    retained = filled(device, MIB, 7)
    with pytest.raises(OutOfMemoryError, match="delete arrays") as caught:
        empty((8 * MIB,), np.dtype(np.uint8), device)
    assert caught.value.requested == 8 * MIB
    assert caught.value.free == 6 * MIB
    more = filled(device, MIB, 8)  # unused blocks make room where they are wanted
    del more
    assert pool.pooled == 4 * MIB
    second = empty((6 * MIB,), np.dtype(np.uint8), device)
    assert second.size == 6 * MIB
    assert pool.pooled == 0
    assert (to_numpy(retained) == 7).all()


def test_memory_that_the_machine_has_not_is_not_promised(
    device: Device, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_memory, "available", lambda: 100 * MIB)
    with pytest.raises(OutOfMemoryError, match="has no") as caught:
        pool.take(200 * MIB)
    assert caught.value.free == 100 * MIB
    assert pool.used == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_not_promised_twice_though_nobody_wrote_to_it(device: Device, pool: Pool) -> None:
    available = host_memory.available()
    assert available is not None
    chunk = min(available // 4, pool.largest)
    retained: list[Array] = []
    several = (empty((chunk,), np.dtype(np.uint8), device) for _ in range(available // chunk + 2))
    with pytest.raises(OutOfMemoryError, match="delete arrays"):
        retained.extend(several)
    assert len(retained) >= 2
    # What else of this process lies in memory hides as much that nobody wrote to; and other
    # processes may have given some back meanwhile.
    most = max(available, host_memory.available() or 0)
    assert pool.used <= most + (host_memory.resident() or 0) + (256 << 20)


@pytest.mark.parametrize("memory", ["there", "gone"])
def test_a_refused_allocation_is_retried_after_unused_blocks_are_freed(
    memory: str, device: Device, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = Pool._fresh
    refused = []

    def refusing(self: Pool, size: int) -> object:
        if memory == "gone" or not refused:
            refused.append(size)
            raise cl.MemoryError(NO_MEMORY)
        return fresh(self, size)

    pool.take(MIB)  # an unused block
    monkeypatch.setattr(Pool, "_fresh", refusing)
    if memory == "there":
        storage = pool.take(2 * MIB)
        assert (pool.used, pool.pooled) == (2 * MIB, 0)
        del storage
    else:
        with pytest.raises(OutOfMemoryError, match="the driver refused"):
            pool.take(2 * MIB)
        assert (pool.used, pool.pooled) == (0, 0)


def test_the_machines_memory_is_known() -> None:
    total, available = host_memory.total(), host_memory.available()
    assert total is not None
    assert available is not None
    assert 0 < available <= total


BESIDE = """__kernel void beside(__global uchar *o, int at) { o[at] = 1; }"""


@pytest.mark.parametrize("at", [-1, 1000, 1003])
def test_guard_bytes_show_writes_outside_a_block(
    at: int, device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded = Pool(device, guard=True)
    monkeypatch.setattr(device, "pool", guarded)
    storage = guarded.take(1000)
    kernel = device.kernel(BESIDE, "beside", 1, [np.int32])
    kernel.launch((1,), None, (storage,), 999)
    guarded.check()
    kernel.launch((1,), None, (storage,), at)
    side, away = ("before", 1) if at < 0 else ("after", at - 999)
    with pytest.raises(KernelError, match=f"1 bytes {side} a block of 1000, the nearest {away}"):
        guarded.check()
    guarded.check()
    del storage
    guarded.reclaim()
    assert (guarded.used, guarded.pooled) == (0, 0)


def test_arrays_at_the_end_of_a_process_are_silent(process: Process) -> None:
    code = """
import numpy as np
from portarray._opencl.registry import devices
from portarray.clarray.engine.transfer import from_numpy
KERNEL = "__kernel void add(__global int *o, int v) { o[get_global_id(0)] += v; }"
kept = []
class Keeper:
    def __init__(self, x): self.x = x; self.self = self
for one in devices():
    x = from_numpy(np.ones(1 << 20, np.int32), one)
    one.kernel(KERNEL, "add", 1, [np.int32]).launch((1 << 20,), None, (x.storage,), 1)
    kept += [x, Keeper(x)]
"""
    result = process(code)
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_memory_goes_back_to_the_system(pool: Pool, device: Device) -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    for _ in range(5):  # other threads' memory comes and goes
        gc.collect()
        initial = resident()
        x = filled(device, 32 * MIB, 1)
        device.finish()
        grown = resident() - initial
        del x
        pool.reclaim()
        growth = resident() - initial
        if grown > 100 * MIB and growth < 40 * MIB:
            return
    pytest.fail(f"{grown >> 20} MiB more with an array of 128 MiB, {growth >> 20} MiB without it")
