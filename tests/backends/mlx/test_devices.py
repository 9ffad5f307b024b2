"""MLX's devices, their dtypes, and what its errors mean."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402
from portarray.backends import registry  # noqa: E402

BACKEND = registry.load_backend("mlx")
devices: Any = BACKEND
CPU = "mlx:cpu"


def test_every_platform_has_devices_or_a_reason() -> None:
    for platform in BACKEND.info.ranks:
        if devices.count(platform):
            native = devices.native_device(platform, 0)
            assert devices.device_of_native(native) == (platform, 0)
        else:
            assert "no" in devices.reason_unsupported(platform)
    assert devices.count("opencl") == 0
    assert "opencl" in devices.reason_unsupported("opencl")


def test_recognize() -> None:
    assert devices.device_of_native(mx.cpu) == ("cpu", 0)
    assert devices.device_of_native(mx.Device(mx.cpu)) == ("cpu", 0)
    assert devices.device_of_native(mx.Device(mx.cpu, 1)) == ("cpu", 1)
    platform, index = devices.device_of_native(mx.Device(mx.gpu, 2))
    assert platform in ("metal", "cuda")
    assert index == 2
    assert devices.device_of_native("cpu") is None


def test_native_devices_are_accepted() -> None:
    assert str(pa.ones(2, device=mx.cpu).device) == "mlx:cpu:0"
    assert str(pa.ones(2, device=mx.Device(mx.cpu)).device) == "mlx:cpu:0"


def test_double_precision_is_the_cpus_alone() -> None:
    here = devices.dtypes("cpu", 0)
    assert np.dtype("float64") in here
    assert np.dtype("float64") not in devices.dtypes("metal", 0)
    assert all(np.dtype("complex128") not in devices.dtypes(p, 0) for p in ("cpu", "cuda"))


def test_unsupported_dtypes_are_refused_with_the_nearest() -> None:
    with pytest.raises(pa.errors.DTypeNotSupportedError, match="complex64"):
        pa.asarray([1j], dtype="complex128", device=CPU)
    with pytest.raises(pa.errors.DTypeNotSupportedError, match="complex64"):
        pa.asarray(np.asarray([1j]), device=CPU)
    assert pa.asarray(np.asarray([1j]), device=CPU, narrow=True).dtype == pa.complex64
    assert pa.asarray([1j], device=CPU).dtype == pa.complex64


def test_an_array_is_where_mlx_computes() -> None:
    assert devices.device_of_array(mx.ones(2)) == devices.device_of_native(mx.default_device())


@pytest.mark.skipif(mx.is_available(mx.gpu), reason="this build has two devices")
def test_a_build_with_one_device_needs_no_scope() -> None:
    assert devices.scope(mx.Device(mx.cpu)) is None


@pytest.mark.skipif(not mx.is_available(mx.gpu), reason="this build has the CPU alone")
def test_scopes_change_the_default_device_and_put_it_back() -> None:
    previous = mx.default_device()
    scope = devices.scope(mx.Device(mx.cpu))
    assert scope is not None
    with scope:
        assert mx.default_device() == mx.Device(mx.cpu)
    assert mx.default_device() == previous


def test_memory() -> None:
    x = mx.zeros(1 << 20, dtype=mx.uint8)
    mx.eval(x)
    figures = devices.memory(mx.Device(mx.cpu))
    assert figures.used >= 1 << 20
    assert figures.total >= figures.used
    del x
    devices.reclaim(mx.Device(mx.cpu))
    assert devices.memory(mx.Device(mx.cpu)).pooled == 0


@pytest.mark.parametrize("make", [pa.zeros, pa.ones, pa.empty])
def test_more_than_the_machine_has_is_refused(make: Callable[..., pa.Array]) -> None:
    """Too large requests are refused before MLX's allocator would end the process."""
    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        make((1 << 20, 1 << 20), device=CPU)
    assert caught.value.requested == 1 << 42


def test_shapes_that_grow_beyond_the_machine_are_refused() -> None:
    x = pa.ones((1 << 15,), device=CPU)
    calls: list[Callable[[], object]] = [
        lambda: pa.tile(x, (1 << 28,)),
        lambda: pa.repeat(x, 1 << 28),
        lambda: pa.stack([pa.broadcast_to(x, (1 << 20, 1 << 15))] * 64),
        lambda: pa.eye(1 << 22, device=CPU),
        lambda: pa.full((1 << 30, 1 << 10), 1.5, device=CPU),
        lambda: pa.meshgrid(pa.tile(x, (128,)), pa.tile(x, (128,))),
    ]
    for grown in calls:
        with pytest.raises(pa.errors.OutOfMemoryError):
            grown()


def test_axes_longer_than_32_bits_are_refused() -> None:
    x = pa.ones(1, dtype="int8", device=CPU)
    calls: list[Callable[[], object]] = [
        lambda: pa.broadcast_to(x, (1 << 31,)),
        lambda: pa.zeros((1 << 31, 0), device=CPU),
        lambda: pa.reshape(pa.zeros(0, device=CPU), (1 << 31, 0)),
    ]
    for long in calls:
        with pytest.raises(ValueError, match=r"exceeds MLX|longer than MLX"):
            long()


def test_errors_that_mean_memory() -> None:
    error = RuntimeError("[malloc] Unable to allocate 1024 bytes.")
    assert devices.is_out_of_memory(error)
    assert devices.requested_bytes(error) == 1024
    assert devices.is_out_of_memory(
        RuntimeError("[METAL] Command buffer execution failed: Insufficient Memory")
    )
    assert devices.is_out_of_memory(
        RuntimeError(
            "[metal::malloc] Attempting to allocate 8192 bytes which is greater than the maximum"
        )
    )
    assert not devices.is_out_of_memory(RuntimeError("[matmul] shapes"))
    assert not devices.is_out_of_memory(ValueError("out of memory"))
    assert devices.is_device_failure(RuntimeError("[METAL] Command buffer execution failed: hang"))


def test_work_of_another_thread_raises_with_a_hint() -> None:
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(lambda: pa.ones(3, device=CPU) * 2).result()
        done = pool.submit(lambda: _computed(pa.ones(3, device=CPU) * 2)).result()
        with pytest.raises(RuntimeError, match=r"mlx\.core\.eval\(x\.native\)"):
            float(pa.sum(late))
        with pytest.raises(RuntimeError, match=r"mlx\.core\.eval\(x\.native\)"):
            np.asarray(late)
        # It has values, but not here.
        assert not pa.device(CPU)._backend.is_traced(late.native)
        key = pool.submit(lambda: pa.random.fold_in(pa.random.key(1, device=CPU), 2)).result()
        with pytest.raises(RuntimeError, match=r"mlx\.core\.eval\(x\.native\)"):
            pa.random.uniform(key, 3).tolist()
    assert float(pa.sum(done)) == 6


def _computed(x: pa.Array) -> pa.Array:
    mx.eval(x.native)
    return x
