"""The benchmark of user kernels runs and shows its figures; times are not tested."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import portarray as pa

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "data" / "user_kernels.json"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("user_kernels")


def test_figures_of_an_earlier_run_are_printed(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["user_kernels.py", "--read", str(FIGURES)])
    benchmark.main()
    printed = capsys.readouterr().out
    report = json.loads(FIGURES.read_text("utf-8"))
    assert all(target["figure"] in printed for target in report["targets"])


def test_targets_follow_from_the_figures(benchmark: ModuleType) -> None:
    report = json.loads(FIGURES.read_text("utf-8"))
    seconds = {(entry["row"], entry["candidate"]): entry["seconds"] for entry in report["rows"]}
    figures = [benchmark.Measured(**entry) for entry in report["rows"]]
    promises = {
        "saxpy": ((1.05, "Numba"), (0.6, "NumPy")), "stencil": ((0.7, "Numba"),),
        "mandelbrot": ((0.1, "Numba"),), "transpose": ((1.0, "Numba"),),
        "reduction": ((1.0, "Numba"),),
    }  # fmt: skip
    rows = [
        benchmark.Row(name, {}, tuple((who, *t[::-1]) for t in most for who in benchmark.OURS))
        for name, most in promises.items()
    ]
    judged = benchmark.targets(
        rows,
        figures,
        report["launch"],
        report["first_call"],
        report["front_end"],
        report.get("built_in", {}),
    )
    verdicts = {entry["promise"]: entry["holds"] for entry in report["targets"]}
    assert verdicts == {entry.promise: entry.holds for entry in judged}
    ratio = seconds["stencil", "clarray"] / seconds["stencil", "Numba"]
    assert verdicts["stencil on clarray: at most 0.7 of Numba's time"] is (ratio <= 0.7)


def test_compared_kernels_give_equal_results(
    benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    if "clarray" not in {device.library for device in pa.devices()}:
        pytest.skip("needs an OpenCL device")
    for name, size in (("SIZE", 1 << 18), ("SIDE", 64), ("IMAGE", 32), ("MANY_KEYS", 1 << 14)):
        monkeypatch.setattr(benchmark, name, size)
    rows = benchmark.rows("")
    assert [row.name for row in rows] == [
        *("saxpy", "stencil", "mandelbrot", "transpose", "reduction"),
        *("own reduction", "own scan", "own order"),
    ]
    for row in rows:
        assert {"Numba", *benchmark.OURS} <= set(row.actions)


def test_first_calls_are_measured_in_separate_processes(benchmark: ModuleType) -> None:
    device: Any = pa.device("numpy")
    if isinstance(reason := device._backend.launcher(device.native), str):
        pytest.skip(reason)
    for name in ("numpy", "numpy, second kernel"):
        times = benchmark.first_call(name, os.environ)
        assert set(times) == {"nothing cached", "cached on disk"}
        assert all(0 < seconds < 60 for seconds in times.values())
