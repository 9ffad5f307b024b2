"""DLPack's capsules: unused, used once or twice, and their lifetimes."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import _dlpack as dlpack

DEVICES = [str(device) for device in pa.devices()]
LIBRARY = {text: text.partition(":")[0] for text in DEVICES}
CONSTANT = {"jax", "mlx"}
"""Libraries whose arrays never change."""
VERSIONS = (None, (0, 8), (1, 0), (1, 1), (9, 0))
STATM = Path("/proc/self/statm")
PAGE = 4096


def _of_numpy(x: Any) -> Any:
    return np.from_dlpack(x)


def _of_torch(x: Any) -> Any:
    return importlib.import_module("torch").from_dlpack(x).numpy()


def _of_jax(x: Any) -> Any:
    return np.asarray(importlib.import_module("jax.numpy").from_dlpack(x))


CONSUMERS: dict[str, Callable[[Any], Any]] = {"numpy": _of_numpy}
if "torch" in LIBRARY.values():
    CONSUMERS["torch"] = _of_torch
if "jax" in LIBRARY.values():
    CONSUMERS["jax"] = _of_jax


def versions(consumer: str) -> list[tuple[int, int] | None]:
    """Return the versions of DLPack whose capsules a consumer accepts."""
    return [
        version for version in VERSIONS if consumer != "jax" or version is None or version < (1, 0)
    ]


class InTheHand:
    """A producer that returns a given capsule, since libraries accept no bare ones."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_options: object) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class Producer:
    """A producer of host memory with DLPack 1.0, which exports once."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.calls = 0

    def _capsule(self, version: tuple[int, int] | None) -> Any:
        self.calls += 1
        assert self.calls == 1, "the capsule was requested twice"
        return self.values.__dlpack__(max_version=version)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: object = None,
        copy: bool | None = None,
    ) -> Any:
        return self._capsule(max_version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class OldProducer(Producer):
    """A producer from before DLPack 1.0, which accepts a stream only."""

    def __dlpack__(self, stream: object = None) -> Any:  # type: ignore[override]
        return self._capsule(None)


class NeverVersioned(Producer):
    """A producer that accepts every keyword and returns an unversioned capsule."""

    def __dlpack__(self, **_options: object) -> Any:
        return self._capsule(None)


PRODUCERS = (Producer, OldProducer, NeverVersioned)


def numbers(count: int = 6) -> np.ndarray[Any, Any]:
    """Return the numbers from 0 up, in memory that JAX can share."""
    block = np.zeros(4 * count + 128, dtype=np.uint8)
    start = -block.ctypes.data % 64
    values: np.ndarray[Any, Any] = block[start : start + 4 * count].view(np.float32)
    values[...] = np.arange(count)
    return values


def on_host(device: str) -> bool:
    """Return whether a device's capsules are of host memory."""
    pa_device = pa.device(device)
    return pa_device._backend.on_host(pa_device.native)


@pytest.fixture
def hosted(device: str) -> str:
    """A device whose capsules every library can import into host memory."""
    if not on_host(device):
        pytest.skip(f"{device} has its own memory")
    return device


def least_growth(act: Callable[[int], None], *, turns: int, enough: int) -> int:
    """Return the least growth of the resident size over several measurements.

    A leak grows every time, while other threads' memory varies. The first turns are not counted,
    and growth of more than ``enough`` is measured again, five times at most.
    """
    sizes: list[int] = []
    grown: list[int] = []
    while len(grown) < 5 and min(grown, default=enough) >= enough:
        for turn in range(turns):
            act(turn)
        gc.collect()
        sizes.append(int(STATM.read_text().split()[1]) * PAGE)
        grown = [current - previous for previous, current in pairwise(sizes)]
    return min(grown)


# --- out --------------------------------------------------------------------------------------


@pytest.mark.skipif(not STATM.exists(), reason="the resident size is read from /proc")
def test_unused_capsules_leave_no_memory_behind(hosted: str) -> None:
    kinds: tuple[dict[str, Any], ...] = ({}, {"max_version": (1, 0)}, {"copy": True})
    values = numbers(16384)

    def leave(turn: int) -> None:
        x = pa.asarray(values, device=hosted, copy=True)  # written, and so resident
        x.__dlpack__(**kinds[turn % 3])

    # A kind that keeps its array keeps a third of 1000 times 64 KiB, 21 MiB.
    assert least_growth(leave, turns=1000, enough=8 * 2**20) < 8 * 2**20


@pytest.mark.skipif(not STATM.exists(), reason="the resident size is read from /proc")
def test_used_capsules_leave_no_memory_behind(hosted: str) -> None:
    consumers = list(CONSUMERS.values())
    values = numbers(16384)

    def use(turn: int) -> None:
        x = pa.asarray(values, device=hosted, copy=True)
        consumers[turn % len(consumers)](x)
        pa.from_dlpack(PRODUCERS[turn % 3](values.copy()), device=hosted)

    # One kept of three would be 6 MiB.
    assert least_growth(use, turns=300, enough=4 * 2**20) < 4 * 2**20


def test_capsules_have_the_requested_version(hosted: str) -> None:
    x = pa.asarray(numbers(), device=hosted)
    for version in VERSIONS:
        for copy in (None, True):
            shown = repr(x.__dlpack__(max_version=version, copy=copy))
            versioned = version is not None and version >= (1, 0)
            assert (f'"dltensor{"_versioned" if versioned else ""}"') in shown, version


def test_consumers_that_ask_for_nonsense(device: str) -> None:
    x = pa.asarray(numbers(), device=device)
    for options in (
        *({"dl_device": value} for value in ("cpu", (1,), 1, (1, None))),
        *({"max_version": value} for value in ("1", (1,), 1, (1, None))),
    ):
        ((name, _),) = options.items()
        with pytest.raises(TypeError, match=rf"{name}=.*two integers, such as \(1, 0\)"):
            x.__dlpack__(**options)  # type: ignore[arg-type]
    for copy in ("yes", 1):
        with pytest.raises(TypeError, match=r"copy must be True, False or None"):
            x.__dlpack__(copy=copy)  # type: ignore[arg-type]
    assert '"dltensor"' in repr(x.__dlpack__(dl_device=np.asarray([1, 0]), copy=np.True_))  # type: ignore[arg-type]


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_every_consumer_takes_every_version(hosted: str, consumer: str) -> None:
    for version in versions(consumer):
        for copy in (None, True):
            x = pa.asarray(numbers(), device=hosted)
            result = CONSUMERS[consumer](InTheHand(x.__dlpack__(max_version=version, copy=copy)))
            np.testing.assert_array_equal(result, numbers())
    x = pa.asarray(numbers(), device=hosted)
    np.testing.assert_array_equal(CONSUMERS[consumer](x), numbers())


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_capsule_is_used_once(hosted: str, consumer: str) -> None:
    x = pa.asarray(numbers(), device=hosted)
    for version in versions(consumer):
        capsule = x.__dlpack__(max_version=version)
        first = CONSUMERS[consumer](InTheHand(capsule))
        assert '"used_dltensor' in repr(capsule)
        for target in DEVICES:
            with pytest.raises(
                BufferError, match=r"capsule of InTheHand was already consumed.*one"
            ):
                pa.from_dlpack(InTheHand(capsule), device=target)
        # Neither the first consumer nor the array minds.
        np.testing.assert_array_equal(first, numbers())
        np.testing.assert_array_equal(CONSUMERS[consumer](x), numbers())


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_a_capsule_outlives_its_array(hosted: str, consumer: str) -> None:
    values = numbers(4096)
    for version in versions(consumer):
        x = pa.asarray(values, device=hosted, copy=True)
        capsule = x[1:].__dlpack__(max_version=version)
        del x
        fillers = [pa.zeros((4096,), dtype=pa.float32, device=hosted) for _ in range(8)]
        result = CONSUMERS[consumer](InTheHand(capsule))
        del capsule
        fillers += [pa.zeros((4095,), dtype=pa.float32, device=hosted) for _ in range(8)]
        np.testing.assert_array_equal(result, values[1:])
        del fillers


def test_a_consumer_outlives_the_array(hosted: str) -> None:
    values = numbers(4096)
    for target in DEVICES:
        y = pa.from_dlpack(pa.asarray(values, device=hosted, copy=True)[1:].native, device=target)
        fillers = [pa.zeros((4095,), dtype=pa.float32, device=hosted) for _ in range(8)]
        np.testing.assert_array_equal(np.asarray(y.to_device("numpy")), values[1:])
        del fillers


def test_changes_after_the_export_of_a_capsule(hosted: str) -> None:
    x = pa.asarray(numbers(), device=hosted, copy=True)
    capsules = [x.__dlpack__(), x.__dlpack__(max_version=(1, 0)), x.__dlpack__(copy=True)]
    x[2] = 70.0
    pa.synchronize(hosted)
    elements = [float(np.from_dlpack(InTheHand(capsule))[2]) for capsule in capsules]
    # Arrays that never change were replaced by the assignment.
    changed = 2.0 if LIBRARY[hosted] in CONSTANT else 70.0
    assert elements == [changed, changed, 2.0]
    assert float(x[2]) == 70.0


# --- in ---------------------------------------------------------------------------------------


class Behind(Producer):
    """A producer whose data begins at an offset from its pointer."""

    def _capsule(self, version: tuple[int, int] | None) -> Any:
        capsule = super()._capsule(version)
        tensor = dlpack._tensor_in(capsule)
        tensor.data -= 8
        tensor.byte_offset = 8
        return capsule


class OldBehind(Behind, OldProducer):
    """The same producer with a capsule from before DLPack 1.0."""


@pytest.mark.parametrize("kind", [Behind, OldBehind])
def test_data_may_begin_behind_its_pointer(device: str, kind: type[Producer]) -> None:
    for copy in (None, True):
        values = numbers(16)
        x = pa.from_dlpack(kind(values), device=device, copy=copy)
        np.testing.assert_array_equal(np.asarray(x.to_device("numpy")), numbers(16))


@pytest.mark.parametrize("kind", PRODUCERS)
def test_producers_are_called_once(device: str, kind: type[Producer]) -> None:
    for values in (numbers(), numbers(24).reshape(4, 6)[1:, ::2], numbers(0), numbers()[::-1]):
        for make in (pa.from_dlpack, pa.asarray):
            producer = kind(values)
            x = make(producer, device=device)
            assert producer.calls == 1
            assert str(x.device) == device
            assert x.dtype == np.float32
            np.testing.assert_array_equal(np.asarray(x.to_device("numpy")), values)


@pytest.mark.parametrize("kind", PRODUCERS)
def test_memory_shared_with_a_producer(device: str, kind: type[Producer]) -> None:
    values = numbers()
    x = pa.from_dlpack(kind(values), device=device, copy=True)
    values[1] = 9.0
    x[2] = 8.0
    assert float(x[1]) == 1.0
    assert values[2] == 2.0
    values = numbers()
    if not on_host(device) or LIBRARY[device] in ("dpnp", "mlx"):
        with pytest.raises(ValueError, match=r"(?s)copy=False, but .*copy=None"):
            pa.from_dlpack(kind(values), device=device, copy=False)
        return
    x = pa.from_dlpack(kind(values), device=device, copy=False)
    values[1] = 9.0
    assert float(x[1]) == 9.0


def test_memory_that_a_producer_shares_is_written_through(device: str) -> None:
    values = numbers()
    x = pa.from_dlpack(Producer(values), device=device)
    x[2] = 8.0
    assert float(x[2]) == 8.0
    sharing = on_host(device) and LIBRARY[device] not in {*CONSTANT, "dpnp"}
    assert values[2] == (8.0 if sharing else 2.0)


def test_a_read_only_mark_is_honoured(device: str) -> None:
    values = numbers()
    values.flags.writeable = False
    for copy in (None, True):
        x = pa.from_dlpack(Producer(values), device=device, copy=copy)
        x[2] = 8.0
        x *= 2.0
        assert x.tolist() == [0.0, 2.0, 16.0, 6.0, 8.0, 10.0]
        assert values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    # They keep what is not to be written.
    if LIBRARY[device] in ("numpy", "jax") and on_host(device):
        x = pa.from_dlpack(Producer(values), device=device, copy=False)
        x[2] = 8.0
        assert values[2] == 2.0
    else:
        with pytest.raises(ValueError, match=r"(?s)copy=False, but .*copy=None"):
            pa.from_dlpack(Producer(values), device=device, copy=False)


class OnAGPU(Producer):
    """A producer on a GPU without a backend, which exports to the host on request."""

    def __dlpack__(self, *, dl_device: object = None, **options: Any) -> Any:
        if dl_device != (1, 0):
            raise BufferError("this memory is not the host's")
        return self._capsule(options.get("max_version"))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (15, 0)  # kDLWebGPU


def test_memory_that_no_device_reads_comes_through_the_host(device: str) -> None:
    for where in (device, None):
        for copy in (None, True):
            x = pa.from_dlpack(OnAGPU(numbers()), device=where, copy=copy)
            assert np.asarray(x.to_device("numpy")).tolist() == numbers().tolist()
            assert where is None or str(x.device) == device
        with pytest.raises(ValueError, match=r"(?s)copy=False, but .*\(15, 0\).*copy=None"):
            pa.from_dlpack(OnAGPU(numbers()), device=where, copy=False)


class Broken(Producer):
    """A producer whose method fails or returns something other than a capsule."""

    def __init__(self, gives: object) -> None:
        super().__init__(numbers())
        self.gives = gives

    def __dlpack__(self, **_options: object) -> Any:
        if isinstance(self.gives, Exception):
            raise self.gives
        return self.gives


def test_producers_that_fail(device: str) -> None:
    with pytest.raises(BufferError, match="the buffer is mapped"):
        pa.from_dlpack(Broken(BufferError("the buffer is mapped")), device=device)
    for nothing in (None, 7, numbers()):
        with pytest.raises(
            TypeError, match=r"Broken\.__dlpack__ returned .* instead of a DLPack capsule"
        ):
            pa.from_dlpack(Broken(nothing), device=device)


def test_bare_capsules_are_refused(hosted: str) -> None:
    x = pa.asarray(numbers(), device=hosted)
    capsule = x.__dlpack__()
    for target in DEVICES:
        with pytest.raises(TypeError, match=r"(?s)PyCapsule.*pass the object that made"):
            pa.from_dlpack(capsule, device=target)
        with pytest.raises(TypeError, match=r"(?s)PyCapsule.*pass the object that made"):
            pa.asarray(capsule, device=target)
    # It was not touched.
    assert '"dltensor"' in repr(capsule)
