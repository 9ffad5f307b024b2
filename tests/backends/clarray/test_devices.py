"""The clarray backend: OpenCL's devices among portarray's."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

clarray = pytest.importorskip("portarray.clarray", exc_type=ImportError)

import portarray as pa  # noqa: E402
from portarray.backends import registry  # noqa: E402
from portarray.clarray.errors import (  # noqa: E402
    DeviceLostError,
    KernelError,
    OutOfMemoryError,
)

BACKEND = registry.load_backend("clarray")
devices = BACKEND
COUNT = devices.count("opencl")

pytestmark = pytest.mark.skipif(
    COUNT == 0, reason=f"no OpenCL device: {devices.reason_unsupported('opencl')}"
)


def test_every_device_of_clarray_is_listed() -> None:
    listed = [candidate for candidate in pa.devices() if candidate.library == "clarray"]
    assert [candidate.index for candidate in listed] == list(range(COUNT))
    assert {candidate.native for candidate in listed} == set(clarray.devices())
    # Drivers of the same processor have different names.
    assert len({candidate.name for candidate in listed}) == COUNT
    assert all(candidate.kind in ("cpu", "gpu", "accelerator") for candidate in listed)


def test_texts() -> None:
    first = pa.device("clarray")
    assert (first.library, first.platform) == ("clarray", "opencl")
    assert pa.device("opencl") is first
    assert pa.device(f"clarray:{COUNT - 1}") is pa.device(f"opencl:{COUNT - 1}")
    assert str(first) == f"clarray:opencl:{first.index}"
    with pa.device("clarray") as inside:
        assert pa.zeros(2).device is inside
    with pytest.raises(pa.errors.DeviceNotFunctionalError, match=f"clarray sees {COUNT} device"):
        pa.device(f"clarray:{COUNT}")


def test_opencl_processors_are_not_chosen_as_gpus() -> None:
    if any(candidate.kind == "gpu" for candidate in pa.devices()):
        pytest.skip("this machine has a GPU")
    assert pa.device("auto").library == "numpy"


def test_native_device_objects() -> None:
    for native_device in clarray.devices():
        assert pa.device(native_device) is pa.device(f"clarray:{native_device.index}")
        assert pa.device(native_device.native) is pa.device(native_device)
    assert devices.device_of_native("clarray") is None
    assert devices.device_of_native(0) is None
    assert devices.device_of_native(None) is None


def test_arrays_of_foreign_devices_are_refused() -> None:
    listed = clarray.devices()[0]
    foreign = clarray.Device(listed.native, listed.index, discrete=True)
    x = clarray.asarray([1.0, 2.0], device=foreign)
    with pytest.raises(ValueError, match=r"not in clarray\.devices"):
        pa.asarray(x)
    assert pa.asarray(x.to_device(listed)).device is pa.device(listed)


def test_native_arrays_cross_without_a_copy() -> None:
    native = clarray.asarray([1.0, 2.0], device=0)
    x = pa.asarray(native)
    assert x.native is native
    assert x.device is pa.device("clarray:0")
    assert pa.namespace(x.device).sum(native).item() == 3.0


def test_other_platforms_have_no_device() -> None:
    assert devices.count("cuda") == 0
    assert "not on cuda" in devices.reason_unsupported("cuda")


def test_memory_figures() -> None:
    device = pa.device("clarray")
    initial = pa.memory(device)
    x = pa.zeros(1_000_000, dtype=pa.float64, device=device)
    current = pa.memory(device)
    assert current.used - initial.used >= 8_000_000
    assert current.total > current.free > 0
    del x
    assert pa.memory(device).pooled >= 8_000_000
    pa.reclaim(device)
    assert pa.memory(device).pooled == 0
    pa.synchronize(device)


def test_memory_runs_out() -> None:
    assert devices.is_out_of_memory(OutOfMemoryError("none left"))
    device = pa.device("clarray")
    with pytest.raises(pa.errors.OutOfMemoryError) as caught:
        pa.empty(2**50, dtype=pa.float32, device=device)
    assert caught.value.requested == 2**52
    assert caught.value.total is not None
    assert pa.sum(pa.ones(3, device=device)).item() == 3


def test_failures_are_no_wrong_input() -> None:
    assert devices.is_device_failure(KernelError("broken"))
    assert devices.is_device_failure(DeviceLostError("reset"))
    assert not devices.is_device_failure(ValueError("shape"))


def test_drivers_and_version() -> None:
    assert devices.version()[0].isdigit()
    assert devices.driver("opencl")


def test_dtypes_are_those_of_the_device() -> None:
    for index in range(COUNT):
        names = devices.dtypes("opencl", index)
        assert set(names) == set(names.values()) == set(clarray.devices()[index].dtypes)
        assert {np.dtype(np.float32), np.dtype(np.float16), np.dtype(bool)} <= set(names)


def test_threads_have_their_own_default_device() -> None:
    libraries = []
    with pa.device("clarray"):
        thread = threading.Thread(target=lambda: libraries.append(pa.zeros(1).device.library))
        thread.start()
        thread.join()
        assert pa.zeros(1).device.library == "clarray"
    assert libraries == ["numpy"] or pa.device("auto").kind == "gpu"


def test_devices_with_memory_of_their_own_are_served() -> None:
    """A processor simulates separate memory in a new process, which reads CLARRAY_MEMORY."""
    program = """
import os, warnings
os.environ["CLARRAY_MEMORY"] = "discrete"
import numpy as np
import portarray as pa
x = pa.asarray([[3.0, 1.0], [2.0, 4.0]], device="clarray")
assert not x.device.native.host_memory
assert (x @ x + pa.exp(x)).to_device("numpy").native.shape == (2, 2)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    y = pa.sort(x)
assert [w.category for w in told] == [pa.errors.HostFallbackWarning], told
assert y.to_device("numpy").native.tolist() == [[1, 3], [2, 4]]
try:
    np.asarray(x)
except TypeError as error:
    assert "numpy.asarray(x.to_device('numpy'))" in str(error)
else:
    raise AssertionError("copied in silence")
assert np.from_dlpack(x, device="cpu").tolist() == [[3, 1], [2, 4]]
from portarray import _dlpack
half = pa.asarray([0.5, -0.0], dtype=pa.bfloat16, device="clarray")
given = _dlpack.host_values(_dlpack.Held(half.__dlpack__(dl_device=(1, 0))))
assert given.dtype.name == "bfloat16" and given.tobytes().hex() == "003f0080"
assert pa.from_dlpack(x, device="numpy").native.tolist() == [[3, 1], [2, 4]]
try:
    pa.asarray(np.ones(2), device="clarray", copy=False)
except ValueError as error:
    assert "do not share memory" in str(error), error
else:
    raise AssertionError("copied in silence")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
