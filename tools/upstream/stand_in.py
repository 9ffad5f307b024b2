"""pytest plugin: portarray stands in for a library of the standard in a project's own tests.

Many projects test with ``array_api_strict``. While this plugin is loaded, that name, or the one in
``STAND_IN_FOR``, is the namespace of the arrays of ``STAND_IN_DEVICE``. The default device is
another one, so that whatever a project creates beside its arguments shows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import portarray as pa

NAME = os.environ.get("STAND_IN_FOR", "array_api_strict")
DEVICE = os.environ["STAND_IN_DEVICE"]
REFERENCES = ("array_api_strict", "array_api_compat.numpy")
"""Libraries instead of a device: what the same tests do with these."""


class TorchStandIn(ModuleType):
    """The namespace of a device's arrays, with what tests ask PyTorch for besides."""

    Tensor = type("Tensor", (), {})  # array_api_compat looks for arrays of PyTorch
    cuda = SimpleNamespace(is_available=lambda: False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.namespace, "asarray" if name == "as_tensor" else name)


def _namespace() -> Any:
    if DEVICE in REFERENCES:
        namespace: Any = import_module(DEVICE)
    else:
        device = pa.device(DEVICE)
        pa.set_default_device("clarray" if device.library == "numpy" else "numpy")
        namespace = pa.empty(0, device=device).__array_namespace__()
        namespace.Device = lambda name: device  # array_api_strict's "CPU_DEVICE" and "device1"
    if NAME == "torch":
        module: Any = TorchStandIn("portarray")
        module.namespace = namespace
        return module
    return namespace


NAMESPACE = _namespace()


def pytest_configure(config: pytest.Config) -> None:
    """Make portarray the library of the name; a busy machine fails no test."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings.register_profile("upstream", deadline=None, suppress_health_check=slow)
    settings.load_profile("upstream")
    if NAME == "array_api_strict" and DEVICE not in REFERENCES:
        classes: Any = ModuleType(f"{NAME}._array_object")
        classes.Array = pa.Array
        sys.modules.update({NAME: NAMESPACE, classes.__name__: classes})
    elif NAME == "einops" and DEVICE not in REFERENCES:
        _be_cupy_of_einops()
    os.environ["EINOPS_TEST_BACKENDS"] = "numpy" if DEVICE in REFERENCES else "cupy"
    annotations: Any = ModuleType("array_api._2024_12")  # its package needs Python 3.12
    annotations.Array = annotations.ArrayNamespaceFull = Any
    sys.modules.update({"array_api": ModuleType("array_api"), annotations.__name__: annotations})


def _be_cupy_of_einops() -> None:
    """Let einops test its backend for portarray as if it were its own for CuPy."""
    from einops import _backends

    pa.set_default_device(DEVICE)  # where the backend makes arrays of NumPy's
    ours: Any = next(
        backend
        for backend in _backends.AbstractBackend.__subclasses__()
        if backend.framework_name == "portarray"
    )
    portarrays: Any = type("Portarray", (ours,), {"framework_name": "cupy"})
    _backends.CupyBackend = portarrays  # type: ignore[misc]


@pytest.hookimpl(hookwrapper=True)
def pytest_pycollect_makemodule(module_path: Any, parent: Any) -> Iterator[None]:
    """Stand in for a library that portarray itself needs only while tests are imported."""
    outcome: Any = yield
    collected = outcome.get_result()
    if NAME != "torch":
        return
    imported = import_module(NAME)
    sys.modules[NAME] = NAMESPACE
    try:
        collected.obj  # imports the tests  # noqa: B018
    finally:
        sys.modules[NAME] = imported


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record the device."""
    device = DEVICE if DEVICE in REFERENCES else str(pa.device(DEVICE))
    item.user_properties.append(("device", device))


@pytest.fixture
def xp() -> Any:
    """Return the namespace, for tests whose own fixture is in another package."""
    return NAMESPACE
