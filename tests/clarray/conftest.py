"""Fixtures of clarray's tests."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent / "opencl")]

from opencl_devices import device, pytest_generate_tests  # noqa: E402 - after the line above

__all__ = ["device", "pytest_generate_tests"]
