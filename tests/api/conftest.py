"""The fixture ``device``: every test that takes it runs on each functional device."""

from __future__ import annotations

import pytest

import portarray as pa


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests with a ``device`` argument once on each functional device."""
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", [str(one) for one in pa.devices()])
