"""pytest plugin that writes a line of JSON for each test with portarray's fixtures."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

LOG = Path(os.environ["RECORDER_LOG"])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the outcome of a test."""
    device = dict(report.user_properties).get("device")
    if device is None or (report.when != "call" and report.passed):
        return
    outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
    # The error itself first, then those that it was raised from.
    chain: Any = getattr(report.longrepr, "chain", ())
    crashes = [crash for _, crash, _ in reversed(chain) if crash is not None]
    crashes = crashes or [getattr(report.longrepr, "reprcrash", None)]
    error = "\n".join(crash.message[:300] for crash in crashes if crash is not None)
    row = {"test": report.nodeid, "device": device, "outcome": outcome, "error": error}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
