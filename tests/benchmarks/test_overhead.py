"""The benchmark runs, and judges figures as it says. What it measures is no matter of a test."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def overhead(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("array_api_compat")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("overhead")


def test_one_short_run(
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
    for what in ("x + y", "sin(x)", "x[0]", "sum(x)"):
        for size in ("tiny", "1,000"):
            assert (size, what, "portarray on NumPy") in measured
    assert all(row["seconds"] > 0 or row["what"] == "namespace of x" for row in report["rows"])
    assert len(report["targets"]) >= 7


def test_candidates_take_turns_and_the_shortest_time_counts(overhead: ModuleType) -> None:
    best = overhead.side_by_side(
        {"short": lambda: None, "long": lambda: sum(range(3000))}, repeats=3, seconds=1e-3
    )
    assert 0 < best["short"] < best["long"]


@pytest.mark.parametrize(("added", "holds"), [(0.2e-6, True), (0.5e-6, False)])
def test_targets_are_judged(overhead: ModuleType, added: float, holds: bool) -> None:
    def row(size: str, what: str, candidate: str, seconds: float, base: float) -> object:
        return overhead.Measured(
            size, what, candidate, seconds, "NumPy", seconds / base, seconds - base
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


def test_repeats_below_one_are_refused(
    overhead: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["overhead.py", "--repeats", "0"])
    with pytest.raises(SystemExit):
        overhead.main()
    assert "--repeats 0: at least 1 is needed" in capsys.readouterr().err
