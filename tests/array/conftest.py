"""Devices that tests run on, including fake ones with missing features."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import portarray as pa
from portarray.backends import registry
from portarray.testing import virtual_devices

sys.path.insert(0, str(Path(__file__).parent))

from drawn import VALUES, library_of, shares_with_numpy

LIMITED = {
    "fake": "fake:cuda:0",  # memory that NumPy cannot read, no DLPack, a current device
    "nofloat64": "nofloat64:metal:0",
}
VIRTUAL = ("virtual:cuda", "virtual:tpu")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests once on each device with the property that the argument's name states.

    ``anywhere`` is any device; ``sharing`` shares memory with NumPy, ``apart`` does not; on
    ``viewing`` an assignment to a view is seen in the original.
    """
    if "anywhere" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("one_device")
        places = [*functional_devices(), *LIMITED.values(), *VIRTUAL]
        metafunc.parametrize("anywhere", ["numpy:cpu:0"] if marker else places, indirect=True)
    names = functional_devices()
    if "sharing" in metafunc.fixturenames:
        metafunc.parametrize("sharing", [text for text in names if shares_with_numpy(text)])
    if "apart" in metafunc.fixturenames:
        metafunc.parametrize("apart", [text for text in names if not shares_with_numpy(text)])
    if "viewing" in metafunc.fixturenames:
        places = [text for text in names if library_of(text) not in VALUES]
        metafunc.parametrize("viewing", places)


@cache
def functional_devices() -> list[str]:
    """Return the devices that tests run on, as the fixtures of all tests do."""
    names = os.environ.get("PORTARRAY_TEST_DEVICES", "").split()
    return list(map(str, map(pa.device, names) if names else pa.devices()))


@pytest.fixture
def anywhere(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield a device; limited backends are registered during the test."""
    text: str = request.param
    library, _, platform = text.partition(":")
    if text in VIRTUAL:
        with virtual_devices(platform, count=2) as (_, device):
            yield str(device)
        return
    if library in LIMITED:
        registry.add_backend(library)
        pa.reset_gpu_device()
    yield text
    if library in LIMITED:
        registry.remove_backend(library)
        pa.reset_gpu_device()
