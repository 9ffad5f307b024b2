"""Virtual devices: lifetimes, refusals, and the declarations of real libraries."""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
import portarray.kernel_language as kl
from portarray._devices import discovery
from portarray._dispatch import categories
from portarray.backends import registry
from portarray.backends.types import PlatformFacts
from portarray.errors import (
    DeviceNotFunctionalError,
    DTypeNotSupportedError,
    HostFallbackWarning,
    LinAlgError,
    OutOfMemoryError,
    UnknownDeviceError,
)
from portarray.testing import HostTransferError, host_transfers, presets, virtual_devices
from portarray.testing.virtual.traits import NAMES, preset

# --- presets are what real libraries declare -----------------------------------------------------

FACTS = {
    f"{library}:{platform}": (library, platform, facts)
    for library, info in sorted(registry.backend_infos().items())  # in order of what was asked
    for platform, facts in info.facts.items()
}


def test_every_preset_is_declared() -> None:
    assert {platform for _, platform, _ in FACTS.values()} == set(presets())


@pytest.mark.parametrize(("library", "platform", "facts"), FACTS.values(), ids=FACTS)
def test_real_libraries_keep_what_they_declare(
    library: str, platform: str, facts: PlatformFacts
) -> None:
    info = registry.backend_infos()[library]
    if not discovery.is_installed(info):
        pytest.skip(f"{library} is not installed")
    backend = registry.load_backend(library)
    assert backend.immutable is facts.immutable
    functions = {row.function for row in pa.support("numpy")}
    hosted = {name for name in functions if categories.served(backend, name) == "host"}
    assert hosted == set(facts.host_functions)
    if backend.count(platform) and pa.device(f"{library}:{platform}").kind != "cpu":
        measured = pa.device(f"{library}:{platform}")
        assert measured.kind == facts.kind
        assert backend.on_host(measured.native) is facts.on_host
        if backend.count(platform) > 1:
            assert (backend.scope(measured.native) is not None) is facts.current
        native = pa.zeros(1, dtype="float32", device=measured).__dlpack_device__()
        assert facts.on_host or native[0] == facts.dlpack
    if library == "jax":
        import jax

        with jax.enable_x64(False):
            available = backend.dtypes(platform, 0)
    elif library in ("dpnp", "clarray") and not backend.count(platform):
        pytest.skip("dtypes are those of a device")
    else:
        available = backend.dtypes(platform, 0)
    names = {dtype.name for dtype in available}
    assert set(NAMES) - names == set(facts.lacks)


PAGE = Path(__file__).parents[2] / "docs" / "virtual_devices.md"
TITLE = "| device | as | lacks | memory | native arrays | DLPack type | on the host |"


def row_of(platform: str) -> str:
    """Return a preset's row of the page's table."""
    traits = preset(platform)
    hosted = sorted(traits.host_functions)
    summary = ", ".join(f"`{name}`" for name in hosted)
    if len(hosted) > 5:
        summary = f"{len(hosted)} functions: sorting, sets, most of `linalg` and `fft`"
    return (
        f"| `virtual:{platform}` | {registry.backend_infos()[traits.library].title} "
        f"| {', '.join(name for name in NAMES if name in traits.lacks)} "
        f"| {'host' if traits.host_readable else 'own'} "
        f"| {'immutable' if traits.immutable else 'mutable'}"
        f"{', of the current card' if traits.current else ''} "
        f"| {1 if traits.host_readable else traits.dlpack} | {summary} |"
    )


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation's source is not beside the tests")
def test_the_page_has_the_table_of_presets() -> None:
    table = "\n".join((TITLE, "|---" * 7 + "|", *map(row_of, presets())))
    assert table in PAGE.read_text("utf-8"), f"docs/virtual_devices.md needs this table:\n{table}"


# --- when they are there -------------------------------------------------------------------------


def test_a_block_makes_devices_and_removes_them() -> None:
    previous = pa.supported_backends(), pa.devices()
    with virtual_devices("cuda", "metal", count=2) as created:
        assert [device.platform for device in created] == ["cuda", "cuda", "metal", "metal"]
        assert created[1].index == created[0].index + 1
        assert set(pa.devices()) == {*previous[1], *created}
        assert all(device.library == "virtual" for device in pa.devices()[-4:])
        assert [pa.device(str(device)) for device in created] == list(created)
        assert [pa.device(device.native) for device in created] == list(created)
        assert "virtual cuda device, emulating CuPy (gpu)" in str(pa.summary())
        x = pa.ones(3, device=created[1])
        assert repr(x).endswith(f"device='{created[1]}')")
    assert (pa.supported_backends(), pa.devices()) == previous
    for use in (lambda: x + x, lambda: x[0], lambda: str(x), lambda: x.to_device("numpy")):
        with pytest.raises(DeviceNotFunctionalError, match="removed when its block ends"):
            use()
    with pytest.raises((DeviceNotFunctionalError, UnknownDeviceError)):
        pa.device(str(created[1]))
    with virtual_devices("cuda", count=2), pytest.raises(DeviceNotFunctionalError):
        x + x  # of an earlier block, although a device of that name is there


def test_only_texts_that_name_them_mean_them() -> None:
    best, gpu = pa.device("auto"), pa.gpu_device()
    with virtual_devices(*presets()):
        pa.reset_gpu_device()
        assert pa.device("auto") is best
        assert pa.gpu_device() is gpu
        for text in ("gpu", "rocm", "tpu", "metal"):
            with contextlib.suppress(DeviceNotFunctionalError):
                assert pa.device(text).library != "virtual"
        with pa.device("virtual:tpu") as device:
            assert pa.ones(1).device is device


def test_blocks_are_nested_and_decorate() -> None:
    @virtual_devices("tpu", float64=True)
    def inner() -> str:
        return str(pa.ones(2, dtype="float64", device="virtual:tpu").device)

    with virtual_devices("tpu") as (outer,), virtual_devices("tpu", float64=True) as (second,):
        assert second.index == outer.index + 1
        with pytest.raises(DTypeNotSupportedError):
            pa.ones(2, dtype="float64", device=outer)
        assert pa.ones(2, dtype="float64", device=second).dtype == pa.float64
    assert inner() == inner()


def test_threads_have_devices_of_their_own() -> None:
    def work(value: int) -> float:
        total = 0.0
        for _ in range(20):
            with virtual_devices("cuda", count=2, memory=1000 + value) as (first, second):
                assert pa.memory(second).total == 1000 + value
                total += float(pa.sum(pa.full(4, value, device=first)))
        return total

    previous = pa.devices()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [80.0 * factor for factor in range(8)]
    assert pa.devices() == previous


def test_wrong_arguments_are_refused_at_once() -> None:
    for wrong, error in (
        (lambda: virtual_devices("cudda"), ValueError),
        (lambda: virtual_devices("cuda", count=0), ValueError),
        (lambda: virtual_devices("cuda", memory=-1), ValueError),
        (lambda: virtual_devices("cuda", float64="no"), TypeError),  # type: ignore[arg-type]
        (lambda: virtual_devices("cuda", host_functions=["sortt"]), ValueError),
    ):
        with pytest.raises(error, match="is not a"):
            wrong()


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("cuda:2, metal", "['virtual:cuda:0', 'virtual:cuda:1', 'virtual:metal:0'] 4"),
        ("cudda", "PORTARRAY_VIRTUAL: 'cudda' is not a platform (cuda, rocm"),
        ("", "there are no virtual devices"),
    ],
)
def test_the_environment_makes_them(variable: str, said: str) -> None:
    program = (
        "import portarray as pa, sys\n"
        "assert 'portarray.testing' not in sys.modules\n"
        "from portarray.testing import virtual_devices\n"
        "try:\n"
        "    pa.device('virtual')\n"
        "    with virtual_devices('metal'):\n"
        "        found = pa._devices.discovery.status('virtual').devices\n"
        "    print([str(one) for one in found if one.index < 2][:3], len(found))\n"
        "except pa.PortarrayError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PORTARRAY_VIRTUAL": variable},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said in done.stdout


# --- what they do --------------------------------------------------------------------------------


@pytest.fixture(params=presets())
def virtual(request: pytest.FixtureRequest) -> Any:
    with virtual_devices(request.param, count=2) as (_, device):  # not the current one
        yield device


def test_kernels_gradients_and_transfers_work(virtual: pa.Device) -> None:
    x = pa.asarray([1.0, 2.0, 3.0], dtype="float32", device=virtual)
    assert pa.grad(lambda x: pa.sum(x * x))(x).tolist() == [2, 4, 6]
    assert pa.compile(lambda x: pa.exp(x) * 2 - pa.exp(x) * 2 + x)(x).tolist() == [1, 2, 3]
    assert pa.kernels.softmax(x).device is virtual
    assert pa.random.normal(pa.random.key(0, device=virtual), (3,)).device is virtual
    assert pickle.loads(pickle.dumps(x)).device is virtual
    assert pa.to_device({"x": [x]}, "numpy")["x"][0].tolist() == [1, 2, 3]
    assert x[x > 1].tolist() == [2, 3]
    x[0] = 5
    x += 1
    assert x.tolist() == [6, 3, 4]
    x = scale(x, 2.0)
    assert x.tolist() == [12, 6, 8]
    xp = pa.namespace(virtual)
    with virtual.native:
        native = xp.zeros(3)
        assert native.device is virtual.native
        assert type(native) is type(x.native)
        assert float((native + 1)[0] * 2) == 2
        assert bool(native[0] == 0)
        assert len(native) == 3
    assert native.dtype == ("float64" if "float64" not in preset(virtual.platform).lacks else "f4")


@pa.kernel
def scale(x: Any, factor: float) -> None:
    i = kl.index()
    x[i] = x[i] * factor


def test_native_arrays_refuse_what_real_ones_refuse(virtual: pa.Device) -> None:
    traits = preset(virtual.platform)
    native = pa.ones(3, dtype="float32", device=virtual).native
    with pytest.raises(ValueError, match="current") if traits.current else contextlib.nullcontext():
        native + native
    if traits.host_readable:
        assert np.asarray(native).tolist() == [1, 1, 1]
    else:
        with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
            np.asarray(native)
        with pytest.raises((BufferError, RuntimeError)):
            np.from_dlpack(native)
    with virtual.native:
        with pytest.raises(TypeError, match="Unsupported type"):
            native + np.ones(3)
        with pytest.raises(TypeError):
            memoryview(native)
        if traits.immutable:
            with pytest.raises(TypeError, match=r"does not support item assignment.*virtual"):
                native[0] = 1
        else:
            native[0] = 1
        assert (np.float64(2) * native)[1] == 2
        assert native[np.asarray([0, 1])].shape == (2,)
        assert copy.deepcopy(native).device is native.device


def test_cards_are_entered() -> None:
    with virtual_devices("cuda", count=2) as (first, second):
        x = pa.ones(3, device=second).native
        with pytest.raises(ValueError, match="is the current virtual device"):
            x + x
        with second.native:
            assert (x + x).device is second.native
        with pytest.raises(ValueError, match="two"):
            x + pa.ones(3, device=first).native
    with virtual_devices("cuda", count=2, current=False) as (_, second):
        x = pa.ones(3, device=second).native
        assert (x + x).device is second.native


def test_memory_is_counted_and_freed() -> None:
    with virtual_devices("cuda", memory=4000) as (device,):
        x = pa.zeros(250, dtype="float64", device=device)
        views = [x[:100], pa.reshape(x, (10, 25)), x.native[3:]]
        assert pa.memory(device).used == 2000
        with pytest.raises(OutOfMemoryError, match="requested 8,000 bytes, free 2,000 bytes"):
            pa.zeros(1000, device=device)
        y = x + 1
        with pytest.raises(OutOfMemoryError):
            y * 2
        del x, y
        gc.collect()
        assert pa.memory(device).used == 2000  # views keep it
        del views
        gc.collect()
        assert pa.memory(device).used == 0
        assert device.native.peak == 4000


def test_errors_that_depend_on_values_are_late() -> None:
    with virtual_devices("cuda", late=True) as (device,):
        x = pa.zeros((2, 2), device=device)
        out = pa.linalg.inv(x)
        assert out.shape == (2, 2)
        with pytest.raises(LinAlgError):
            pa.synchronize(device)
        pa.synchronize(device)
        out = x[pa.asarray([7, 0], device=device)]
        assert out.shape == (2, 2)
        with pytest.raises(IndexError):
            out.to_device("numpy")
        with pytest.raises(ValueError, match="square"):  # shapes are known at once
            pa.linalg.inv(pa.zeros((2, 3), device=device))


def test_host_functions_are_reported() -> None:
    with virtual_devices("cuda", host_functions=["sort"]) as (device,):
        x = pa.asarray([2.0, 1.0], device=device)
        with host_transfers() as copies, pytest.warns(HostFallbackWarning, match="sort"):
            pa.sort(x)
        assert [(item.kind, item.name) for item in copies] == [("host fallback", "sort")]
        assert {row.function for row in pa.support(device) if row.served == "host"} == {"sort"}


def test_a_new_device_has_no_history() -> None:
    with host_transfers(refuse=True), virtual_devices("rocm", memory=1, launches=0) as (device,):
        assert (device.native.calls, device.native.peak) == (0, 0)
        with pytest.raises(AssertionError, match="launches=0"):
            pa.ones(0, device=device)


def test_copies_are_reported_to_their_thread() -> None:
    with virtual_devices("cuda") as (device,), host_transfers() as copies:
        x = pa.asarray([1.0, 2.0], device=device)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(x.tolist).result()
        float(x[0])
        native = x.native
        float(native[0])
        native[np.asarray([0])]
        copy.deepcopy(native)
        np.from_dlpack(native, device="cpu")
        assert [(item.kind, item.to_host) for item in copies] == [
            *(("asarray", False), ("float", True), ("float", True), ("indexing", False)),
            *(("pickle", True), ("unpickle", False), ("DLPack", True)),
        ]
        assert {item.device for item in copies} == {str(device)}
        assert all(item.where.startswith((__file__, copy.__file__)) for item in copies)
        assert f"asarray copies from the host to {device}" in str(copies[0])
        with host_transfers(refuse=True), pytest.raises(HostTransferError):
            float(x[0])


def test_functions_refuse_shapes_that_depend_on_values() -> None:
    with virtual_devices("tpu", dynamic_shapes=False) as (device,):
        x = pa.asarray([1.0, 0.0], device=device)
        for call in (pa.nonzero, pa.unique_values, pa.unique_all):
            with pytest.raises(TypeError, match="depends on values"):
                call(x)
        with pytest.raises(IndexError, match="masks"):
            x[x > 0]
        x[x > 0] = 3
        assert x.tolist() == [3, 0]


def test_host_fallbacks_are_reported_in_each_block() -> None:
    for _ in range(2):
        with virtual_devices("cuda", host_functions=["sort"]) as (device,):
            x = pa.ones(2, device=device)
            with pytest.warns(HostFallbackWarning, match="sort"):
                pa.sort(x)


def test_successive_blocks_cost_little_and_keep_nothing() -> None:
    previous = set(discovery.existing())
    natives = set()
    for index in range(50):
        with virtual_devices("metal", memory=100 + index) as (device,):
            natives.add(id(pa.ones(3, device=device)._dispatch))
    assert len(natives) == 1  # what was learned of a device and a dtype is used again
    assert set(discovery.existing()) == previous
