"""Fixtures of the tests of moving and saving."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a file that does not exist."""
    return tmp_path / "x.safetensors"
