"""The device report: written by pytest, merged, and drawn as a table and a badge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from own_pytest import Run, python

SOURCE = """
import pytest

@pytest.mark.supports("lib.mean", "lib.std")
@pytest.mark.parametrize("n", [1, 2])
def test_moments(xp, n):
    pass

def test_wrong(device):
    assert str(device) == "numpy:cpu:0"

@pytest.mark.skip_devices("numpy")
def test_elsewhere(device):
    pass

@pytest.mark.xfail_devices("numpy", reason="not yet")
def test_not_yet(device, dtype):
    raise AssertionError

@pytest.fixture
def broken(xp):
    raise RuntimeError("no data")

def test_setup(broken):
    pass

def test_of_no_device():
    pass
"""


def counts(report: dict[str, Any]) -> dict[str, dict[str, dict[str, int]]]:
    return {name.partition("::")[2]: test["devices"] for name, test in report["tests"].items()}


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")])
def test_the_report_lists_outcomes_by_device(
    run_pytest: Callable[..., Run],
    report_of: Callable[[], dict[str, Any]],
    workers: tuple[str, ...],
) -> None:
    if workers:
        pytest.importorskip("xdist")
    run_pytest(SOURCE, "--device-report=report.json", *workers)
    report = report_of()
    assert list(report["devices"]) == ["numpy:cpu:0"]
    assert counts(report) == {
        "test_moments": {"numpy:cpu:0": {"passed": 2}},
        "test_wrong": {"numpy:cpu:0": {"passed": 1}},
        "test_elsewhere": {"numpy:cpu:0": {"skipped": 1}},
        "test_not_yet": {"numpy:cpu:0": {"xfailed": 2}},
        "test_setup": {"numpy:cpu:0": {"failed": 1}},
    }
    assert report["tests"]["test_it.py::test_moments"]["supports"] == ["lib.mean", "lib.std"]


def report(device: str, **tests: dict[str, int]) -> dict[str, Any]:
    return {
        "format": 1,
        "devices": {device: "some hardware"},
        "not_run": {"cupy": "no driver", "torch": "not installed"},
        "tests": {
            f"test_a.py::test_{name}": {"supports": [], "devices": {device: outcomes}}
            for name, outcomes in tests.items()
        },
    }


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Reports of two machines."""
    laptop = report("numpy:cpu:0", mean={"passed": 2}, sort={"passed": 1, "failed": 1})
    server = report("cupy:cuda:0", mean={"passed": 2}, sort={"skipped": 1}, svd={"xfailed": 1})
    names = []
    for name, content in (("laptop.json", laptop), ("server.json", server)):
        (tmp_path / name).write_text(json.dumps(content), "utf-8")
        names.append(name)
    return names


def command(tmp_path: Path, *arguments: str) -> Run:
    pytest.importorskip("click")
    return python("-m", "portarray", "device-report", *arguments, cwd=tmp_path)


def test_reports_of_machines_are_merged_and_drawn(tmp_path: Path, files: list[str]) -> None:
    command(tmp_path, "merge", *files, "-o", "all.json")
    merged = json.loads((tmp_path / "all.json").read_text("utf-8"))
    assert set(merged["devices"]) == {"numpy:cpu:0", "cupy:cuda:0"}
    assert merged["not_run"] == {"torch": "not installed"}  # CuPy ran elsewhere
    assert counts(merged)["test_mean"] == {device: {"passed": 2} for device in merged["devices"]}
    table = command(tmp_path, "table", "all.json").text.splitlines()
    assert table == [
        "|  | cupy:cuda | numpy:cpu |",
        "| --- | :-: | :-: |",
        "| mean | ✓ | ✓ |",
        "| sort | – | ✗ (1 of 2) |",
        "| svd | ✗ | – |",
    ]
    command(tmp_path, "badge", "all.json", "-o", "badge.svg")
    badge = ET.fromstring((tmp_path / "badge.svg").read_text("utf-8"))
    assert badge.attrib["aria-label"] == "devices: 0 of 2"
    # The same report twice is twice as many tests of the same devices.
    twice = command(tmp_path, "table", "laptop.json", "laptop.json").text
    assert "✗ (2 of 4)" in twice


def test_files_that_are_no_report_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"tests": {}}', "utf-8")
    (tmp_path / "text.json").write_text("no JSON", "utf-8")
    for name in ("other.json", "text.json"):
        run = command(tmp_path, "table", name)
        assert run.code == 1
        assert f"{name} is not a device report" in run.text
        assert "Traceback" not in run.text


def test_the_directive_draws_the_table(tmp_path: Path, files: list[str]) -> None:
    pytest.importorskip("sphinx")
    (tmp_path / "conf.py").write_text('extensions = ["portarray.testing.sphinx"]\n', "utf-8")
    (tmp_path / "index.rst").write_text(
        f"Support\n=======\n\n.. device-support:: {' '.join(files)}\n   :not-run:\n", "utf-8"
    )
    run = python("-m", "sphinx", "-W", "-b", "pseudoxml", ".", "out", cwd=tmp_path)
    assert run.code == 0, run.text
    page = (tmp_path / "out" / "index.pseudoxml").read_text("utf-8")
    assert "cupy:cuda" in page
    assert "✗ (1 of 2)" in page
    assert "torch: not installed" in page
    (tmp_path / "index.rst").write_text(
        "Support\n=======\n\n.. device-support:: no.json\n", "utf-8"
    )
    run = python("-m", "sphinx", "-W", "-b", "pseudoxml", ".", "out", cwd=tmp_path)
    assert run.code != 0
    assert "device-support: " in run.text
