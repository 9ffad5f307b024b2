"""Fixtures of clarray's tests: its devices, with guard bytes around what lies in their memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Read when the first device is made: a kernel that writes beside its arrays is found by a test.
os.environ.setdefault("CLARRAY_GUARD", "1")
sys.path.insert(0, str(Path(__file__).parent))

import pytest

import portarray.clarray.namespace  # noqa: F401 - internal modules alone lack the arrays' methods
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.registry import devices, reasons

CPUS = ("Intel", "Portable Computing Language")
"""Platforms on which the tests should run; where one is missing, they say so."""


@cache
def _discrete() -> Device:
    """Return the first device as one with memory of its own, as GPUs have."""
    first = devices()[0]
    return Device(first.native, first.index, discrete=True)


def _missing() -> list[str]:
    return [name for name in CPUS if not any(name in one.platform_name for one in devices())]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with a ``device`` argument on each device, and on the first as a discrete one."""
    if "device" in metafunc.fixturenames:
        keys = [str(one.index) for one in devices()]
        keys += ["discrete"] if keys else []
        names = [f"{key}-{devices()[int(key)].platform_name}" for key in keys if key.isdigit()]
        names += ["discrete"] if keys else []
        absent = [f"missing {name}" for name in _missing()]
        metafunc.parametrize("device", [*keys, *absent], ids=[*names, *absent], indirect=True)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """One device after the other; what a test wrote beside its arrays fails it."""
    key: str = request.param
    if key.startswith("missing"):
        pytest.skip(f"{key}: {reasons() or 'no such platform'}")
    found = _discrete() if key == "discrete" else devices()[int(key)]
    yield found
    found.pool.check()
