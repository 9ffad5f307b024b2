"""The README's first command: what it runs, and that it fails where a part of it fails."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def tour(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module("tour")


def test_its_first_stop_shows_the_devices(tour: ModuleType) -> None:
    pytest.importorskip("click", reason="the extra 'cli' is not installed")
    title, command = tour.STOPS[0]
    assert "devices" in title
    run = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert "numpy:cpu:0" in run.stdout


def test_all_three_stops_are_made_and_a_failure_is_reported(
    tour: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    stops = (
        ("One", ["-c", "print('first')"]),
        ("Two", ["-c", "raise SystemExit(3)"]),
        ("Three", ["-c", "print('third')"]),
    )
    monkeypatch.setattr(tour, "STOPS", stops)
    assert tour.main() == 1
    printed = capfd.readouterr().out
    assert "first" in printed
    assert "third" in printed
    assert "=== failed: Two" in printed
    monkeypatch.setattr(tour, "STOPS", stops[:1])
    assert tour.main() == 0
    assert "=== all of it passed" in capfd.readouterr().out
