from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray._opencl.programs import Programs
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.errors import KernelError
from portarray.clarray.strided import empty

THREADS = 8

STEP = """__kernel void advance(__global long *o, const __global long *a, long factor, long plus) {
    const long i = get_global_id(0);
    o[i] = a[i] * factor + plus;
}
"""


def together(work: Callable[[int], None]) -> None:
    """Run work in threads that start at once; raise what one of them raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def run(index: int) -> None:
        start.wait()
        try:
            work(index)
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_launches_keep_their_arguments_and_their_order(device: Device) -> None:
    kernel = device.kernel(STEP, "advance", 2, [np.int64, np.int64])

    def work(index: int) -> None:
        size = 100 + 10 * index
        x = from_numpy(np.arange(size), device)
        expected = np.arange(size)
        for step in range(50):
            y = empty((size,), np.dtype(np.int64), device)
            kernel.launch((size,), None, (y.storage, x.storage), index % 3, step)
            expected = expected * (index % 3) + step
            x = y
            if step % 10 == index:
                assert to_numpy(x).tolist() == expected.tolist()
        assert to_numpy(x).tolist() == expected.tolist()

    together(work)


def test_whoever_waits_finds_finished_memory(device: Device) -> None:
    """A thread's wait does not hide pending work from other threads."""
    kernel = device.kernel(STEP, "advance", 2, [np.int64, np.int64])
    size = 1 << 14

    def work(index: int) -> None:
        x = from_numpy(np.zeros(size, np.int64), device)
        y = from_numpy(np.zeros(size, np.int64), device)
        for step in range(1, 60):
            kernel.launch((size,), None, (y.storage, x.storage), 1, step)
            device.finish()
            visible = to_numpy(y)
            assert (visible == step).all()

    together(work)


def test_a_kernel_that_fails_harms_no_other_thread(device: Device) -> None:
    kernel = device.kernel(STEP, "advance", 2, [np.int64, np.int64])

    def work(index: int) -> None:
        x = from_numpy(np.arange(64), device)
        for step in range(10):
            y = empty((64,), np.dtype(np.int64), device)
            if index % 2:
                with pytest.raises(KernelError, match="'advance' did not run"):
                    kernel.launch((64,), (1 << 30,), (y.storage, x.storage), 2, step)
                with pytest.raises(KernelError, match="could not be built"):
                    device.kernel(f"__kernel void bad{index}() {{ missing; }}", f"bad{index}", 0)
            else:
                kernel.launch((64,), None, (y.storage, x.storage), 2, step)
                assert to_numpy(y).tolist() == [2 * value + step for value in range(64)]

    together(work)


def test_programs_requested_at_once_are_built_once(device: Device) -> None:
    programs = Programs(device)
    result = []
    together(
        lambda index: result.append(
            programs.kernel(STEP, "advance", 2, (np.dtype(np.int64),) * 2, ())
        )
    )
    assert len(set(map(id, result))) == 1


def test_blocks_are_given_to_one_thread_only(device: Device) -> None:
    def work(index: int) -> None:
        for round_ in range(200):
            size = 50 + 37 * (round_ % 5)
            x = from_numpy(np.full(size, index), device)
            y = from_numpy(np.full(size, index + 100), device)
            assert (to_numpy(x) == index).all()
            assert (to_numpy(y) == index + 100).all()
            if round_ % 50 == index:
                device.pool.reclaim()

    together(work)
    assert device.pool.used >= 0
