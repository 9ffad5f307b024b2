"""Batches that move to a device ahead of their use, and those of an iterator one by one."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portarray as pa


def batches(count: int, events: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield batches of count arrays, and record what is made and the end."""
    events = [] if events is None else events
    try:
        for n in range(count):
            events.append(f"made {n}")
            yield {"x": np.full((2, 2), n, dtype=np.float32), "name": f"batch {n}"}
    finally:
        events.append("closed")


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "portarray-prefetch"]


def wait_for(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2000):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("the condition did not become true within 10 s")


def test_batches_arrive_in_order_as_arrays_of_the_device(device: str) -> None:
    moved = list(pa.prefetch(batches(4), device))
    assert [batch["name"] for batch in moved] == ["batch 0", "batch 1", "batch 2", "batch 3"]
    assert [batch["x"].tolist() for batch in moved] == [[[n, n], [n, n]] for n in range(4)]
    assert {type(batch["x"]) for batch in moved} == {pa.Array}
    assert {batch["x"].device for batch in moved} == {pa.device(device)}
    assert not threads()


@given(values=st.lists(st.integers(-9, 9), max_size=8), depth=st.integers(1, 4))
def test_drawn_batches_of_every_depth_arrive_unchanged(values: list[int], depth: int) -> None:
    trees = [(n, [np.asarray([n]), {"n": None}], "text") for n in values]
    moved = list(pa.prefetch(trees, "numpy", depth))
    assert [(n, [x.tolist(), more], text) for n, (x, more), text in moved] == [
        (n, [[n], {"n": None}], "text") for n in values
    ]


@pytest.mark.parametrize("depth", [1, 3])
def test_at_most_depth_batches_are_made_ahead(depth: int) -> None:
    events: list[str] = []
    with pa.prefetch(batches(9, events), "numpy", depth) as ahead:
        for used in range(4):
            wait_for(lambda used=used: len(events) >= used + depth)  # type: ignore[misc]
            threading.Event().wait(0.02)
            assert events == [f"made {n}" for n in range(used + depth)]
            next(ahead)


def test_a_loader_may_reuse_its_buffer(device: str) -> None:
    def reusing() -> Iterator[np.ndarray]:
        buffer = np.zeros(1000)
        for n in range(6):
            buffer[:] = n
            yield buffer

    moved = pa.prefetch(reusing(), device, 4, narrow=True)
    assert [float(pa.max(x)) for x in moved] == [0, 1, 2, 3, 4, 5]


def test_arrays_of_the_device_are_copied_unless_copy_is_false() -> None:
    x = np.zeros(3)
    (copied,) = pa.prefetch([x], "numpy")
    (shared,) = pa.prefetch([x], "numpy", copy=False)
    (native,) = pa.prefetch([x], "numpy", native=True)
    x += 1
    assert (copied.tolist(), shared.tolist()) == ([0, 0, 0], [1, 1, 1])
    assert isinstance(native, np.ndarray)
    assert native.tolist() == [0, 0, 0]


def test_an_error_of_the_iterable_is_raised_in_place_of_its_batch(device: str) -> None:
    def failing() -> Iterator[np.ndarray]:
        yield np.zeros(1, dtype=np.float32)
        yield np.ones(1, dtype=np.float32)
        raise LookupError("no file 2")

    ahead = pa.prefetch(failing(), device, 5)
    assert [float(next(ahead)[0]), float(next(ahead)[0])] == [0, 1]
    with pytest.raises(LookupError, match="no file 2") as caught:
        next(ahead)
    assert caught.value.__notes__ == ["at batch 2 of pa.prefetch"]
    assert not threads()
    assert list(ahead) == []


def test_a_batch_that_cannot_be_moved_is_an_error_in_its_place() -> None:
    events: list[str] = []

    def mixed() -> Iterator[Any]:
        yield from batches(1, events)
        yield object()
        events.append("not reached")

    ahead = pa.prefetch(mixed(), "numpy")
    assert next(ahead)["name"] == "batch 0"
    with pytest.raises(TypeError, match="a object is neither an array nor a tree") as caught:
        next(ahead)
    assert caught.value.__notes__ == ["at batch 1 of pa.prefetch"]
    assert events == ["made 0", "closed"]


@pytest.mark.parametrize("end", ["break", "close", "with", "cycle", "unused"])
def test_a_consumer_that_stops_early_ends_the_thread_and_the_generator(end: str) -> None:
    events: list[str] = []
    loader = batches(100, events)
    ahead = pa.prefetch(loader, "numpy")
    if end != "unused":
        assert next(ahead)["name"] == "batch 0"
    if end == "close":
        ahead.close()
        ahead.close()
        assert list(ahead) == []
    elif end == "with":
        with ahead:
            next(ahead)
    elif end == "cycle":
        cycle: list[Any] = [ahead]
        cycle.append(cycle)
        del cycle
    del ahead
    gc.collect()
    assert not threads()
    assert events[-1] == "closed"
    assert len(events) < 6


def test_batches_that_were_used_or_dropped_are_freed() -> None:
    class Tracked(np.ndarray):
        """An array that can be referenced weakly, and is passed on as it is."""

    alive: list[weakref.ref[Any]] = []
    is_used = threading.Event()

    def tracked() -> Iterator[list[Any]]:
        for _ in range(3):
            batch = [np.zeros(2).view(Tracked)]
            alive.append(weakref.ref(batch[0]))
            yield batch
            del batch
            is_used.wait(30)

    ahead = pa.prefetch(tracked(), "numpy", 3)
    next(ahead)
    wait_for(lambda: alive[0]() is None)  # while the thread waits for the loader
    is_used.set()
    wait_for(lambda: len(alive) == 3)
    ahead.close()
    assert [reference() is None for reference in alive] == [True] * 3


def test_an_error_of_a_generator_that_is_closed_is_raised_by_close() -> None:
    def careless() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            raise OSError("the disk is full")

    ahead = pa.prefetch(careless(), "numpy", 1)
    assert next(ahead) == 1
    with pytest.raises(OSError, match="the disk is full"):
        ahead.close()
    assert not threads()


def test_the_iterable_runs_in_the_callers_context() -> None:
    def device_of_zeros() -> Iterator[str]:
        yield str(pa.zeros(2).device)

    for device in pa.devices():
        with device:
            ahead = pa.prefetch(device_of_zeros(), "numpy")
        assert list(ahead) == [str(device)]


def test_loaders_of_pytorch(device: str) -> None:
    data = pytest.importorskip("torch.utils.data")
    pairs = [(np.full(3, n, dtype=np.float32), n) for n in range(6)]
    loader = data.DataLoader(pairs, batch_size=2)
    for moved in (pa.prefetch(loader, device), pa.to_device(iter(loader), device, native=False)):
        batches = list(moved)
        assert {type(x) for x, _ in batches} == {pa.Array}
        assert [x[:, 0].tolist() for x, _ in batches] == [[0, 1], [2, 3], [4, 5]]
        assert [n.tolist() for _, n in batches] == [[0, 1], [2, 3], [4, 5]]


PROGRAM = """
import os, sys
import numpy as np, portarray as pa

def batches():
    while True:
        yield np.zeros(2)

ahead = pa.prefetch(batches(), "numpy")
next(ahead)
while len(ahead._buffer._batches) < 2:
    pass
if hasattr(os, "fork"):
    child = os.fork()
    if not child:  # two batches are ready; nothing makes a third
        for _ in range(2):
            next(ahead)
        try:
            next(ahead)
        except RuntimeError as error:
            os._exit("a forked process does not have the thread" not in str(error))
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
next(ahead)
print("done", flush=True)
"""


def test_a_program_with_pending_batches_ends_and_a_forked_one_raises() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (({"x": 1}, "numpy"), TypeError, "a dict is not an iterable of batches\nHint: "),
        (("text", "numpy"), TypeError, "a str is not an iterable"),
        ((3, "numpy"), TypeError, "a int is not an iterable"),
        (([], None), TypeError, "None does not name a device"),
        (([], "numpy", 0), ValueError, "depth must be at least 1, not 0"),
        (([], "numpy", 1.0), TypeError, "depth must be an integer, not 1.0"),
        (([], "numpy", True), TypeError, "depth must be an integer, not True"),
        (([], "nowhere"), pa.UnknownDeviceError, "nowhere"),
    ],
)
def test_wrong_arguments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        pa.prefetch(*arguments)
    assert not threads()


# --- to_device of an iterator -------------------------------------------------------------------


def test_to_device_of_an_iterator_moves_each_batch_when_it_is_requested(device: str) -> None:
    events: list[str] = []
    moved = pa.to_device(batches(3, events), device, native=False)
    assert events == []
    assert next(moved)["x"].device is pa.device(device)
    assert events == ["made 0"]
    assert [batch["name"] for batch in moved] == ["batch 1", "batch 2"]


def test_to_device_of_an_iterator_checks_its_other_arguments_at_once() -> None:
    with pytest.raises(pa.UnknownDeviceError):
        pa.to_device(iter([]), "nowhere")
    with pytest.raises(TypeError, match="native must be True, False or None, not 1"):
        pa.to_device(iter([]), "numpy", native=1)  # type: ignore[call-overload]
