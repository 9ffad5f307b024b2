from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import pickle
import random
import signal
import sys
import threading
from types import FrameType

import pytest

import portarray as pa
from portarray._devices.device import SCOPES
from portarray._devices.selection import current


def test_canonical_text_parses_back() -> None:
    for device in pa.devices():
        assert str(device) == f"{device.library}:{device.platform}:{device.index}"
        assert repr(device) == f"Device({str(device)!r})"
        assert pa.device(str(device)) is device
        assert device.kind in ("cpu", "gpu", "accelerator")
        assert device.name


def test_one_object_for_each_device() -> None:
    cpu = pa.device("numpy")
    assert pa.device("numpy:cpu:0") is pa.device("numpy:0") is pa.device("numpy:cpu") is cpu
    assert pa.device(cpu) is cpu
    assert {cpu: 1}[pa.device("numpy:cpu")] == 1
    pa.reset_gpu_device()
    assert pa.device("numpy") is cpu


def test_copies_and_pickles_are_the_same_object(fake: str) -> None:
    device = pa.device("fake:cuda:1")
    assert copy.copy(device) is copy.deepcopy(device) is device
    assert pickle.loads(pickle.dumps([device]))[0] is device


def test_unpickling_where_it_does_not_function(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(pa.device("fake:cuda:1"))
    pa.reset_gpu_device()
    monkeypatch.setattr(pa.device("fake")._backend, "count", lambda platform: 1)
    pa.reset_gpu_device()
    with pytest.raises(pa.DeviceNotFunctionalError, match="fake sees 1 device, with index 0"):
        pickle.loads(data)


def test_immutable() -> None:
    cpu = pa.device("numpy")
    for name in ("library", "index", "name", "backend", "anything"):
        with pytest.raises(AttributeError, match="devices are immutable"):
            setattr(cpu, name, 1)
    with pytest.raises(AttributeError, match="devices are immutable"):
        del cpu.name
    with pytest.raises(TypeError, match=r"portarray\.device"):
        pa.Device()
    assert str(cpu) == "numpy:cpu:0"


def test_scopes_nest_and_are_left(fake: str) -> None:
    first, second = pa.device("fake:cuda:0"), pa.device("fake:cuda:1")
    outside = current()
    with first:
        assert current() is first
        with second, second:
            assert current() is second
            with first:
                assert pa.ones(2).device is first
            assert current() is second
        assert current() is first
    assert current() is outside


def test_scope_is_left_on_errors(fake: str) -> None:
    outside = current()
    with pytest.raises(ZeroDivisionError), pa.device("fake"):
        1 / 0  # noqa: B018
    assert current() is outside


def test_scopes_are_entered_and_left_without_python_code() -> None:
    """Entering and leaving a scope runs no Python code, so no interrupt comes between."""
    ran: list[str] = []
    device = pa.device("numpy")

    def block() -> None:
        with device:
            pass

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":  # of a Python function
            ran.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        block()
    finally:
        sys.setprofile(None)
    assert ran == ["block"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that send signals")
def test_interrupted_blocks_are_left() -> None:
    """Ctrl-C anywhere in a loop of blocks leaves the default device as it was."""
    device, stack = pa.device("numpy"), SCOPES.get()
    drawn = random.Random(0)
    unclosed = 0

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    # Python drops what is raised in finalizers, an interrupt too: none are to run here, and one
    # that is dropped all the same is followed by another a second later.
    gc.collect()
    gc.disable()
    try:
        for _ in range(500):
            with contextlib.suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, drawn.uniform(2e-5, 2e-4), 1)
                while True:
                    with device:
                        pass
            signal.setitimer(signal.ITIMER_REAL, 0)
            unclosed += SCOPES.get() != stack
            SCOPES.set(stack)
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert unclosed == 0


def test_blocks_in_an_exit_stack(fake: str) -> None:
    first, second = pa.device("fake:cuda:0"), pa.device("fake:cuda:1")
    outside = current()
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(first) is first
        assert stack.enter_context(second) is second
        assert current() is second
    assert current() is outside


def test_blocks_of_generators_may_be_left_out_of_order(fake: str) -> None:
    first, second = pa.device("fake:cuda:0"), pa.device("fake:cuda:1")
    outside = current()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert current() is second
    second.__exit__(None, None, None)
    assert current() is outside


def test_threads_make_one_object(fake: str) -> None:
    pa.reset_gpu_device()
    start = threading.Barrier(8)
    objects: set[pa.Device] = set()

    def work() -> None:
        start.wait(10)
        objects.add(pa.device("fake:cuda:1"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert objects == {pa.device("fake:cuda:1")}


def test_threads_are_apart(fake: str) -> None:
    first, second = pa.device("fake:cuda:0"), pa.device("fake:cuda:1")
    outside = current()
    current_devices: dict[str, object] = {}
    entered, checked = threading.Event(), threading.Event()

    def work() -> None:
        current_devices["before"] = current()
        with second:
            entered.set()
            checked.wait(10)
            current_devices["inside"] = current()

    with first:
        thread = threading.Thread(target=work)
        thread.start()
        entered.wait(10)
        assert current() is first
        checked.set()
        thread.join()
    assert current_devices == {"before": outside, "inside": second}


def test_tasks_are_apart(fake: str) -> None:
    first, second = pa.device("fake:cuda:0"), pa.device("fake:cuda:1")
    outside = current()

    async def work(device: pa.Device, started_in: pa.Device) -> None:
        assert current() is started_in
        for _ in range(3):
            with device:
                await asyncio.sleep(0)
                assert current() is device
            assert current() is started_in

    async def both() -> None:
        with first:
            inside = asyncio.create_task(work(second, first))
        await asyncio.gather(inside, work(first, outside), work(second, outside))

    asyncio.run(both())
    assert current() is outside
