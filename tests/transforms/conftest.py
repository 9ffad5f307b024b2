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


@pytest.fixture
def replayed(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have PyTorch's calls made one by one: its compiler takes seconds for each program."""
    if device.startswith("torch"):
        backend = type(pa.device(device)._backend)
        monkeypatch.setattr(backend, "compiled", lambda *args, **options: None)
