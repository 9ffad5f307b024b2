"""What the tests of transforms import from beside them, and share."""

import sys
from pathlib import Path

import pytest

import portarray as pa

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def fuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels made of small arrays, too."""
    monkeypatch.setattr(type(pa.device("numpy")._backend), "launch_cost", 0)
