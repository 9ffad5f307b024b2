"""The benchmark of overheads runs and judges figures by its limits; times are not tested."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from portarray_conformance.names import ALL_NAMES

import portarray as pa

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def overhead(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("array_api_compat")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("overhead")


@pytest.fixture
def overhead_all(overhead: ModuleType) -> ModuleType:
    return importlib.import_module("overhead_all")


def test_short_run(
    overhead: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "overhead.json"
    monkeypatch.setattr(overhead, "LARGE", 1000)
    monkeypatch.setattr(sys, "argv", ["overhead.py", "--repeats", "1", "--json", str(file)])
    overhead.main()
    printed = capsys.readouterr().out
    assert "import portarray at most 30 ms over import numpy" in printed
    report = json.loads(file.read_text())
    measured = {(row["size"], row["what"], row["candidate"]) for row in report["rows"]}
    titles = {row["baseline"] for row in report["rows"] if row["size"] == "1,000"}
    assert len(titles) == len(pa.devices()) == len(report["devices"])
    for title in titles:
        for name in (title, f"portarray on {title}"):
            for operation in ("x + y", "x + 1.0", "sin(x)", "sum(x)", "x[0]"):
                assert ("tiny", operation, name) in measured
            for operation in ("x + y", "sin(x)", "sum(x)"):
                assert ("1,000", operation, name) in measured
    assert all(row["seconds"] > 0 or row["what"] == "namespace of x" for row in report["rows"])
    assert len(report["targets"]) >= 8 * len(titles)


def test_one_device(
    overhead: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "overhead.json"
    monkeypatch.setattr(overhead, "LARGE", 1000)
    command = ["overhead.py", "--repeats", "1", "--device", "numpy", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", command)
    overhead.main()
    report = json.loads(file.read_text())
    assert list(report["devices"]) == ["numpy:cpu:0"]
    assert {row["baseline"] for row in report["rows"]} == {"NumPy"}
    monkeypatch.setattr(sys, "argv", ["overhead.py", "--device", "numpi"])
    with pytest.raises(SystemExit):
        overhead.main()
    assert "--device: " in capsys.readouterr().err


def test_candidates_take_turns_and_the_shortest_time_counts(
    overhead: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    turns = iter([3.0, 1.0, 2.0] * 100)

    def quick_call() -> None:
        nonlocal now
        now += 1.0

    def long() -> None:
        nonlocal now
        now += 10.0 * next(turns)

    timing = importlib.import_module("portarray._cli.bench.timing")
    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: now))
    best = overhead.shortest_times({"short": quick_call, "long": long}, repeats=3, seconds=1e-3)
    assert best == {"short": 1.0, "long": 10.0}


@pytest.mark.parametrize(("added", "holds"), [(0.2e-6, True), (0.38e-6, False)])
def test_targets_are_judged(overhead: ModuleType, added: float, holds: bool) -> None:
    def row(size: str, operation: str, candidate: str, seconds: float, base: float) -> object:
        return overhead.Measured(
            size, operation, candidate, seconds, "NumPy", seconds / base, seconds - base
        )

    ours = "portarray on NumPy"
    rows = [
        row("tiny", "x + y", ours, 0.3e-6 + added, 0.3e-6),
        row("tiny", "sin(x)", ours, 0.3e-6, 0.3e-6),
        row("tiny", "namespace of x", "x.__array_namespace__(), portarray", 5e-8, 1e-6),
        row("", "import", "portarray", 0.11, 0.1),
    ]
    judged = overhead.targets(rows)
    assert [target.holds for target in judged] == [holds, True, True, True]


@pytest.mark.parametrize(
    ("added", "again", "holds"), [(0.4, 0, True), (0.6, 0, False), (0.6, 0.2, True)]
)
def test_every_library_has_a_target_beyond_noise(
    overhead: ModuleType, added: float, again: float, holds: bool
) -> None:
    base = 4e-6
    rows = [
        overhead.Measured("tiny", "sum(x)", name, base + more * 1e-6, "JAX", 1.0, more * 1e-6)
        for name, more in (("JAX", 0.0), ("JAX again", again), ("portarray on JAX", added))
    ]
    (target,) = overhead.targets(rows)
    assert target.holds is holds
    assert "0.50 us added to JAX's sum(x)" in target.promise


def test_repeats_below_one_are_refused(
    overhead: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["overhead.py", "--repeats", "0"])
    with pytest.raises(SystemExit):
        overhead.main()
    assert "--repeats: must be at least 1, got 0" in capsys.readouterr().err


def test_every_name_of_the_standard_has_a_row_or_a_reason(overhead: ModuleType) -> None:
    rows = importlib.import_module("overhead_rows")
    assert set(rows.STANDARD_ROWS) | set(rows.EXCLUDED) == set(ALL_NAMES)
    assert not set(rows.STANDARD_ROWS) & set(rows.EXCLUDED)


def test_all_rows_run_on_numpy(
    overhead: ModuleType,
    overhead_all: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "all.json"
    monkeypatch.setattr(overhead_all, "BLOCK", 1)
    command = ["overhead.py", "--all", "--devices", "numpy", "--repeats", "1", "--worst", "3"]
    monkeypatch.setattr(sys, "argv", [*command, "--json", str(file)])
    overhead.main()
    (device,) = json.loads(file.read_text())["results"].values()
    assert not device["skipped"]
    rows = importlib.import_module("overhead_rows")
    assert {row["name"] for row in device["rows"]} == {*rows.STANDARD_ROWS, *rows.OTHER_ROWS}
    assert len(device["targets"]) == 3
    assert "us added to NumPy, the median row" in capsys.readouterr().out


def test_rows_that_a_device_lacks_are_reported(overhead_all: ModuleType) -> None:
    device = pa.device("numpy")
    rows, skipped = overhead_all.measure(device, 1, overhead_all.re.compile("__iadd__"))
    assert {row.statement for row in rows} == {"x += nil", "x += 0.0"}
    assert not skipped
    wait: list[None] = []
    run = overhead_all.block("xp.nothing(x)", {"xp": pa, "x": 1}, lambda: wait.append(None))
    assert "AttributeError" in overhead_all.once(run)


def test_a_pattern_that_is_none_is_refused(
    overhead_all: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        overhead_all.main(["--all", "--filter", "["])
    assert "--filter: not a regular expression: [" in capsys.readouterr().err
