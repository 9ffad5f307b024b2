"""``portarray routes`` agrees with transfer plans."""

from __future__ import annotations

import json
from typing import Any

import pytest

import portarray as pa

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("rich", reason="the extra 'cli' is not installed")

from click.testing import CliRunner, Result

from portarray._cli import routes as command
from portarray._cli.group import portarray
from portarray._movement import matrix


@pytest.fixture(autouse=True)
def no_minimum_time(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "LEAST", 0.0)


def run(*arguments: str, columns: int = 300) -> Result:
    runner = CliRunner(env={"COLUMNS": str(columns)})
    return runner.invoke(portarray, ["routes", *arguments], catch_exceptions=False)


def test_routes_match_transfer_plans() -> None:
    result = run("--json")
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    devices = pa.devices()
    assert report["devices"] == [str(device) for device in devices]
    assert report["array"] == {"dtype": "float32", "bytes": 1_000_000}
    assert report["memcpy"] is None
    rows = iter(report["routes"])
    for source in devices:
        x = pa.zeros(250_000, dtype=pa.float32, device=source)
        for target in devices:
            plan = pa.transfer_plan(x, target)
            assert next(rows) == {
                "from": str(source),
                "to": str(target),
                "route": plan.route,
                "copies": plan.copies,
                "bytes": plan.nbytes,
                "why": list(plan.reasons),
                "problem": "",
            }
    assert next(rows, None) is None


@pytest.mark.parametrize("columns", [300, 50])
def test_the_table_in_wide_and_narrow_terminals(columns: int) -> None:
    listed = json.loads(run("--json").stdout)
    result = run(columns=columns)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= columns
    assert ("from \\ to" in result.stdout) == (columns == 300)
    text = " ".join(result.stdout.split())  # as if no line were folded
    assert all(device in text for device in listed["devices"])
    for reason in {reason for route in listed["routes"] for reason in route["why"]}:
        assert all(word in text for word in reason.split())
        if columns == 300:
            notes = [line.partition(" ")[2].strip() for line in result.stdout.splitlines()]
            assert notes.count(reason) == 1
    for kind in {route["route"] for route in listed["routes"] if route["from"] != route["to"]}:
        assert kind in text
    assert (
        "both compute in the memory of one GPU" not in text
    )  # the legend explains only what occurs


def test_chosen_devices() -> None:
    report = json.loads(run("fake:cuda:1", "numpy", "cpu", "fake:cuda:1", "--json").stdout)
    assert report["devices"] == ["fake:cuda:1", "numpy:cpu:0"]
    there, back = report["routes"][1], report["routes"][2]
    assert (there["from"], there["to"], there["route"]) == ("fake:cuda:1", "numpy:cpu:0", "host")
    assert (back["from"], back["to"], back["copies"]) == ("numpy:cpu:0", "fake:cuda:1", 1)
    alone = run("numpy")
    assert alone.exit_code == 0
    assert "see portarray devices" in alone.stdout


def test_measured() -> None:
    report = json.loads(run("numpy", "fake:cuda:0", "--measure", "--json").stdout)
    assert report["array"]["bytes"] == 64_000_000
    assert report["memcpy"]["fresh_seconds"] > 0
    assert report["memcpy"]["warm_seconds"] > 0
    for route in report["routes"]:
        assert route["seconds"] > 0
        ratio = route["seconds"] / report["memcpy"]["fresh_seconds"]
        assert route["ratio_to_memcpy"] == pytest.approx(ratio)
        assert (route["gigabytes_per_second"] is None) == (route["copies"] == 0)
        if route["copies"]:
            speed = route["gigabytes_per_second"]
            assert speed * 1e9 * route["seconds"] == pytest.approx(64e6)
    shown = run("numpy", "fake:cuda:0", "--measure", "--megabytes", "1").stdout
    assert "times one memcpy of 1 MB" in shown


def test_measured_without_a_copy(nofloat64: str) -> None:
    shown = run("numpy", nofloat64, "--measure", "--megabytes", "1").stdout
    assert "shared" in shown
    assert " µs " in shown
    assert "memcpy" not in shown
    assert "µs" not in run("numpy", "--measure", "--megabytes", "1").stdout


def test_a_failing_device_is_reported_in_its_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the card fell off [the bus]")

    transfer = pa.device("fake:cuda:0")._backend
    monkeypatch.setattr(transfer, "from_host", fail)
    result = run("numpy", "fake:cuda:0", "--measure", "--megabytes", "1")
    assert result.exit_code == 0
    assert "fails" in result.stdout
    assert "fake:cuda:0 → numpy:cpu:0: RuntimeError: the card fell off [the bus]" in result.stdout
    assert "numpy:cpu:0 → fake:cuda:0: RuntimeError: the card fell off [the bus]" in result.stdout
    listed = json.loads(run("numpy", "fake:cuda:0", "--json").stdout)
    assert [bool(route["problem"]) for route in listed["routes"]] == [False, False, True, True]
    assert [route["route"] for route in listed["routes"]] == ["library", "host", None, None]


def test_wrong_input() -> None:
    result = run("nmpy")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: device: unknown device 'nmpy'")
    result = run("fake:cuda:7")
    assert result.exit_code == 1
    assert "fake sees 2 devices" in result.stderr
    assert run("--megabytes", "0").exit_code == 2
    assert run("--mesure").exit_code == 2
    result = run("numpy", "--megabytes", str(10**9))
    assert result.exit_code == 2
    assert "--megabytes: 1000000000 MB need 4656612.9 GiB of host memory" in result.stderr


def test_footnotes_never_end() -> None:
    assert [command._mark(index) for index in (0, 25, 26, 51, 52, 701, 702)] == [
        *("a", "z", "aa", "az", "ba", "zz", "aaa")
    ]
