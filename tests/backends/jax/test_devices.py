"""JAX's devices, reasons for missing ones, and arrays that stay on their device."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import portarray as pa  # noqa: E402
from portarray.backends import registry  # noqa: E402
from portarray.backends.jax import devices as module  # noqa: E402
from portarray.errors import OutOfMemoryError  # noqa: E402

BACKEND = registry.load_backend("jax")
devices = BACKEND


def test_every_platform_has_devices_or_a_reason() -> None:
    for platform in BACKEND.info.ranks:
        if devices.count(platform):
            x = jax.device_put(np.ones(1, np.float32), devices.native_device(platform, 0))
            assert devices.device_of_array(x) == (platform, 0)
        else:
            assert f"does not have a {platform} backend" in devices.reason_unsupported(platform)
    assert "opencl" in devices.reason_unsupported("opencl")
    assert devices.count("opencl") == 0


def test_recognize() -> None:
    assert devices.device_of_native(jax.devices("cpu")[0]) == ("cpu", 0)
    assert devices.device_of_native("cpu") is None
    assert pa.device(jax.devices("cpu")[0]) is pa.device("jax:cpu:0")


def test_owns_arrays_of_every_class() -> None:
    assert devices.owns(jnp.ones(1))
    assert type(jnp.ones(1)) is devices.array_type
    assert not devices.owns(np.ones(1))
    owned = []
    jax.jit(lambda x: owned.append(devices.owns(x)))(1.0)
    assert owned == [True]


def test_memory_on_cpus_is_the_machines() -> None:
    figures = pa.memory("jax:cpu")
    assert figures.total is not None
    assert figures.free is not None
    assert 0 < figures.free <= figures.total


def test_synchronize_waits() -> None:
    """Earlier work is finished when synchronize returns."""
    x = jnp.ones((1200, 1200), dtype=jnp.float32)
    work = jax.jit(lambda x: jax.lax.fori_loop(0, 6, lambda _, y: y @ x / 1200, x))
    work(x).block_until_ready()
    for _ in range(20):
        result = work(x)
        waited = not result.is_ready()
        pa.synchronize("jax:cpu")
        assert result.is_ready()
        if waited:  # else this thread got the processor back too late
            return
    pytest.fail("the work was always done before it could be waited for")


def test_arrays_that_another_thread_deletes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may delete an array between its listing and the look-up of its device."""
    gone = jnp.ones(8)
    gone.delete()
    monkeypatch.setattr(module, "_live_arrays", lambda platform: [gone])
    pa.synchronize("jax:cpu")
    assert pa.memory("jax:cpu").used is not None


def test_out_of_memory() -> None:
    with pytest.raises(OutOfMemoryError) as caught:
        pa.zeros((1 << 44,), dtype=pa.float32, device="jax:cpu")
    assert caught.value.total is not None


def test_failures_are_distinguished_from_wrong_input() -> None:
    error = jax.errors.JaxRuntimeError
    assert devices.is_device_failure(error("INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS"))
    assert not devices.is_device_failure(error("INVALID_ARGUMENT: no such shape"))
    assert not devices.is_device_failure(RuntimeError("INTERNAL"))
    assert not devices.is_out_of_memory(error("INTERNAL: broken"))


TWO_DEVICES = """
import jax, jax.numpy as jnp, numpy as np, portarray as pa
from jax.sharding import Mesh, NamedSharding, PartitionSpec
first, second = jax.local_devices()
assert [str(d) for d in pa.devices() if d.library == "jax"] == ["jax:cpu:0", "jax:cpu:1"]
there = pa.device("jax:cpu:1")
assert pa.device(second) is there
made = [
    pa.zeros(3, device=there), pa.ones(3, device=there), pa.full(3, 2, device=there),
    pa.arange(3, device=there), pa.linspace(0, 1, 3, device=there), pa.eye(3, device=there),
    pa.empty(3, device=there), pa.asarray([1, 2, 3], device=there), pa.asarray(5, device=there),
    pa.asarray(np.ones(3, "f4"), device=there), pa.fft.fftfreq(3, device=there),
    pa.zeros_like(pa.zeros(3, device=there)), pa.zeros(3, device="jax:cpu:0").to_device(there),
]
for x in made:
    assert x.device is there and x.native.devices() == {second} and x.native.committed, x
x = made[0]
found = [
    pa.sin(x), x + 1, x[1:], pa.sum(x), pa.nonzero(x)[0], pa.unique_values(x), pa.sort(x),
    pa.linalg.qr(made[5])[0], pa.concat([x, x]), x.copy(), pa.asarray(x, copy=True), x // 2.0,
    pa.where(x > 0, x, 1.0), x[x > 0], pa.nonzero(made[1])[0],
    pa.repeat(x, 2), pa.searchsorted(x, x), pa.clip(x, 0, 1), x ** 2,
]
x[0] = 4
x += 1
for y in [*found, x]:
    assert y.device is there and y.native.devices() == {second}, y
try:
    x + pa.zeros(3, device="jax:cpu:0")
except pa.DeviceMismatchError as error:
    assert "jax:cpu:0" in str(error) and "jax:cpu:1" in str(error)
with jax.default_device(second):
    assert pa.asarray(jnp.ones(3)).device is there
bits = np.random.default_rng(1).integers(0, 256, 2**18, dtype=np.uint8)
for dtype in ("float32", "float16", "complex64", "int8"):
    values = np.frombuffer(bits.tobytes(), dtype)[3:]
    values = values[: values.size // 5 * 5].reshape(-1, 5)
    for x in (pa.asarray(values, device="jax:cpu:0"), pa.asarray(values.T, device="jax:cpu:0").T):
        y = x.to_device(there)
        assert y.native.devices() == {second} and y.native.committed
        del x
        assert np.asarray(y).tobytes() == np.ascontiguousarray(values).tobytes(), dtype
z = pa.ones((800, 800), device="jax:cpu:0") / 800
for _ in range(5):
    z = z @ z
y = z.to_device(there)
del z
assert abs(np.asarray(y) - 1 / 800).max() < 1e-5, "moved before it was computed"
plan = pa.transfer_plan(y, "jax:cpu:0")
assert (plan.route, plan.copies) == ("library", 1), plan
assert "have separate memory" in plan.why, plan
assert pa.transfer_plan(y, there).copies == 0
try:
    y.to_device("jax:cpu:0", copy=False)
except ValueError as error:
    assert "copy=False, but moving an array from" in str(error)
else:
    raise AssertionError("copy=False copied")
both = NamedSharding(Mesh(np.asarray([first, second]), "a"), PartitionSpec("a"))
try:
    pa.asarray(jax.device_put(np.arange(4, dtype="f4"), both))
except ValueError as error:
    assert "sharded over 2 devices" in str(error) and "jax.device_put(x, device)" in str(error)
print("done")
"""


def test_two_devices() -> None:
    """Arrays are created on their device and results stay there."""
    flags = "--xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES],
        env={**os.environ, "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr[-2000:]
