"""Fixtures of OpenCL devices, and of processes with their own environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest
from opencl_devices import device, pytest_generate_tests

__all__ = ["device", "pytest_generate_tests"]

Process = Callable[..., "subprocess.CompletedProcess[str]"]

SETTINGS = ("CLARRAY_", "OCL_ICD_", "PYOPENCL_", "POCL_")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a cache folder with verdicts on all drivers, so that they are not checked again."""
    from portarray._opencl.folders import write
    from portarray._opencl.probe import WORKS, verdict_file
    from portarray._opencl.registry import devices

    folder = tmp_path / "cache"
    for native in (opened.native for opened in devices()):
        write(folder / "verdicts" / verdict_file(native).name, WORKS.encode())
    return folder


@pytest.fixture
def process(cache: Path) -> Process:
    """Return a function that runs Python code in a new process with only these settings."""

    def run(code: str, check: bool = True, **settings: str) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)
        }
        completed = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={
                **inherited,
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                "CLARRAY_CACHE_DIR": str(cache),
                **settings,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or completed.returncode == 0, completed.stderr
        return completed

    return run
