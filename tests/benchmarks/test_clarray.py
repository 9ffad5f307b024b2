"""The benchmark of clarray runs and judges figures by its limits; times are not tested."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def clarray(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("pyopencl")
    pytest.importorskip("array_api_compat")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("clarray")


def test_short_run(clarray: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("mako")
    file = tmp_path / "clarray.json"
    # In a process of its own: what it sets must be there before libraries are imported.
    command = [sys.executable, str(BENCHMARKS / "clarray.py"), "--json", str(file)]
    command += ["--repeats", "1", "--size", "100"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "cumulative_sum" in run.stdout
    report = json.loads(file.read_text())
    measured = {(row["row"], row["candidate"]) for row in report["rows"]}
    assert {(row.name, "clarray") for row in clarray.rows()} <= measured
    assert all(row["seconds"] > 0 for row in report["rows"])


@pytest.mark.parametrize(("ratio", "holds"), [(0.89, True), (0.91, False)])
def test_targets_are_judged(clarray: ModuleType, ratio: float, holds: bool) -> None:
    measured = [
        clarray.Measured("add", 100, "clarray", ratio, ratio),
        clarray.Measured("add", 100, "PyTorch", 0.5, 0.5),
    ]
    first, second = clarray.targets(measured, {}, {}, 0.0)
    assert (first.figure, first.holds) == (f"{ratio:.3f}", holds)
    assert (second.promise, second.holds) == ("add: no slower than PyTorch", False)
    tiny, peak = clarray.targets([], {"clarray": ratio * 1e-5}, {}, ratio)
    assert (tiny.holds, peak.holds) == (False, True)


@pytest.mark.parametrize("option", ["--repeats", "--size", "--threads"])
def test_numbers_below_one_are_refused(
    clarray: ModuleType,
    option: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["clarray.py", option, "0"])
    with pytest.raises(SystemExit):
        clarray.main()
    assert f"{option}: must be at least 1, got 0" in capsys.readouterr().err
