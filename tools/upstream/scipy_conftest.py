"""Fixtures and assertions of SciPy's tests that portarray's plugin does not define.

SciPy's conftest.py runs its tests with other libraries; here they run with portarray arrays on each
device. The plugin reads SciPy's marks; ``np_only`` skips every device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from scipy._lib import _array_api
from scipy._lib._array_api import default_xp

import portarray as pa

_strict_check = _array_api._strict_check


def _checked(actual: Any, desired: Any, xp: Any, **options: Any) -> tuple[Any, Any, Any]:
    """Check as SciPy does, and return the values on the host for comparison."""
    actual, desired, xp = _strict_check(actual, desired, xp, **options)
    if isinstance(actual, pa.Array):
        actual, desired = actual.to_device("numpy"), desired.to_device("numpy")
    return actual, desired, xp


_copy_to_numpy = _array_api._xp_copy_to_numpy


def _copied(x: Any) -> Any:
    """Copy to NumPy, as SciPy does for the libraries that it knows."""
    return _copy_to_numpy(x.to_device("numpy") if isinstance(x, pa.Array) else x)


_close = _array_api.xp_assert_close


def _asserted(
    actual: Any, desired: Any, *, rtol: Any = None, atol: Any = 0, **options: Any
) -> None:
    """Compare as SciPy does, with tolerances that may be arrays."""
    rtol, atol = (float(x) if isinstance(x, pa.Array) else x for x in (rtol, atol))
    _close(actual, desired, rtol=rtol, atol=atol, **options)


_array_api.xp_assert_close = _asserted
_array_api._strict_check = _checked
_array_api._xp_copy_to_numpy = _copied


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks of SciPy's tests."""
    for name in (
        *("slow", "xslow", "fail_slow", "timeout", "xfail_on_32bit", "array_api_backends"),
        *("parallel_threads_limit", "thread_unsafe", "iterations", "uses_xp_capabilities"),
    ):
        config.addinivalue_line("markers", f"{name}: SciPy's")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests without portarray, and skip those for NumPy arrays only."""
    ours = [item for item in items if "_portarray_device" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(ours)])
    items[:] = ours
    for item in items:
        for mark in item.iter_markers():
            if mark.name in ("skip_xp_backends", "xfail_xp_backends"):
                of_numpy = mark.kwargs.get("np_only")
                # Ignore exceptions: SciPy calls CuPy's functions only for CuPy's arrays.
                if of_numpy or (mark.kwargs.get("cpu_only") and _device(item).kind != "cpu"):
                    reason = mark.kwargs.get("reason") or "for NumPy arrays only"
                    item.add_marker(pytest.mark.skip(reason=reason))
            elif mark.name in ("xslow", "slow"):
                item.add_marker(pytest.mark.skip(reason=mark.name))


def _device(item: Any) -> pa.Device:
    return pa.device(item.callspec.params["_portarray_device"])


@pytest.fixture(autouse=True)
def own_namespace(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check in every assertion that results are portarray arrays."""
    if "xp" not in request.fixturenames:
        yield
        return
    namespace: Any = pa
    with default_xp(namespace):
        yield


@pytest.fixture
def num_parallel_threads() -> int:
    return 1


@pytest.fixture
def devices(device: pa.Device) -> list[pa.Device | None]:
    return [device, None]
