"""The fixture ``anywhere``: every functional device, and those of rooms that lack something."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import portarray as pa
from portarray.backends import registry

sys.path.insert(0, str(Path(__file__).parent))

LIMITED = {
    "fake": "fake:cuda:0",  # memory that NumPy cannot read, no DLPack, a current device
    "nofloat64": "nofloat64:metal:0",
    "no64bit": "no64bit:tpu:0",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with an argument ``anywhere`` once on each device."""
    if "anywhere" in metafunc.fixturenames:
        places = [*map(str, pa.devices()), *LIMITED.values()]
        metafunc.parametrize("anywhere", places, indirect=True)


@pytest.fixture
def anywhere(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device; the limited ones are there for the time of the test."""
    text: str = request.param
    library = text.partition(":")[0]
    if library in LIMITED:
        registry.add_room(library)
        pa.reset_gpu_device()
    yield text
    if library in LIMITED:
        registry.remove_room(library)
        pa.reset_gpu_device()
