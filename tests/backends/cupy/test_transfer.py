"""CuPy's transfers as far as they work without a GPU: refusals, streams and views."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from portarray import _dlpack as dlpack
from portarray.backends import registry

cupy = pytest.importorskip("cupy", exc_type=ImportError)

from portarray.backends.cupy import transfer as module  # noqa: E402

transfer = registry.load_backend("cupy")


class Producer:
    """Data on a DLPack device, of a version before 1.0 or after."""

    def __init__(self, device: tuple[int, int], *, versions: bool = True) -> None:
        self.device = device
        self.versions = versions
        self.options: dict[str, Any] = {}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        if not self.versions and "max_version" in options:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.options = options
        return np.zeros(3).__dlpack__()


@pytest.mark.filterwarnings("ignore:ExternalStream is deprecated")
@pytest.mark.parametrize(
    ("stream", "is_hip", "expected_stream"),
    [
        # DLPack: 1 is CUDA's legacy default stream, 2 the default stream of the thread; on ROCm
        # 0 is the default stream.
        ("null", False, 1),
        ("ptds", False, 2),
        (4711, False, 4711),
        ("null", True, 0),
        (4711, True, 4711),
    ],
)
def test_producers_get_the_current_stream(
    monkeypatch: pytest.MonkeyPatch, stream: str | int, is_hip: bool, expected_stream: int
) -> None:
    current = (
        cupy.cuda.ExternalStream(stream)
        if isinstance(stream, int)
        else getattr(cupy.cuda.Stream, stream)
    )
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda: current)
    monkeypatch.setattr(cupy.cuda.runtime, "is_hip", is_hip)
    for producer in (Producer((2, 0)), Producer((2, 0), versions=False)):
        dlpack.take(producer, stream=module._stream())
        assert producer.options["stream"] == expected_stream
        assert producer.options.get("max_version") == ((1, 0) if producer.versions else None)


@pytest.mark.parametrize(("is_hip", "kind", "read"), [(False, 2, {2, 13}), (True, 10, {10})])
def test_places_are_those_of_dlpack(
    monkeypatch: pytest.MonkeyPatch, is_hip: bool, kind: int, read: set[int]
) -> None:
    monkeypatch.setattr(cupy.cuda.runtime, "is_hip", is_hip)
    device = cupy.cuda.Device(3)
    assert transfer.dlpack_device_of(device) == (kind, 3)
    assert transfer.readable_dlpack_types(device) == read


def test_the_read_only_flag_of_capsules_is_read() -> None:
    values = np.arange(3)
    assert not dlpack.Held(values.__dlpack__(max_version=(1, 0))).read_only
    values.flags.writeable = False
    assert dlpack.Held(values.__dlpack__(max_version=(1, 0))).read_only
    # Before version 1.0 DLPack could not say.
    assert not dlpack.Held(np.arange(3).__dlpack__()).read_only


@pytest.mark.parametrize("kind", [4, 8, 14, 15])  # OpenCL, Metal, oneAPI, WebGPU
def test_devices_that_cupy_cannot_read(kind: int) -> None:
    with pytest.raises(BufferError, match=rf"cannot read DLPack device \({kind}, 0\)"):
        transfer.from_dlpack(Producer((kind, 0)), cupy.cuda.Device(0), copy=None)


def test_host_memory_is_never_shared(ghost: Any) -> None:
    device = cupy.cuda.Device(0)
    assert not transfer.on_host(device)
    with pytest.raises(ValueError, match="copy=False, but <CUDA Device 0> does not use host"):
        transfer.from_host(np.zeros(3), device, copy=False)
    with pytest.raises(ValueError, match="copy=False, but <CUDA Device 0> does not use host"):
        transfer.from_dlpack(np.zeros(3), device, copy=False)
    with pytest.raises(ValueError, match="copy=False, but an array on <CUDA Device 1>"):
        transfer.to_host(ghost((3,), device=1), copy=False)


def test_moving(ghost: Any) -> None:
    x = ghost((3,), device=1)
    for copy in (None, False):
        assert transfer.move(x, cupy.cuda.Device(1), copy=copy) is x
    with pytest.raises(ValueError, match="from <CUDA Device 1> to <CUDA Device 0> copies it"):
        transfer.move(x, cupy.cuda.Device(0), copy=False)


def test_export_elsewhere_is_refused(ghost: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Which kind of memory an array lies in only a driver knows.
    monkeypatch.setattr(transfer, "dlpack_device", lambda x: (2, 1))
    x = ghost((3,), device=1)
    options: dict[str, Any] = {"stream": None, "max_version": (1, 0)}
    with pytest.raises(BufferError, match=r"\(2, 1\) and to the CPU \(1, 0\), not to \(2, 0\)"):
        transfer.to_dlpack(x, dl_device=(2, 0), copy=None, **options)
    with pytest.raises(BufferError, match="copy=False, but the array on <CUDA Device 1>"):
        transfer.to_dlpack(x, dl_device=(1, 0), copy=False, **options)


def test_arrays_without_axes_keep_the_sign_of_zero(
    ghost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # CuPy makes them by filling with a scalar: https://github.com/cupy/cupy/blob/v14.2.0/cupy/
    # _core/core.pyx, _array_default and ndarray.fill, which sets memory to 0 for -0.0.
    calls = []

    def array(values: Any, **options: Any) -> Any:
        calls.append((values, options))
        return ghost(values.shape, values.dtype.name)

    monkeypatch.setattr(cupy, "array", array)
    monkeypatch.setattr(module, "_is_read_late", lambda values: True)
    for values in (np.asarray(-0.0), np.asarray(-0.0, ">f4"), np.zeros((2, 0)), np.ones((2, 3)).T):
        for non_blocking in (False, True):
            x = transfer.from_host(values, nullcontext(), copy=None, non_blocking=non_blocking)
            host, options = calls.pop()
            assert x.shape == values.shape
            assert host.ndim > 0
            assert host.dtype.isnative
            assert np.array_equal(np.signbit(host).ravel(), np.signbit(values).ravel())
            assert options == {"copy": True, "blocking": not non_blocking}


@pytest.mark.parametrize("is_hip", [False, True])
def test_both_gpus_wait_for_a_copy_between_them(
    monkeypatch: pytest.MonkeyPatch, is_hip: bool
) -> None:
    events: list[Any] = []

    class Ghost:
        device = nullcontext("source")

        def copy(self) -> str:
            events.append("copied")
            return "copy"

    target = nullcontext("target")
    monkeypatch.setattr(cupy, "ascontiguousarray", lambda x: x)
    monkeypatch.setattr(cupy.cuda.runtime, "is_hip", is_hip)
    monkeypatch.setattr(
        module,
        "_wait",
        lambda later, earlier: events.append((later.enter_result, earlier.enter_result)),
    )
    assert transfer.move(Ghost(), target, copy=None) == "copy"
    # On the target's stream, with ROCm on the source's, after what is under way on the other.
    stream, waiting = ("source", "target") if is_hip else ("target", "source")
    assert events == [(stream, waiting), "copied", (waiting, stream)]


def test_arrays_that_cannot_be_page_locked_go_through_pageable_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Ghost:
        device = nullcontext()
        nbytes = 1 << 40

    said = ["cudaErrorMemoryAllocation: out of memory", "cudaErrorIllegalAddress: it is gone"]

    def fail(size: int) -> None:
        error = cupy.cuda.runtime.CUDARuntimeError.__new__(cupy.cuda.runtime.CUDARuntimeError)
        RuntimeError.__init__(error, said.pop(0))
        raise error

    monkeypatch.setattr(cupy.cuda, "alloc_pinned_memory", fail)
    assert transfer.pinned_copy(Ghost()) is None
    with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="IllegalAddress"):
        transfer.pinned_copy(Ghost())
