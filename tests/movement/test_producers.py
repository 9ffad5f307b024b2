"""DLPack producers on absent devices, with wrong reports, or with unusual dtypes.

``test_capsules.py`` tests valid producers on every device.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import _dlpack as dlpack
from portarray._movement import routes
from portarray.backends import registry


class Producer:
    """A producer of host memory that reports any device."""

    def __init__(self, values: Any, device: object = (1, 0)) -> None:
        self.values = values
        self.device = device
        self.calls: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> object:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        self.calls.append(options)
        return self.values.__dlpack__(max_version=options.get("max_version"))


class Elsewhere(Producer):
    """A producer that exports to its own device only."""

    def __dlpack__(self, **options: Any) -> Any:
        if options.get("dl_device") is not None:
            raise BufferError("only where it is")
        return super().__dlpack__(**options)


def test_a_device_that_nothing_drives_is_named() -> None:
    x = Elsewhere(np.ones(3), (14, 5))
    with pytest.raises(BufferError) as caught:
        pa.from_dlpack(x)
    said = str(caught.value)
    for part in ("Elsewhere", "(14, 5)", "kDLOneAPI", "numpy:cpu:0", "only where it is"):
        assert part in said
    with pytest.raises(ValueError, match=r"copy=False, but the data is on .*\(14, 5\)"):
        pa.from_dlpack(x, copy=False)
    with pytest.raises(BufferError, match="unknown type 99"):
        pa.asarray(Elsewhere(np.ones(3), (99, 0)))


def test_a_host_copy_is_requested_where_nothing_reads_the_memory() -> None:
    if not pa.functional("torch"):
        pytest.skip("PyTorch is not functional here")
    x = Producer(np.arange(3.0), (2, 7))
    y = pa.from_dlpack(x, device="torch", copy=True)
    np.testing.assert_array_equal(np.asarray(y), np.arange(3.0))
    (options,) = x.calls
    assert options["dl_device"] == (1, 0)


def test_a_producer_whose_capsule_is_elsewhere() -> None:
    values = np.ones(3)
    capsule = values.__dlpack__(max_version=(1, 0))
    tensor = dlpack._tensor_in(capsule)
    tensor.device_type = 2

    class Lying(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            return capsule

    with pytest.raises(BufferError, match=r"host memory, but its capsule .*\(2, 0\) \(kDLCUDA\)"):
        pa.from_dlpack(Lying(values))
    tensor.device_type = 1
    np.testing.assert_array_equal(np.asarray(pa.from_dlpack(Lying(values))), values)


@pytest.mark.parametrize("answer", [None, 5, "cpu", (1,), (1, 0, 0), ("cpu", 0)])
def test_a_producer_that_names_no_device(answer: object) -> None:
    with pytest.raises(TypeError, match=r"Producer\.__dlpack_device__\(\) returned .*\(1, 0\)"):
        pa.from_dlpack(Producer(np.ones(3), answer))


# --- dtypes ---------------------------------------------------------------------------------------


def test_a_producer_refused_for_its_dtype_can_still_be_read(nofloat64: str) -> None:
    values = np.arange(3.0)
    capsule = values.__dlpack__(max_version=(1, 0))

    class Once(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            return capsule

    x = Once(values)
    with pytest.raises(pa.DTypeNotSupportedError, match="does not support float64"):
        pa.from_dlpack(x, device=nofloat64)
    with pytest.raises(ValueError, match="copy=False"):
        pa.asarray(Producer(values), device=nofloat64, narrow=True, copy=False)
    y = pa.asarray(x, device=nofloat64, narrow=True)
    assert y.dtype == pa.float32
    np.testing.assert_array_equal(np.asarray(y), values)


def test_bfloat16_goes_where_it_exists(device: str) -> None:
    torch = pytest.importorskip("torch")
    x = Producer(torch.arange(5).bfloat16())
    target = pa.device(device)
    native = target._backend.dtypes(target.platform, target.index)
    has = "bfloat16" in map(str, native)
    if not has:
        with pytest.raises(pa.DTypeNotSupportedError, match="does not support bfloat16"):
            pa.from_dlpack(x, device=device)
    y = pa.asarray(x, device=device, narrow=True)
    assert y.dtype == (pa.bfloat16 if has else pa.float32)
    np.testing.assert_array_equal(np.asarray(y).astype(np.float32), np.arange(5.0))


def test_a_dtype_that_nobody_has() -> None:
    values = np.ones(4, np.uint8)
    capsule = values.__dlpack__(max_version=(1, 0))
    dlpack._tensor_in(capsule).dtype.code = 7  # an 8-bit floating-point format

    class Odd(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            return capsule

    with pytest.raises(TypeError, match="Odd has elements of an unsupported DLPack type"):
        pa.from_dlpack(Odd(values))


def test_strict_copies_of_producers(device: str) -> None:
    values = np.arange(6, dtype=np.float32)
    x = pa.asarray(Producer(values), device=device, copy=True)
    assert not np.shares_memory(np.asarray(x), values)
    with pytest.raises(ValueError, match="copy=False, but"):
        pa.asarray(Producer(values), device=device, dtype=pa.int32, copy=False)
    y = pa.asarray(Producer(values), device=device, dtype=pa.int32)
    assert y.dtype == pa.int32
    if not pa.transfer_plan(pa.asarray(values, device="numpy"), device).copies:
        z = pa.asarray(Producer(values), device=device, copy=False)
        assert np.shares_memory(np.asarray(z), values)


def test_elements_without_a_value_are_refused(device: str) -> None:
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for function in (pa.asarray, pa.from_dlpack):
        with pytest.raises(TypeError, match=r"(?s)masked array .*x\.filled"):
            function(masked, device=device)
    whole = pa.asarray(np.ma.array(np.ones(2, np.float32)), device=device)
    np.testing.assert_array_equal(np.asarray(whole), [1.0, 1.0])


def test_foreign_byte_order_is_converted_and_that_is_a_copy(device: str) -> None:
    values = np.arange(3, dtype=np.dtype(np.int16).newbyteorder("S"))
    for function in (pa.asarray, pa.from_dlpack):
        x = function(values, device=device)
        assert x.dtype == pa.int16
        np.testing.assert_array_equal(np.asarray(x), [0, 1, 2])
        with pytest.raises(ValueError, match=r"copy=False, but .* of byte order .* needs a copy"):
            function(values, device=device, copy=False)


# --- GPUs that are not real -----------------------------------------------------------------------


@pytest.fixture
def gpu(fake: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let ``fake`` drive CUDA's GPUs; yield the device and ``copy`` of each import."""
    backend = registry.load_backend(fake)
    imports: list[str] = []

    def from_dlpack(x: Any, device: Any, *, copy: bool | None) -> Any:
        imports.append(f"{device.index} {copy}")
        values = np.from_dlpack(dlpack.take(x, stream=1))
        return backend.array_type(values.copy() if copy else values, device)

    hooks = {
        "dlpack_device_of": lambda device: (2, device.index),
        "readable_dlpack_types": lambda device: frozenset({2, 13}),
        "from_dlpack": from_dlpack,
    }
    for name, hook in hooks.items():
        monkeypatch.setattr(backend, name, hook, raising=False)
    routes.kind_of.cache_clear()
    yield imports
    routes.kind_of.cache_clear()


@pytest.mark.parametrize("kind", [2, 13])  # CUDA's memory, and what CUDA manages
def test_memory_of_a_gpu_is_taken_by_who_drives_it(gpu: list[str], kind: int) -> None:
    x = Producer(np.arange(3.0), (kind, 1))
    y = pa.from_dlpack(x)
    assert str(y.device) == "fake:cuda:1"
    z = pa.asarray(x, device="fake:cuda:1", copy=True)
    assert str(z.device) == "fake:cuda:1"
    assert gpu == ["1 None", "1 True"]
    # Other devices get it through that one: it is the only one that can read it.
    w = pa.from_dlpack(x, device="numpy")
    np.testing.assert_array_equal(np.asarray(w), np.arange(3.0))
    v = pa.from_dlpack(x, device="fake:cuda:0", copy=True)
    assert str(v.device) == "fake:cuda:0"
    assert gpu[2:] == ["1 None", "1 None"]
    with pytest.raises(ValueError, match="do not share memory"):
        pa.from_dlpack(x, device="numpy", copy=False)


def test_the_current_device_imports_memory_of_its_own(gpu: list[str]) -> None:
    with pa.device("fake:cuda:0"):
        assert str(pa.from_dlpack(Producer(np.ones(3), (2, 0))).device) == "fake:cuda:0"
        # What lies on the host stays there; asarray brings it to the block's device.
        assert str(pa.from_dlpack(Producer(np.ones(3))).device) == "numpy:cpu:0"


# --- a device that goes away ----------------------------------------------------------------------


def test_a_device_that_went_away(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = importlib.import_module("fake.backend").LIBRARY
    gone = pa.device("fake:cuda:1")
    x = pa.ones(3, device=gone)
    here = pa.ones(3, device="fake:cuda:0")
    monkeypatch.setattr(library, "count", 1)
    pa.reset_gpu_device()

    def lost(*args: Any, **options: Any) -> Any:
        raise RuntimeError("the device is lost")

    transfer = registry.load_backend(fake)
    with pytest.raises(pa.DeviceNotFunctionalError, match="fake sees 1 device, with index 0"):
        here.to_device("fake:cuda:1")
    with pytest.raises(pa.DeviceNotFunctionalError, match="fake sees 1 device"):
        pa.asarray(x.native)
    for name in ("to_host", "move", "from_host"):
        monkeypatch.setattr(transfer, name, lost)
    moves: list[Callable[[], pa.Array]] = [
        lambda: x.to_device("numpy"),
        lambda: x.to_device(here.device),
        lambda: here.to_device(gone),
        lambda: pa.asarray([1.0, 2.0], device=gone),
        lambda: pa.asarray(np.ones(3), device=gone),
    ]
    for move in moves:
        with pytest.raises(pa.DeviceNotFunctionalError, match="was there before") as caught:
            move()
        assert list(caught.value.reasons) == ["fake:cuda:1"]
        assert "Fake sees 1 device on cuda now" in str(caught.value)
        assert isinstance(caught.value.__cause__, RuntimeError)
    # Where the device is still there, the library's complaint is about the call.
    with pytest.raises(ValueError, match="moving on numpy:cpu:0: the device is lost"):
        here.to_device("numpy")
