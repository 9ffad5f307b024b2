"""The support table: each function of the standard once for each device, and who leaves it."""

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
    found = pa.device(device)
    library = found.library
    if not registry.package_of(library).startswith("portarray.backends."):
        pytest.skip("what a plugin does on the host is its own matter")
    on_host = {row.function for row in pa.support(device) if row.served == "host"}
    if library in BY_CHOICE:
        # What its backend says that it does on the host; nothing falls there unasked.
        own = [attrgetter(name)(found._backend.standard) for name in on_host]
        assert {function.__portarray_served__ for function in own} == {"host"}
        return
    assert on_host == ON_HOST.get(library, set())
    assert len(on_host) <= AT_MOST.get(library, 0)


def test_libraries_without_a_device_here_leave_none_either() -> None:
    for place in overview().places:
        if place.state == "declared":
            assert place.totals["host"] <= AT_MOST.get(place.device, 0), place.device


def test_all_devices_by_default() -> None:
    assert {row.device for row in pa.support()} == {str(d) for d in pa.devices()}


def test_the_overview_counts_what_the_rows_say(device: str) -> None:
    found = overview([device])
    (place,) = found.places
    assert (place.device, place.state) == (device, "functional")
    for way, total in place.totals.items():
        assert total == sum(row.served == way for row in pa.support(device))


def test_a_library_without_devices_is_declared(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {row.function: row.served for row in pa.support(fake)}
    monkeypatch.setattr(registry.load_backend(fake), "count", lambda platform: 0)
    pa.reset_gpu_device()
    found = overview()
    (place,) = (place for place in found.places if place.device.startswith("fake"))
    assert (place.device, place.state, place.reason) == ("fake", "declared", "fake has no cuda")
    declared = [row for row in found.rows if row.device == "fake"]
    assert {row.function: row.served for row in declared} == rows
    assert {row.dtypes for row in declared} == {()}
    states = [place.state for place in found.places]
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
        found = overview()
    finally:
        registry.remove_backend("absent")
        pa.reset_gpu_device()
    (place,) = (place for place in found.places if place.device.startswith("absent"))
    assert (place.device, place.state, dict(place.totals)) == ("absent:cuda", "not run", {})
    assert "not installed" in place.reason
    assert "absent" not in {row.device.partition(":")[0] for row in found.rows}


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
