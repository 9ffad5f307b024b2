"""The ``device`` fixture: every OpenCL device, with guard bytes around blocks of memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

# Read when the first device is opened: a test finds a kernel that writes outside its arrays.
os.environ.setdefault("CLARRAY_GUARD", "1")

import pytest

from portarray._opencl.device import Device
from portarray._opencl.registry import devices, reasons

PLATFORMS = ("Intel", "Portable Computing Language")
"""Platforms on which the tests should run; a missing one is reported as a skipped test."""


@cache
def _discrete() -> Device:
    """Return the first device as one with separate memory, as GPUs have."""
    first = devices()[0]
    return Device(first.native, first.index, discrete=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with a ``device`` argument on each device, and on the first as a discrete one."""
    if "device" in metafunc.fixturenames:
        ids = {str(device.index): f"{device.index}-{device.platform_name}" for device in devices()}
        if ids:
            ids["discrete"] = "discrete"
        for name in PLATFORMS:
            if not any(name in device.platform_name for device in devices()):
                ids[f"missing {name}"] = f"missing {name}"
        metafunc.parametrize("device", list(ids), ids=list(ids.values()), indirect=True)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """Return an OpenCL device; fail a test that wrote outside its arrays."""
    key: str = request.param
    if key.startswith("missing"):
        pytest.skip(f"{key}: {reasons() or 'no such platform'}")
    chosen = _discrete() if key == "discrete" else devices()[int(key)]
    yield chosen
    chosen.pool.check()
