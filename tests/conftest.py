"""Fixtures of all tests: isolated settings, and fake backends."""

from __future__ import annotations

import gc
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from getpass import getuser
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

# SciPy reads this when it is imported: its functions then compute in the arrays' own namespace.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# JAX has 64-bit dtypes as its user says; tests/backends/jax says otherwise where that matters.
os.environ.setdefault("JAX_ENABLE_X64", "1")
# JAX compiles each function anew for each shape: what one process of a run compiled serves others.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"portarray-jax-{getuser()}")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
# Where the user's folder cannot be written, this run has caches of its own.
if not os.access(next(p for p in (Path.home(), *Path.home().parents) if p.exists()), os.W_OK):
    for name in ("CLARRAY_CACHE_DIR", "CUPY_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME"):
        os.environ.setdefault(name, tempfile.mkdtemp(prefix="portarray-cache-"))
# So does SYCL behind dpnp, 0.3 s for each function and dtype.
os.environ.setdefault("SYCL_CACHE_PERSISTENT", "1")

# PyTorch's compiler imports it, and it refuses where the standard library's distutils came first.
if find_spec("setuptools") is not None:
    import_module("setuptools")

import pytest
from hypothesis import HealthCheck, settings

import portarray as pa
from portarray.backends import registry
from portarray.testing import virtual_devices

BACKENDS = Path(__file__).parent / "fakes"
# Their tests have a fixture named device, which returns clarray's devices.
CLARRAY_FOLDERS = {Path(__file__).parent / "clarray", Path(__file__).parent / "opencl"}
sys.path.insert(0, str(BACKENDS))

DEVICE_ARGUMENTS = ("device", "where")
"""Arguments that contain the device of a test marked ``drawn_devices``."""

# What is drawn is the same in every run, and no test fails because the machine is busy:
# --hypothesis-profile=search draws anew each time.
settings.register_profile(
    "search", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("same", parent=settings.get_profile("search"), derandomize=True)
settings.load_profile("same")


# Folders of which every file needs an extra of portarray; where it is missing they are left out.
NEEDED = {
    "clarray": ("pyopencl",),
    "opencl": ("pyopencl",),
    "conformance": ("portarray_conformance", "click", "rich"),
}
IGNORED = {
    folder: missing
    for folder, names in NEEDED.items()
    if (missing := [name for name in names if find_spec(name) is None])
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore folders that cannot be imported here."""
    folder = collection_path.name
    return True if folder in IGNORED and collection_path.parent == BACKENDS.parent else None


def pytest_report_header() -> list[str]:
    """Report the ignored folders."""
    return [
        f"not run: tests/{folder}, for want of {', '.join(missing)}"
        for folder, missing in IGNORED.items()
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with a ``device`` argument once on each functional device."""
    folders = set(metafunc.definition.path.parents)
    if "device" in metafunc.fixturenames and not CLARRAY_FOLDERS & folders:
        metafunc.parametrize("device", device_texts(metafunc))


def device_texts(metafunc: pytest.Metafunc) -> list[str]:
    """Return the devices that a test runs on: all functional ones, or one if marked so."""
    if metafunc.definition.get_closest_marker("one_device"):
        return ["numpy:cpu:0"]
    return functional_devices()


@cache
def functional_devices() -> list[str]:
    """Return the functional devices, looked up once for all tests.

    ``PORTARRAY_TEST_DEVICES`` selects devices by name, separated by spaces.
    """
    names = os.environ.get("PORTARRAY_TEST_DEVICES", "").split()
    return [str(device) for device in (map(pa.device, names) if names else pa.devices())]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select tests; draw their order if ``PORTARRAY_TEST_ORDER`` is a seed."""
    keep_drawn_devices(config, items)
    seed = os.environ.get("PORTARRAY_TEST_ORDER")
    if seed:
        random.Random(seed).shuffle(items)


def keep_drawn_devices(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the drawn devices of the tests marked ``drawn_devices``.

    Each case of such a test runs on the first device, which is NumPy's, and on as many others as
    the mark says: they take turns, in a drawn order of the cases. Cases run on all devices with
    ``PORTARRAY_TEST_FULL=1``, and where the test is selected by ``FILE::TEST``.
    """
    if "PORTARRAY_TEST_FULL" in os.environ or any("::" in path for path in config.args):
        return
    functions: dict[Any, dict[Any, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        mark = item.get_closest_marker("drawn_devices")
        if mark is not None and isinstance(item, pytest.Function):
            params = item.callspec.params if hasattr(item, "callspec") else {}
            case = tuple(id(x) for name, x in params.items() if name not in DEVICE_ARGUMENTS)
            # Items of a case are in the order of devices: NumPy's, or OpenCL's first, comes first.
            functions[item.nodeid.partition("[")[0], *mark.args][case].append(item)
    dropped: set[pytest.Item] = set()
    for (function, devices), cases in functions.items():
        first = int.from_bytes(_digest(function))
        ordered = sorted(cases.values(), key=lambda case: _digest(case[0].nodeid))
        for index, (_, *others) in enumerate(ordered, start=first):
            drawn = {(index * devices + n) % max(len(others), 1) for n in range(devices)}
            dropped.update(item for n, item in enumerate(others) if n not in drawn)
    if dropped:
        items[:] = [item for item in items if item not in dropped]
        config.hook.pytest_deselected(items=list(dropped))


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def pytest_collection_finish() -> None:
    """Keep the garbage collector from scanning all test items repeatedly."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def settings_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the paths of folders for tests, a new one each time."""
    # The factory lists all folders whenever it makes one: 3 ms each after 4,000 tests.
    base = tmp_path_factory.mktemp("settings")
    return (base / str(n) for n in count())


@pytest.fixture(autouse=True)
def private_settings(settings_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the preferences and markers of tests and of the user apart."""
    folder = next(settings_folders)
    folder.mkdir()
    monkeypatch.setenv("PORTARRAY_CONFIG_DIR", str(folder / "config"))
    monkeypatch.setenv("PORTARRAY_STATE_DIR", str(folder / "state"))
    monkeypatch.delenv("PORTARRAY_DEVICE", raising=False)


@pytest.fixture(scope="module", autouse=True)
def compiled_programs() -> Iterator[None]:
    """Clear JAX's caches after each test module; they would grow to gigabytes."""
    yield
    jax = sys.modules.get("jax")
    if jax is not None:
        jax.clear_caches()


def _backend(package: str) -> Iterator[str]:
    info = registry.add_backend(package)
    pa.reset_gpu_device()
    yield info.library
    library = getattr(sys.modules.get(f"{package}.backend"), "LIBRARY", None)
    registry.remove_backend(info.library)
    pa.reset_gpu_device()
    if library is not None:
        is_balanced, library.entered, library.current = library.entered == 0, 0, 0
        assert is_balanced, f"a scope of {package} was entered and never left"


@pytest.fixture
def fake() -> Iterator[str]:
    """Two GPUs on cuda, ``fake:cuda:0`` and ``fake:cuda:1``, with memory of their own."""
    yield from _backend("fake")


@pytest.fixture
def nofloat64() -> Iterator[str]:
    """A GPU on metal without float64 and complex128, in host memory."""
    yield from _backend("nofloat64")


@pytest.fixture
def no64bit() -> Iterator[str]:
    """An accelerator on tpu without int64, uint64, float64 and complex128."""
    with virtual_devices("tpu", immutable=False) as (device,):
        yield str(device)


@pytest.fixture
def settable() -> Iterator[str]:
    """A GPU on rocm whose 64-bit types depend on ``settable.backend.wide``."""
    yield from _backend("settable")


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A GPU on opencl whose probe fails according to the variable FAULTY, ``step:how``."""
    monkeypatch.setenv("FAULTY_LOG", str(tmp_path / "faulty.log"))
    yield from _backend("faulty")
