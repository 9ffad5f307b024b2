"""GPUs of CuPy, reasons for missing ones, and translated errors."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import portarray as pa
from portarray._devices import discovery
from portarray._installation import pip_install
from portarray.backends import registry

CUDA_13 = {"runtimeGetVersion": 13020, "is_hip": False}
ROCM_7 = {"runtimeGetVersion": 70051831, "is_hip": True}


@pytest.mark.parametrize(
    ("machine", "platform", "reason"),
    [
        (
            {**CUDA_13, "driverGetVersion": 0, "getDeviceCount": "InsufficientDriver"},
            "cuda",
            "finds no NVIDIA driver (cudaErrorInsufficientDriver",
        ),
        (
            {**ROCM_7, "driverGetVersion": 0, "getDeviceCount": "NoDevice"},
            "rocm",
            "finds no AMD driver (",
        ),
        (
            {**CUDA_13, "driverGetVersion": 12040, "getDeviceCount": "InsufficientDriver"},
            "cuda",
            "was built for CUDA 13 and needs a driver for it, but this one goes up to CUDA 12.4; "
            "update the driver, or install the CuPy for CUDA 12 (cupy-cuda12x)",
        ),
        (
            {**CUDA_13, "driverGetVersion": 13000, "getDeviceCount": "NoDevice"},
            "cuda",
            "finds driver 13000, but no GPU that it can use (cudaErrorNoDevice",
        ),
        (
            {**ROCM_7, "driverGetVersion": 60342131, "getDeviceCount": "NoDevice"},
            "rocm",
            "finds driver 60342131, but no GPU that it can use (",
        ),
        (
            {**CUDA_13, "driverGetVersion": 13020, "getDeviceCount": 0},
            "cuda",
            "finds a driver, but no GPU",
        ),
        (
            {**CUDA_13, "driverGetVersion": 13020, "getDeviceCount": 2},
            "rocm",
            "was built for cuda, not for rocm",
        ),
        (
            {**ROCM_7, "driverGetVersion": 70051831, "getDeviceCount": 2},
            "cuda",
            "was built for rocm, not for cuda",
        ),
    ],
)
def test_reason(
    runtime: Any,
    monkeypatch: pytest.MonkeyPatch,
    machine: dict[str, Any],
    platform: str,
    reason: str,
) -> None:
    status = {"InsufficientDriver": 35, "NoDevice": 100}

    def count() -> int:
        result = machine["getDeviceCount"]
        if result in status:
            raise runtime.CUDARuntimeError(status[result])
        return int(result)

    monkeypatch.setattr(runtime, "getDeviceCount", count)
    monkeypatch.setattr(runtime, "is_hip", machine["is_hip"])
    for name in ("driverGetVersion", "runtimeGetVersion"):
        monkeypatch.setattr(runtime, name, lambda name=name: machine[name])
    with pytest.raises(pa.DeviceNotFunctionalError) as caught:
        pa.device(f"cupy:{platform}")
    assert reason in caught.value.reasons[f"cupy:{platform}"]


def _no_gpu(runtime: Any) -> None:
    try:
        gpu_count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError:
        gpu_count = 0
    if gpu_count:
        pytest.skip("this machine has a GPU")


def test_a_gpu_that_cannot_compute_is_not_functional(
    runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _no_gpu(runtime)
    platform = "rocm" if runtime.is_hip else "cuda"
    monkeypatch.setattr(runtime, "getDeviceCount", lambda: 1)
    with pytest.raises(pa.DeviceNotFunctionalError) as caught:
        pa.device(f"cupy:{platform}:0")
    reason = caught.value.reasons[f"cupy:{platform}:0"]
    assert reason.startswith("its probe failed: CUDARuntimeError: ")


def test_this_machine(runtime: Any) -> None:
    _no_gpu(runtime)
    shown = subprocess.run(
        [sys.executable, "-m", "portarray", "devices"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "400"},
    ).stdout
    platform = "rocm" if runtime.is_hip else "cuda"
    line = next(line for line in shown.splitlines() if f"cupy:{platform}" in line)
    assert "finds no" in line
    assert "driver" in line


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "is_installed", lambda info: False)
    pa.reset_gpu_device()
    with pytest.raises(pa.DeviceNotFunctionalError, match="CuPy is not installed") as caught:
        pa.device("cupy:rocm")
    assert pip_install("portarray[cupy-rocm]") in str(caught.value)
    monkeypatch.undo()
    pa.reset_gpu_device()


def test_an_old_cupy_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy", exc_type=ImportError)
    monkeypatch.setattr(discovery, "version", lambda info: "13.3.0")
    pa.reset_gpu_device()
    with pytest.raises(pa.DeviceNotFunctionalError, match=r"13\.3\.0 is too old: .* needs 13\.4"):
        pa.device("cupy:cuda")
    monkeypatch.undo()
    pa.reset_gpu_device()


def test_the_backend_imports_one_library() -> None:
    pytest.importorskip("cupy", exc_type=ImportError)
    others = ("torch", "jax", "mlx", "dpnp", "pyopencl")
    program = (
        "from portarray.backends import registry\n"
        "registry.load_backend('cupy')\n"
        "import sys\n"
        f"print([name for name in {others} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"


def test_native_devices_and_arrays_are_recognized(runtime: Any, ghost: Any) -> None:
    import cupy

    devices = registry.load_backend("cupy")
    platform = "rocm" if runtime.is_hip else "cuda"
    assert devices.device_of_native(cupy.cuda.Device(1)) == (platform, 1)
    assert devices.device_of_native("cuda:1") is None
    assert devices.native_device(platform, 1) == cupy.cuda.Device(1)
    assert devices.device_of_array(ghost((2, 3), device=1)) == (platform, 1)


def test_a_device_is_made_current_only_among_several(
    runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cupy

    from portarray.backends.cupy import devices

    backend = registry.load_backend("cupy")
    for gpu_count in (1, 2):
        devices._device_count.cache_clear()
        monkeypatch.setattr(runtime, "getDeviceCount", lambda gpu_count=gpu_count: gpu_count)
        scope = backend.scope(cupy.cuda.Device(0))
        assert (scope is None) == (gpu_count == 1)


def test_errors() -> None:
    cupy = pytest.importorskip("cupy", exc_type=ImportError)
    backend = registry.load_backend("cupy")
    exhausted = cupy.cuda.memory.OutOfMemoryError(512, 1024)
    assert backend.is_out_of_memory(exhausted)
    assert backend.requested_bytes(exhausted) == 512
    of_the_driver = cupy.cuda.runtime.CUDARuntimeError(2)  # cudaErrorMemoryAllocation
    assert backend.is_out_of_memory(of_the_driver)
    assert backend.requested_bytes(of_the_driver) is None
    sticky = cupy.cuda.runtime.CUDARuntimeError(700)  # cudaErrorIllegalAddress
    assert backend.is_device_failure(sticky)
    assert not backend.is_out_of_memory(sticky)
    assert backend.is_device_failure(cupy.cuda.compiler.CompileException("wrong", "x", "k.cu", ()))
    for complaint in (ValueError("wrong shape"), RuntimeError("wrong mode"), MemoryError()):
        assert not backend.is_device_failure(complaint)
        assert not backend.is_out_of_memory(complaint)


def test_the_pool_is_the_one_that_cupy_allocates_from() -> None:
    cupy = pytest.importorskip("cupy", exc_type=ImportError)
    from portarray.backends.cupy import devices

    assert devices._pool() is cupy.get_default_memory_pool()
    pool = cupy.cuda.MemoryPool()
    with cupy.cuda.using_allocator(pool.malloc):
        assert devices._pool() is pool
    with cupy.cuda.using_allocator(lambda size: cupy.cuda.memory.alloc(size)):
        assert devices._pool() is None
    assert devices._pool() is cupy.get_default_memory_pool()
