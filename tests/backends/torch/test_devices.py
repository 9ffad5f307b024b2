"""PyTorch's devices, and reasons for missing ones."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from portarray._dispatch import native_functions  # noqa: E402
from portarray.backends import registry  # noqa: E402

BACKEND = registry.load_backend("torch")
devices = BACKEND


def test_every_platform_has_devices_or_a_reason() -> None:
    for platform in BACKEND.info.ranks:
        if devices.count(platform):
            assert devices.device_of_array(
                torch.zeros(1, device=devices.native_device(platform, 0))
            ) == (
                platform,
                0,
            )
        else:
            assert "PyTorch" in devices.reason_unsupported(
                platform
            ) or "no" in devices.reason_unsupported(platform)
    assert "opencl" in devices.reason_unsupported("opencl")


def test_recognize() -> None:
    assert devices.device_of_native(torch.device("cpu")) == ("cpu", 0)
    assert devices.device_of_native(torch.device("cuda", 3))[1] == 3
    assert devices.device_of_native(torch.device("cuda"))[1] == 0
    assert devices.device_of_native(torch.device("meta")) is None
    assert devices.device_of_native("cpu") is None


def test_a_tensor_without_data_is_refused() -> None:
    with pytest.raises(ValueError, match="meta"):
        devices.device_of_array(torch.zeros(1, device="meta"))


def test_metal_has_no_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {dtype.name for dtype in devices.dtypes("metal", 0)}
    assert not names & {"float64", "complex128"}
    if torch.backends.mps.is_available() and not torch.backends.mps.is_macos_or_newer(14, 0):
        pytest.skip("macOS is older than 14")
    assert {"float32", "complex64", "bfloat16"} <= names
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_macos_or_newer", lambda major, minor: major < 14)
    older = {dtype.name for dtype in devices.dtypes("metal", 0)}
    assert older == names - {"complex64", "bfloat16"}


def test_memory_runs_out() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**52)
    assert devices.is_out_of_memory(caught.value)
    assert not devices.is_out_of_memory(RuntimeError("shape mismatch"))
    assert not devices.is_out_of_memory(ValueError("not enough memory"))
    for text in (
        "CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
        "HIP error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ):
        assert devices.is_out_of_memory(RuntimeError(text)), text


def test_a_failing_gpu_is_not_reported_as_bad_input() -> None:
    assert not devices.is_device_failure(RuntimeError("shape mismatch"))
    if hasattr(torch, "AcceleratorError"):
        assert devices.is_device_failure(
            torch.AcceleratorError("CUDA error: an illegal memory access")
        )


def test_nothing_global_is_touched() -> None:
    namespace = native_functions.NativeFunctions(BACKEND, torch.device("cpu")).namespace
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        assert namespace.ones(2).dtype is torch.float64
        assert namespace.asarray([1.5]).dtype is torch.float64
        assert namespace.divide(torch.tensor([1]), 2).dtype is torch.float64
        assert namespace.mean(torch.tensor([1, 2])).dtype is torch.float64
    finally:
        torch.set_default_dtype(default)
