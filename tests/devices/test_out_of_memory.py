"""Running out of memory raises one error on every device, and other arrays stay usable."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray._devices.memory import out_of_memory
from portarray.backends.common import sizes

PROGRAM = Path(__file__).with_name("exhausting_memory.py")


def test_running_out_in_every_way(device: str) -> None:
    """A new process runs out of memory, since limits apply to it and a library might end it."""
    if not pa.device(device)._backend.on_host(pa.device(device).native):
        pytest.skip("what is limited there is the host's memory")
    # Threads of drivers would each take 64 MiB of addresses for what they allocate.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), device],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
    )
    said = done.stdout.split("\n")
    assert done.returncode == 0, f"{said}\n{done.stderr}"
    assert {"zeros", "asarray", "to_device", "add", "matmul", "fft", "done"} <= set(said)
    if sys.platform == "linux":
        assert {"limited create", "limited compute", "limited move out"} <= set(said)


def test_the_error_says_how_to_free_memory() -> None:
    small = pa.errors.OutOfMemoryError("numpy:cpu:0", requested=10**9, free=10**8, total=10**10)
    assert "requested 1,000,000,000 bytes, free 100,000,000 bytes" in str(small)
    assert "delete arrays you no longer need and call pa.reclaim('numpy:cpu:0')" in str(small)
    absurd = pa.errors.OutOfMemoryError("numpy:cpu:0", requested=10**12, free=10**8, total=10**10)
    assert "work in smaller pieces, or use a device with more memory" in str(absurd)
    assert "delete" not in str(absurd)
    assert "delete" in str(pa.errors.OutOfMemoryError("numpy:cpu:0"))


def test_locals_of_failed_frames_are_released_while_the_error_is_handled(fake: str) -> None:
    class Counted:
        alive = 0

        def __init__(self) -> None:
            Counted.alive += 1

        def __del__(self) -> None:
            Counted.alive -= 1

    def inner() -> None:
        objects = [Counted(), Counted()]  # noqa: F841  (a local of a frame that the error keeps)
        raise MemoryError("no more")

    def outer() -> None:
        local = Counted()  # noqa: F841
        try:
            inner()
        except MemoryError as error:
            raise RuntimeError("the second try failed too") from error

    with pytest.raises(RuntimeError) as caught:
        outer()
    error, cause = caught.value, caught.value.__cause__
    assert Counted.alive == 3
    assert out_of_memory(error, pa.device("numpy")) is None  # not an error of this kind
    assert Counted.alive == 3
    assert isinstance(cause, MemoryError)
    assert out_of_memory(cause, pa.device("numpy")) is not None
    assert Counted.alive == 0


def test_a_librarys_own_error(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both in a call and late, when the device is synchronized."""
    from over_numpy import FakeMemoryError

    x = pa.ones(3, device="fake:cuda:1")

    def fail(*_: object, **__: object) -> None:
        raise FakeMemoryError("out of it")

    for name in ("synchronize", "from_host"):
        with monkeypatch.context() as patch:
            patch.setattr(x.device._backend, name, fail)
            with pytest.raises(pa.errors.OutOfMemoryError, match="fake:cuda:1") as caught:
                pa.synchronize(x.device) if name == "synchronize" else pa.asarray(
                    np.ones(4), device=x.device
                )
        assert isinstance(caught.value.__cause__, FakeMemoryError)


def test_an_error_that_the_caller_handles_is_left_alone() -> None:
    """The frames of an earlier error stay with its handler, generators included."""

    def suspended() -> Iterator[str]:
        try:
            evidence = "kept"
            raise KeyError(evidence)
        except KeyError as error:
            errors.append(error)
            yield evidence
            yield "goes on"

    def handling() -> None:
        try:
            raise errors[0]
        except KeyError:
            pa.zeros((1 << 24, 1 << 24), device="numpy")

    errors: list[KeyError] = []
    generator = suspended()
    assert next(generator) == "kept"
    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        handling()
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.__context__ is errors[0]
    frames = [frame for frame, _ in traceback.walk_tb(errors[0].__traceback__)]
    assert [frame.f_locals.get("evidence") for frame in frames] == [None, "kept"]
    assert next(generator) == "goes on"


def test_errors_hold_nothing_once_they_are_handled(device: str) -> None:
    """Objects of the caller's frames are freed without the garbage collector."""

    class Local:
        pass

    class Producer:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: object) -> object:
            raise BufferError("no")

    def attempt(call: Callable[[], object]) -> weakref.ref[Local]:
        local = Local()
        with contextlib.suppress(MemoryError, ValueError, TypeError, IndexError, BufferError):
            call()
            raise AssertionError(f"{call} is right")
        return weakref.ref(local)

    x = pa.ones((4, 3), dtype="float32", device=device)
    assert (x + x).shape == pa.reshape(x, (4, 3)).shape == x[:].shape  # the calls below are warm
    calls: list[Callable[[], object]] = [
        lambda: pa.zeros((1 << 20, 1 << 20), dtype="float32", device=device),
        lambda: pa.zeros((1 << 62, 8), device=device),
        lambda: x + pa.ones((5,), dtype="float32", device=device),
        lambda: pa.reshape(x, (5, 5)),
        lambda: x[7, 7],
        lambda: pa.from_dlpack(Producer(), device=device),
        lambda: pa.asarray(["a"], device=device),
        lambda: pa.asarray([1, 2], device=device, copy=False),
        lambda: pa.to_device({"x": x, "bad": Producer()}, device),
        lambda: x.to_device("nowhere"),
    ]
    for call in calls:
        attempt(call)  # whatever a first call leaves in caches
    gc.collect()
    gc.disable()
    try:
        alive = [index for index, call in enumerate(calls) if attempt(call)() is not None]
    finally:
        gc.enable()
    assert alive == []


def test_sizes_that_64_bits_do_not_count(device: str) -> None:
    """Sizes beyond 64 bits raise OutOfMemoryError, whatever the library would do."""
    x = pa.ones((4,), dtype="float32", device=device)
    calls: list[Callable[[int], object]] = [
        lambda n: pa.zeros((n,), device=device),
        lambda n: pa.empty((n, 3), device=device),
        lambda n: pa.ones((n, 0), device=device),
        lambda n: pa.full((2, n), 3, device=device),
        lambda n: pa.eye(n, device=device),
        lambda n: pa.eye(1, n, device=device),
        lambda n: pa.arange(n, dtype="float32", device=device),
        lambda n: pa.arange(0, -4 * n, -1, dtype="float32", device=device),
        lambda n: pa.arange(0.0, 1.0, 0.25 / n, dtype="float32", device=device),
        lambda n: pa.linspace(0, 1, n, device=device),
        lambda n: pa.logspace(0, 1, n, device=device),
        lambda n: pa.broadcast_to(x, (n, 4)),
        lambda n: pa.tile(x, n),
        lambda n: pa.tile(x, (n, 1)),
        lambda n: pa.repeat(x, n),
        lambda n: pa.repeat(pa.reshape(x, (2, 2)), n, axis=0),
        lambda n: pa.fft.fftfreq(n, device=device),
    ]
    for index, call in enumerate(calls):
        for n in (1 << 61, 1 << 62, 1 << 63, 1 << 70):
            with pytest.raises(pa.errors.OutOfMemoryError, match="smaller pieces") as caught:
                call(n)
            assert caught.value.device == device, index
            assert caught.value.requested is not None
            assert caught.value.requested >= 1 << 63
            assert "pa.reclaim" not in str(caught.value)
    with pytest.raises(pa.errors.OutOfMemoryError):
        pa.arange(-1e308, 1e308, 1e-300, dtype="float32", device=device)
    assert pa.sum(x).item() == 4


def test_sizes_too_large_for_a_card_are_reported_of_the_card(fake: str) -> None:
    card = pa.device(f"{fake}:cuda:0")
    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        pa.zeros((1 << 62,), device=card)
    assert caught.value.device == str(card)


def test_the_hosts_memory_is_not_a_cards(fake: str) -> None:
    """Staging for a device with separate memory runs out of host memory."""
    card, host = pa.device(f"{fake}:cuda:0"), pa.device("numpy")
    error = MemoryError("staging")
    errors = [out_of_memory(error, *devices) for devices in ((card,), (card, host), (host, card))]
    assert [translated.device for translated in errors if translated] == [str(host)] * 3


@pytest.mark.parametrize("name", ["torch:cpu", "jax:cpu"])
def test_requested_bytes_are_read_from_messages(name: str) -> None:
    if not pa.functional(name):
        pytest.skip(f"{name} is not here")
    requested_bytes = pa.device(name)._backend.requested_bytes
    said = {
        "torch:cpu": (
            ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 123 bytes.", 123),
            ("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total", 5 << 29),
            ("MPS backend out of memory. Tried to allocate 256 bytes on private pool.", 256),
            ("shapes differ", None),
        ),
        "jax:cpu": (
            ("RESOURCE_EXHAUSTED: Out of memory allocating 123 bytes.", 123),
            ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 456 bytes.", 456),
            ("RESOURCE_EXHAUSTED: Failed to allocate request for 2.0GiB on device", None),
            ("INVALID_ARGUMENT", None),
        ),
    }[name]
    assert [requested_bytes(RuntimeError(text)) for text, _ in said] == [
        bytes_ for _, bytes_ in said
    ]


def test_the_words_of_a_users_error_are_no_shortage(device: str) -> None:
    class Producer:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: object) -> object:
            raise RuntimeError("there is not enough memory of better days")

    with pytest.raises(Exception, match="better days") as caught:
        pa.from_dlpack(Producer(), device=device)
    assert not isinstance(caught.value, MemoryError)


def test_the_words_of_a_callback_under_jax_are_no_shortage() -> None:
    if not pa.functional("jax:cpu"):
        pytest.skip("JAX is not here")
    jax = pytest.importorskip("jax")

    def fails(x: object) -> object:
        raise RuntimeError("Out of memory, said the user; RESOURCE_EXHAUSTED")

    def called(x: Any) -> Any:
        return jax.pure_callback(fails, jax.ShapeDtypeStruct((3,), np.float32), x)

    with pytest.raises(Exception, match="said the user") as caught:
        pa.asarray(jax.jit(called)(np.ones(3, np.float32)), device="jax:cpu").tolist()
    assert out_of_memory(caught.value, pa.device("jax:cpu")) is None


def test_numpys_error_has_the_requested_bytes() -> None:
    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        pa.zeros((1 << 22, 1 << 22), dtype="float64", device="numpy")
    assert caught.value.requested == 1 << 47
    assert isinstance(caught.value.__cause__, MemoryError)
    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        pa.asarray(np.broadcast_to(np.int8(1), (1 << 30, 1 << 20)), device="numpy", copy=True)
    assert caught.value.requested is not None
    assert 1 << 50 <= caught.value.requested < (1 << 50) + (1 << 20)  # with what aligns it


LISTED = """
import os, pickle, resource
import numpy as np
import portarray as pa

x = pa.zeros((32 << 20,), dtype="uint8", device="numpy")
y = pa.zeros((16 << 20,), dtype="float64", device="numpy")
buffers = []
data = pickle.dumps(y, protocol=5, buffer_callback=buffers.append)
odd = memoryview(bytearray(1 + y.nbytes))[1:]
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * os.sysconf("SC_PAGE_SIZE") + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
calls = {  # nobody knows what Python asks for
    x.tolist: None,
    lambda: pickle.loads(data, buffers=[odd]): y.nbytes,
}
for call, requested in calls.items():
    try:
        call()
    except pa.OutOfMemoryError as error:
        assert error.requested == requested, error
        assert error.free <= 64 << 20 and error.total == limit, error
    else:
        raise AssertionError("the limit is lower")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the program reads Linux' files")
def test_lists_and_unpickling_run_out_alike() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LISTED], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_the_librarys_figure_goes_before_an_estimate() -> None:
    device = pa.device("numpy")
    measured = out_of_memory(sizes.TooLargeError((3,), 24), device, nbytes=12)
    estimated = out_of_memory(MemoryError("no more"), device, nbytes=12)
    assert [error.requested for error in (measured, estimated) if error] == [24, 12]
