"""``tools/upstream`` distinguishes known failures from new ones."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from own_pytest import ROOT

FOLDER = ROOT / "tools" / "upstream"

if not FOLDER.is_dir():
    pytest.skip("the tools are not beside the tests", allow_module_level=True)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("upstream_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GATES = json.loads((FOLDER / "gates.json").read_text("utf-8"))
"""Quick parts of other projects' tests, and how many of these passed when this was written."""


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("suite", GATES)
def test_as_many_tests_of_other_projects_pass_as_before(
    suite: str, library: str, tmp_path: Path
) -> None:
    for needed in (suite.partition(".")[0], library):
        pytest.importorskip(needed)
    gate = GATES[suite]
    path = tmp_path / "result.json"
    command = [sys.executable, str(FOLDER / "run.py"), suite, f"--devices={library}"]
    command += [f"--file={gate['file']}", f"--json={path}", "--", "-k", gate["select"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    [counts] = json.loads(path.read_text("utf-8"))["counts"].values()
    assert counts["passed"] >= gate["passed"][library]


@pytest.mark.parametrize(("library", "default"), [("numpy", ""), ("torch", "numpy:cpu:0")])
def test_the_official_suite_passes(library: str, default: str) -> None:
    """The suite is not on PyPI: ARRAY_API_TESTS names a checkout, and CI services clone it."""
    checkout = os.environ.get("ARRAY_API_TESTS")
    if not checkout and not os.environ.get("CI"):
        pytest.skip("ARRAY_API_TESTS does not name a checkout of array-api-tests")
    pytest.importorskip(library)
    official, suite = map(
        pytest.importorskip,
        ("portarray_conformance.official", "portarray_conformance.official_suite"),
    )
    from portarray_conformance import portarray_target
    from portarray_conformance.names import CATEGORIES

    try:
        found = suite.find_suite(Path(checkout) if checkout else None)
    except suite.OfficialSuiteError as error:
        pytest.skip(str(error))
    results = official.run_official(
        found,
        portarray_target(f"{library}:cpu:0"),
        examples=5,
        functions=[*CATEGORIES["creation"], *CATEGORIES["linalg"], *CATEGORIES["manipulation"]],
        default_device=default,
    )
    passed = [result for result in results if result.status == "passed"]
    assert [result.aspect for result in results if result.status == "failed"] == []
    assert len(passed) >= 160


def test_every_known_failure_has_a_reason_and_a_link(tool: ModuleType) -> None:
    expected = json.loads((FOLDER / "expected.json").read_text("utf-8"))
    assert set(expected) <= set(tool.SUITES)
    for rows in expected.values():
        for row in rows:
            assert set(row) - {"device"} == {"test", "error", "reason"}
            assert "; https://" in row["reason"]


def test_every_recorded_failure_is_expected(tool: ModuleType) -> None:
    counts = json.loads((FOLDER / "counts.json").read_text("utf-8"))
    assert set(counts) <= set(tool.SUITES)
    failed = {
        f"{suite} on {device}"
        for suite, devices in counts.items()
        for device, counted in devices.items()
        if counted.get("failed") and ":" in device  # not of libraries shown beside it
    }
    assert failed == set()


def test_a_failure_is_identified_by_its_test_device_and_error(tool: ModuleType) -> None:
    failures = [
        {"test": "test_a.py::test_f", "device": "virtual:cuda", "error": "x", "reason": "why"}
    ]
    row = {"test": "tests/test_a.py::test_f[n]", "device": "virtual:cuda:0", "error": "an x"}
    assert tool._reason(failures, row) == "why"
    for change in (
        {"test": "tests/test_b.py::test_f"},
        {"device": "numpy:cpu:0"},
        {"error": "another"},
    ):
        assert tool._reason(failures, {**row, **change}) == ""
