"""SYCL devices, without those on which dpnp would end the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

dpctl = pytest.importorskip("dpctl")
dpnp = pytest.importorskip("dpnp")

import portarray as pa  # noqa: E402
from portarray._opencl import loader  # noqa: E402
from portarray.backends import registry  # noqa: E402

if not pa.functional("dpnp"):
    pytest.skip("dpnp has no device here", allow_module_level=True)

from portarray.backends.dpnp import devices as module  # noqa: E402

devices = registry.load_backend("dpnp")


def pocl() -> list[Any]:
    return [native for native in dpctl.get_devices() if "Portable" in native.sycl_platform.name]


needs_pocl = pytest.mark.skipif(not pocl(), reason="PoCL is missing")


def process(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process that has not listed platforms."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("OCL_ICD_")
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        env={
            **inherited,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            **settings,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_devices_are_dpnps_and_dpctls_objects() -> None:
    device = pa.device("dpnp")
    native = device.native
    assert str(device) == "dpnp:oneapi:0"
    for handle in (
        native,
        native.sycl_device,
        native.sycl_queue,
        dpctl.SyclQueue(native.sycl_device),
        dpnp.zeros(2, device=native).device,
    ):
        assert pa.device(handle) is device
    kinds = {"gpu": "gpu", "cpu": "cpu", "accelerator": "accelerator"}
    assert device.kind == kinds[native.sycl_device.device_type.name]
    assert device.name == native.sycl_device.name.strip()
    assert native.sycl_queue == dpctl.get_device_cached_queue(native.sycl_device)


def test_filter_strings_are_no_device_texts() -> None:
    with pytest.raises(pa.errors.UnknownDeviceError, match="opencl:cpu:0"):
        pa.device("opencl:cpu:0")


@needs_pocl
def test_pocl_is_no_device() -> None:
    (native, *_) = pocl()
    with pytest.raises(ValueError, match="PoCL does not have unified shared memory"):
        pa.device(native)
    listed = [devices.native_device("oneapi", n).sycl_device for n in range(len_of_devices())]
    assert native not in listed


def len_of_devices() -> int:
    assert devices is not None
    count: int = devices.count("oneapi")
    return count


def test_a_part_of_a_device_is_none() -> None:
    native = pa.device("dpnp").native.sycl_device
    try:
        part, *_ = native.create_sub_devices(partition=1)
    except dpctl.SyclSubDeviceCreationError:
        pytest.skip("the device has no parts")
    with pytest.raises(ValueError, match="portarray supports whole ones only"):
        pa.device(part)
    there = dpnp.arange(3, sycl_queue=dpctl.SyclQueue(part))
    with pytest.raises(ValueError, match="portarray supports whole ones only"):
        pa.asarray(there)


def test_gpus_come_first() -> None:
    kinds = [devices.describe("oneapi", n).kind for n in range(len_of_devices())]
    assert kinds == sorted(kinds, key=["gpu", "accelerator", "cpu"].index)


class Imitated:
    """A simulated SYCL device."""

    def __init__(self, name: str, backend: str, kind: str = "gpu", platform: str = "Intel") -> None:
        self.name = name
        self.backend = type("Backend", (), {"name": backend})
        self.is_gpu, self.is_cpu = kind == "gpu", kind == "cpu"
        self.sycl_platform = type("Platform", (), {"name": platform})
        self.has_aspect_emulated = kind == "emulator"
        self.has_aspect_usm_device_allocations = kind != "old"
        self.parent_device = None


@pytest.fixture
def rank_devices(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let SYCL list other devices than this machine's."""

    def let(*natives: Imitated) -> tuple[list[str], dict[str, str]]:
        monkeypatch.setattr(module.dpctl, "get_devices", lambda: list(natives))
        usable, reasons = module._native_devices.__wrapped__()
        return [f"{native.name}/{native.backend.name}" for native in usable], reasons

    return let


def test_one_card_under_two_drivers_is_one_device(rank_devices: Any) -> None:
    usable, reasons = rank_devices(
        Imitated("Arc", "opencl"),
        Imitated("Xeon", "opencl", "cpu"),
        Imitated("Arc", "level_zero"),
        Imitated("Old", "opencl"),
        Imitated("Arc", "opencl"),
    )
    # Two of one name: Level Zero drives one of them, so the other is a card of its own.
    assert usable == ["Arc/level_zero", "Old/opencl", "Arc/opencl", "Xeon/opencl"] or usable == [
        "Arc/level_zero",
        "Arc/opencl",
        "Old/opencl",
        "Xeon/opencl",
    ]
    assert reasons == {"Arc (Intel)": "it is the same GPU as a Level Zero device"}


def test_devices_that_dpnp_cannot_use_are_omitted_with_a_reason(rank_devices: Any) -> None:
    usable, reasons = rank_devices(
        Imitated("AMD", "hip", platform="AMD HIP"),
        Imitated("pthread", "opencl", "cpu", "Portable Computing Language"),
        Imitated("GeForce", "opencl", platform="NVIDIA CUDA"),
        Imitated("FPGA", "opencl", "emulator", "Intel(R) FPGA Emulation Platform"),
        Imitated("Ancient", "opencl", "old"),
    )
    assert usable == ["AMD/hip"]
    assert {name.split(" ")[0]: reason.split(",")[0] for name, reason in reasons.items()} == {
        "pthread": "PoCL does not have unified shared memory",
        "GeForce": "dpnp supports Intel's OpenCL drivers only",
        "FPGA": "it emulates FPGAs",
        "Ancient": "it does not have unified shared memory",
    }


def test_dtypes_are_those_of_the_device() -> None:
    device = pa.device("dpnp")
    native = device.native.sycl_device
    available = pa.__array_namespace_info__().dtypes(device=device)
    assert ("float64" in available) == native.has_aspect_fp64
    half = np.dtype(np.float16) in devices.dtypes("oneapi", 0)
    assert half == native.has_aspect_fp16
    with pytest.raises(pa.errors.DTypeNotSupportedError, match="bfloat16"):
        pa.zeros(2, dtype="bfloat16", device=device)


def test_memory_that_is_not_there() -> None:
    device = pa.device("dpnp")
    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        pa.zeros((10**8, 10**6), device=device)
    assert caught.value.total == pa.memory(device).total


def test_failures_of_the_driver_are_no_wrong_values() -> None:
    assert devices.is_device_failure(dpctl.SyclKernelSubmitError("lost"))
    assert not devices.is_device_failure(ValueError("wrong"))


COMPUTE = """
import portarray as pa
x = pa.asarray([1.0, 2.0, 3.0], device="dpnp")
y = pa.linspace(0, 1, 3, device="dpnp") + pa.sort(x) * pa.fft.fftfreq(3, device="dpnp")
x[pa.asarray([0, 1], device="dpnp")] = 7
print(pa.device("dpnp").native.sycl_device.sycl_platform.name, float(pa.sum(x)))
"""


@needs_pocl
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a Linux loader")
@pytest.mark.parametrize("first", ["", "import dpnp, dpctl"])
def test_without_help_of_the_user_intels_driver_is_found(first: str) -> None:
    done = process(f"{first}\n{COMPUTE}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Intel(R) OpenCL 17.0"


@needs_pocl
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a Linux loader")
def test_a_program_that_lists_platforms_first_finds_pocl_alone() -> None:
    """Devices that SYCL did not list at first stay unusable, and PoCL is never used."""
    code = """
import dpctl
print([one.sycl_platform.name for one in dpctl.get_devices()])
import portarray as pa
try:
    pa.device("dpnp")
except pa.errors.DeviceNotFunctionalError as error:
    print(error)
"""
    done = process(code)
    assert done.returncode == 0, done.stderr
    first, said = done.stdout.split("\n", 1)
    if "Intel" not in first:
        assert "PoCL does not have unified shared memory" in said
        assert "pip install intel-opencl-rt" in said
        assert "list portarray's devices before anything else uses SYCL" in said


@needs_pocl
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a Linux loader")
def test_with_pocl_as_the_default_device_dpnp_is_never_called(tmp_path: Path) -> None:
    """With PoCL first among the user's drivers any call of dpnp would end the process."""
    entries = loader._entries().values()
    (intel,) = [entry for entry in entries if "intelocl" in entry]
    (rejected,) = [entry for entry in entries if "pocl" in entry]
    (tmp_path / "intel.icd").write_text(intel)
    code = """
import dpctl, portarray as pa
print(dpctl.select_default_device().sycl_platform.name)
print(pa.functional("dpnp"), [str(one) for one in pa.devices() if one.library == "dpnp"])
try:
    pa.device("dpnp")
except pa.errors.DeviceNotFunctionalError as error:
    print(error)
"""
    done = process(code, OCL_ICD_VENDORS=str(tmp_path), OCL_ICD_FILENAMES=rejected)
    assert done.returncode == 0, done.stderr
    default, *said = done.stdout.splitlines()
    if "Portable" not in default:
        pytest.skip("SYCL's default device is another one here")
    assert said[0] == "False []"
    assert "SYCL's default device is" in said[1]
    assert "first in OCL_ICD_FILENAMES" in said[1]
    chosen = process(
        COMPUTE,
        OCL_ICD_VENDORS=str(tmp_path),
        OCL_ICD_FILENAMES=f"{intel}:{rejected}",
    )
    assert chosen.returncode == 0, chosen.stderr
    assert chosen.stdout.startswith("Intel(R) OpenCL ")
