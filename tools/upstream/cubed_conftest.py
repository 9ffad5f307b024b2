"""Replacement of cubed's conftest: chunks are portarray arrays on the device of the test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec

os.environ["CUBED_BACKEND_ARRAY_API_MODULE"] = "portarray.cubed"  # before cubed is imported

import cubed
import pytest

import portarray as pa

# Tests that need more packages, or that do not depend on the arrays.
collect_ignore = [
    "runtime",
    "storage",
    "test_executor_features.py",
    "test_groupby.py",
    "test_icechunk.py",
    "test_mem_utilization.py",
    "test_mem_utilization_rechunk.py",
    "test_optimization.py",
    "test_rechunk_hypothesis.py",
    *(() if find_spec("dill") else ("test_core.py",)),
]


# Tests of gigabytes, of pictures (Graphviz), and of the test module's name.
LEFT_OUT = (
    *("test_default_spec_config_override", "test_quad_means", "test_quad_means_zarr"),
    *("test_visualize", "test_default_spec_allowed_mem_exceeded_visualize"),
    "test_extract_stack_summaries",
)


def pytest_configure(config: pytest.Config) -> None:
    for name in ("cloud", "slow"):
        config.addinivalue_line("markers", f"{name}: left out")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deselect tests that need a cloud, gigabytes, or processes (with other default devices)."""
    items[:] = [item for item in items if not _is_left_out(item)]


def _is_left_out(item: pytest.Item) -> bool:
    marked = any(item.get_closest_marker(name) for name in ("cloud", "slow"))
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if marked or item.name.partition("[")[0] in LEFT_OUT:
        return True
    return any(
        getattr(parameter, "name", "") in ("processes", "dask") for parameter in parameters.values()
    )


@pytest.fixture(autouse=True)
def on_device(device: pa.Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute on the device in all threads, and disable pictures, which need Graphviz."""
    monkeypatch.setattr(cubed.core.plan.FinalizedPlan, "visualize", lambda *_, **__: None)
    pa.set_default_device(device)
    with device:
        yield
    pa.set_default_device(None)
