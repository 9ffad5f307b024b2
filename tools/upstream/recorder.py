"""pytest plugin that writes a line of JSON for each test with portarray's fixtures."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

LOG = Path(os.environ["RECORDER_LOG"])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the outcome of a test."""
    device = dict(report.user_properties).get("device")
    if device is None or (report.when != "call" and report.passed):
        return
    outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
    crash = getattr(report.longrepr, "reprcrash", None)
    error = "" if crash is None else crash.message[:300]
    row = {"test": report.nodeid, "device": device, "outcome": outcome, "error": error}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
