"""The support table lists each function once per device, with those that leave the device."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import pytest

import portarray as pa
from portarray._api.support import functions, overview
from portarray.backends import registry

# What a library lacks and no composition of functions makes: these leave the device.
ON_HOST: dict[str, set[str]] = {
    "dpnp": {"linalg.eig", "linalg.eigvals"},  # dpnp itself computes them with NumPy
}
AT_MOST = {"mlx": 12, "dpnp": 4}
# clarray chooses the host for what its README names, where the memory is the host's anyway.
BY_CHOICE = {"clarray"}


def test_every_function_has_one_row(device: str) -> None:
    rows = [(row.category, row.function) for row in pa.support(device)]
    assert rows == list(functions())
    assert len(rows) == len(set(rows))


def test_only_functions_that_are_named_leave_the_device(device: str) -> None:
    pa_device = pa.device(device)
    library = pa_device.library
    if not registry.package_of(library).startswith("portarray.backends."):
        pytest.skip("what a plugin does on the host is its own matter")
    on_host = {row.function for row in pa.support(device) if row.served == "host"}
    if library in BY_CHOICE:
        # What its backend says that it does on the host; nothing falls there unasked.
        host_functions = [attrgetter(name)(pa_device._backend.standard) for name in on_host]
        assert {function.__portarray_served__ for function in host_functions} == {"host"}
        return
    assert on_host == ON_HOST.get(library, set())
    assert len(on_host) <= AT_MOST.get(library, 0)


def test_libraries_without_a_device_here_leave_none_either() -> None:
    for entry in overview().places:
        if entry.state == "declared":
            assert entry.totals["host"] <= AT_MOST.get(entry.device, 0), entry.device


def test_all_devices_by_default() -> None:
    assert {row.device for row in pa.support()} == {str(d) for d in pa.devices()}


def test_the_overview_counts_the_rows(device: str) -> None:
    report = overview([device])
    (entry,) = report.places
    assert (entry.device, entry.state) == (device, "functional")
    for served, total in entry.totals.items():
        assert total == sum(row.served == served for row in pa.support(device))


def test_a_library_without_devices_is_declared(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {row.function: row.served for row in pa.support(fake)}
    monkeypatch.setattr(registry.load_backend(fake), "count", lambda platform: 0)
    pa.reset_gpu_device()
    report = overview()
    (entry,) = (entry for entry in report.places if entry.device.startswith("fake"))
    assert (entry.device, entry.state, entry.reason) == ("fake", "declared", "fake has no cuda")
    declared = [row for row in report.rows if row.device == "fake"]
    assert {row.function: row.served for row in declared} == rows
    assert {row.dtypes for row in declared} == {()}
    states = [entry.state for entry in report.places]
    order = ("functional", "declared", "not run")
    assert states == sorted(states, key=order.index)


def test_a_library_that_is_not_installed_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "absent_backend").mkdir()
    (tmp_path / "absent_backend" / "__init__.py").write_text(
        "from portarray.backends.types import BackendInfo\n"
        "INFO = BackendInfo('absent', 'Absent', 'no_such_module', {'cuda': 900}, {'': 'absent'})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.add_backend("absent_backend")
    try:
        report = overview()
    finally:
        registry.remove_backend("absent")
        pa.reset_gpu_device()
    (entry,) = (entry for entry in report.places if entry.device.startswith("absent"))
    assert (entry.device, entry.state, dict(entry.totals)) == ("absent:cuda", "not run", {})
    assert "not installed" in entry.reason
    assert "absent" not in {row.device.partition(":")[0] for row in report.rows}


def test_the_dtypes_of_a_row_are_those_the_function_takes(device: str) -> None:
    taken = {row.function: set(row.dtypes) for row in pa.support(device)}
    ones = {dtype: pa.ones(2, dtype=dtype, device=device) for dtype in taken["equal"]}
    for name in ("sin", "bitwise_invert", "floor", "logical_not", "negative"):
        for dtype, x in ones.items():
            try:
                getattr(pa, name)(x)
            except TypeError:
                assert dtype not in taken[name], (name, dtype)
            else:
                assert dtype in taken[name], (name, dtype)
