from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

import portarray as pa
from portarray._devices import discovery
from portarray._devices.selection import current, resolve
from portarray.backends.types import MemoryFigures

GIB = 2**30


@pytest.fixture
def library(fake: str) -> Any:
    """The fake library's object, whose reports a test may change."""
    from fake.backend import LIBRARY

    return LIBRARY


def test_cpu_is_always_there() -> None:
    assert pa.cpu_device() is pa.device("cpu") is pa.device("numpy")


def test_supported_is_not_functional() -> None:
    names = pa.supported_backends()
    assert {"numpy", "torch", "cupy", "dpnp", "mlx", "jax", "clarray"} <= set(names)
    assert pa.functional("numpy")
    assert pa.functional("cpu")
    assert not pa.functional("tpu")
    assert not pa.functional("numpy:cpu:1")
    with pytest.raises(pa.UnknownDeviceError):
        pa.functional("nunpy")


def test_devices_are_ordered(fake: str, no64bit: str) -> None:
    names = [str(device) for device in pa.devices()]
    assert names.index("fake:cuda:0") + 1 == names.index("fake:cuda:1")
    assert names.index("fake:cuda:1") < names.index("numpy:cpu:0") < names.index(no64bit)
    assert pa.device("auto") is pa.devices()[0]


def test_a_cpu_comes_first_through_its_own_platform() -> None:
    def candidate(platform: str, rank: int, kind: str = "cpu") -> Any:
        info = SimpleNamespace(virtual=False, ranks={platform: rank})
        backend = SimpleNamespace(info=info)
        return SimpleNamespace(kind=kind, platform=platform, index=0, _backend=backend)

    candidates = [candidate("opencl", 1), candidate("oneapi", 1), candidate("cpu", 90)]
    assert sorted(candidates, key=discovery.order)[0].platform == "cpu"
    candidates += [candidate("tpu", 1, "accelerator"), candidate("metal", 1, "gpu")]
    assert [entry.platform for entry in sorted(candidates, key=discovery.order)][:2] == [
        "metal",
        "tpu",
    ]


def test_devices_keep_their_identity_after_a_reset(fake: str) -> None:
    x = pa.ones(2, device="fake:cuda:1")
    pa.reset_gpu_device()
    assert pa.device("fake:cuda:1") is x.device
    assert (x + pa.ones(2, device="fake:cuda:1")).device is x.device


def test_exact_device(fake: str) -> None:
    assert str(pa.device("fake:cuda:1")) == "fake:cuda:1"
    assert str(pa.device("fake:1")) == "fake:cuda:1"
    with pytest.raises(pa.DeviceNotFunctionalError, match="fake sees 2 devices, 0 to 1") as caught:
        pa.device("fake:cuda:2")
    assert list(caught.value.reasons) == ["fake:cuda:2"]


def test_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, fake: str) -> None:
    monkeypatch.setattr(discovery, "is_installed", lambda info: info.library == "numpy")
    with pytest.raises(pa.DeviceNotFunctionalError, match="Fake is not installed") as caught:
        pa.device("fake")
    assert 'pip install "fake"' in str(caught.value)
    assert current() is pa.device("numpy")


def test_every_candidate_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "is_installed", lambda info: info.library == "numpy")
    pa.reset_gpu_device()
    with pytest.raises(pa.DeviceNotFunctionalError, match="every candidate was rejected") as caught:
        pa.device("gpu")
    reasons = caught.value.reasons
    assert {"cupy:cuda", "torch:cuda", "torch:rocm", "mlx:metal", "dpnp:oneapi"} <= set(reasons)
    assert all("pip install" in reason for reason in reasons.values())
    with pytest.raises(pa.DeviceNotFunctionalError):
        pa.gpu_device(required=True)
    assert pa.gpu_device() is pa.cpu_device()
    pa.reset_gpu_device()


def test_gpu_choice_is_remembered(fake: str, library: Any) -> None:
    first = pa.gpu_device()
    assert first is pa.gpu_device(required=True) is pa.device("gpu")
    assert first.kind == "gpu"
    library.count = 0
    try:
        assert pa.gpu_device() is first
        pa.reset_gpu_device()
        assert pa.gpu_device() is not first
    finally:
        library.count = 2


def test_native_device_objects(fake: str, library: Any) -> None:
    from over_numpy import NativeDevice

    assert pa.device(NativeDevice("fake", 1)) is pa.device("fake:cuda:1")
    assert pa.ones(3, device=NativeDevice("fake", 1)).device is pa.device("fake:cuda:1")
    with pytest.raises(pa.DeviceNotFunctionalError, match="fake sees 2 devices"):
        pa.device(NativeDevice("fake", 7))


def test_torch_devices() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert pa.device(torch.device("cpu")) is pa.device("torch:cpu:0")


def test_anything_else_is_a_type_error() -> None:
    for obj in (3, b"cpu", object(), ["cpu"], pa.ones(2)):
        with pytest.raises(TypeError, match="does not name a device"):
            pa.device(obj)
    with pytest.raises(TypeError, match="does not name a device"):
        resolve(3)


def test_default_device(fake: str) -> None:
    automatic = current()
    chosen = pa.device("fake:cuda:1")
    try:
        assert pa.set_default_device("fake:cuda:1") is chosen
        assert pa.ones(2).device is resolve(None) is chosen
        with pa.device("numpy"):
            assert current() is pa.device("numpy")
        for wrong in ("fake:cuda:9", "fkae", 3):
            with pytest.raises((pa.PortarrayError, TypeError)):
                pa.set_default_device(wrong)
            assert current() is chosen
    finally:
        assert pa.set_default_device(None) is None
    assert current() is automatic


def test_memory_passes_devices_over(fake: str, library: Any) -> None:
    library.memory = {0: MemoryFigures(8 * GIB, 1 * GIB), 1: MemoryFigures(8 * GIB, 4 * GIB)}
    try:
        for request in ("auto", "gpu", "cuda", "fake"):
            pa.reset_gpu_device()
            with pytest.warns(pa.DeviceSelectionWarning, match=r"1\.00 GiB\) are free") as caught:
                assert pa.device(request, memory=2 * GIB) is pa.device("fake:cuda:1")
            assert "fake:cuda:0" in str(caught[0].message)
            assert caught[0].filename == __file__
            # The text alone still means the best device, asked for before or not.
            for _ in range(2):
                assert pa.device(request) is pa.device("fake:cuda:0")
        assert pa.device("fake", memory=GIB) is pa.device("fake:cuda:0")
        with pytest.raises(pa.DeviceNotFunctionalError, match="4,294,967,296 bytes") as error:
            pa.device("fake", memory=5 * GIB)
        assert set(error.value.reasons) == {"fake:cuda:0", "fake:cuda:1"}
        for exact in ("fake:cuda:0", pa.device("fake:cuda:0")):
            with pytest.raises(pa.DeviceNotFunctionalError, match="2,147,483,648 bytes"):
                pa.device(exact, memory=2 * GIB)
        assert pa.device("fake") is pa.device("fake:cuda:0")
    finally:
        library.memory = {}


def test_a_preferred_gpu_has_the_memory(
    fake: str, library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "memory", {0: MemoryFigures(8 * GIB, 1 * GIB)})
    monkeypatch.setenv("PORTARRAY_DEVICE", "gpu")
    assert pa.device("auto", memory=GIB) is pa.device("fake:cuda:0")
    assert pa.device("auto", memory=2 * GIB) is pa.device("fake:cuda:1")
    assert pa.device("auto") is pa.device("fake:cuda:0")


def test_a_preferred_device_may_lack_the_memory(
    fake: str, library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.memory = {0: MemoryFigures(8 * GIB, 1 * GIB), 1: MemoryFigures(8 * GIB, 4 * GIB)}
    monkeypatch.setenv("PORTARRAY_DEVICE", "fake:cuda:0")
    try:
        assert pa.device("auto", memory=GIB) is pa.device("fake:cuda:0")
        with pytest.warns(pa.DeviceSelectionWarning) as caught:
            assert pa.device("auto", memory=2 * GIB) is pa.device("fake:cuda:1")
        assert "PORTARRAY_DEVICE prefers 'fake:cuda:0', but" in str(caught[0].message)
    finally:
        library.memory = {}


def test_unknown_memory_is_taken(fake: str) -> None:
    assert pa.device("fake", memory=10**18) is pa.device("fake:cuda:0")


def test_memory_must_be_a_number_of_bytes() -> None:
    with pytest.raises(TypeError, match="must be an integer number of bytes, not '4 GiB'"):
        pa.device("cpu", memory="4 GiB")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="memory must not be negative, got -1"):
        pa.device("cpu", memory=-1)


def test_a_broken_device_is_not_passed_over_in_silence(
    fake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = pa.device("fake")._backend
    right = devices.native_device

    def native_device(platform: str, index: int) -> object:
        if index == 0:
            raise RuntimeError("fell off the bus")
        return right(platform, index)

    monkeypatch.setattr(devices, "native_device", native_device)
    pa.reset_gpu_device()
    with pytest.warns(pa.DeviceSelectionWarning, match="fell off the bus"):
        assert pa.device("fake") is pa.device("fake:cuda:1")
    with pytest.raises(pa.DeviceNotFunctionalError, match="fell off the bus"):
        pa.device("fake:cuda:0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pa.device("fake:cuda:1").index == 1
    monkeypatch.undo()


def test_synchronize_and_reclaim(fake: str, library: Any) -> None:
    pa.device("fake:cuda:1")
    library.synchronized.clear()
    library.reclaimed.clear()
    pa.synchronize("fake:cuda:1")
    pa.reclaim("fake:cuda:1")
    assert library.synchronized == library.reclaimed == [1]
    pa.synchronize()
    assert {0, 1} <= set(library.synchronized)
    pa.synchronize("numpy")
    pa.reclaim("numpy")


def test_a_card_is_current_while_it_is_queried(
    fake: str, library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = pa.device("fake:cuda:1")._backend
    calls: list[tuple[str, int]] = []
    for name in ("memory", "synchronize", "reclaim"):
        original = getattr(backend, name)
        monkeypatch.setattr(
            backend,
            name,
            lambda native, original=original, name=name: (
                calls.append((name, library.current)),
                original(native),
            )[1],
        )
    for function in (pa.memory, pa.synchronize, pa.reclaim):
        function("fake:cuda:1")
    assert calls == [("memory", 1), ("synchronize", 1), ("reclaim", 1)]
    assert library.current == 0


def test_memory_figures() -> None:
    for device in pa.devices():
        figures = pa.memory(device)
        for value in (figures.total, figures.free, figures.used, figures.pooled):
            assert value is None or value >= 0
    assert pa.memory("numpy").total == pa.memory(pa.device("numpy")).total


def test_only_imported_libraries_are_considered() -> None:
    modules = set(sys.modules)
    with pytest.raises(TypeError):
        pa.device(object())
    assert not {"cupy", "jax", "mlx", "dpnp", "pyopencl"} & (set(sys.modules) - modules)
