"""The GPU check as a program, on the devices of this machine; each run in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import portarray as pa

FOLDER = Path(__file__).parents[2] / "gpu_check"


def check(tmp_path: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    """Run the check; return its status, what it printed and its report."""
    file = tmp_path / "results" / "report.json"
    done = subprocess.run(
        [sys.executable, str(FOLDER), "--json", str(file), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert file.exists(), done.stdout + done.stderr
    return done.returncode, done.stdout, json.loads(file.read_text("utf-8"))


def test_a_machine_without_a_gpu_is_not_a_pass(tmp_path: Path) -> None:
    if any(device.kind != "cpu" for device in pa.devices()):
        pytest.skip("this machine has a GPU")
    status, printed, report = check(tmp_path)
    assert status == 2
    assert "nothing was checked" in printed
    assert report["checked"] == []
    assert "not run  cupy:cuda: " in printed
    assert {"python", "numpy", "drivers", "distributions", "libraries"} <= report.keys()


def test_every_part_reports_on_a_device(tmp_path: Path) -> None:
    status, printed, report = check(tmp_path, "--device", "numpy", "--minutes", "0.6")
    assert status == 0, printed
    suite = report["suite"]["numpy"]
    assert suite["counts"]["passed"] > 50
    assert suite["failures"] == []
    assert report["official"] == {"not_run": "no folder with the official suite was given"}
    others = [device for device in pa.devices() if str(device) != "numpy:cpu:0"]
    rows = report["movement"]["rows"]
    assert len(rows) == 2 * len(others) or report["movement"]["not_run"]
    for row in rows:
        assert row["wrong"] == []
        assert row["gigabytes_per_second"] > 0
        assert row["route"] in ("library", "memory", "dlpack", "staged", "host")
        assert bool(row["why"]) is bool(row["copies"])
    assert report["seconds"] < 60


def test_a_part_that_fails_costs_itself_alone(tmp_path: Path) -> None:
    status, printed, report = check(tmp_path, "--device", "cupy:rocm:7", "--minutes", "1")
    assert "cupy:rocm" in report["suite"]["cupy:rocm:7"]["not_run"]
    assert "cupy:rocm" in report["movement"]["not_run"]
    assert report["suite"]["cupy:rocm:7"]["counts"] == {}
    assert "nothing; not run: it ended with status 1" in printed
    assert status == 1, "a device that was asked for and cannot be had is a failure"
