"""``tools/upstream`` distinguishes known failures from new ones."""

from __future__ import annotations

import importlib.util
import json
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
        if counted.get("failed")
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
