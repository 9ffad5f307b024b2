"""A process of its own, for what a process does once: find drivers, read its settings, end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Process = Callable[..., "subprocess.CompletedProcess[str]"]

SETTINGS = ("CLARRAY_", "OCL_ICD_", "PYOPENCL_", "POCL_")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache folder in which the drivers are known, so that they are not tried once more."""
    from portarray._opencl.folders import write
    from portarray.clarray.runtime.probe import WORKS, verdict_file
    from portarray.clarray.runtime.registry import devices

    folder = tmp_path / "cache"
    for one in devices():
        write(folder / "verdicts" / verdict_file(one.native).name, WORKS.encode())
    return folder


@pytest.fixture
def process(cache: Path) -> Process:
    """Run Python code in a new process with these settings, and only these, of clarray."""

    def run(code: str, check: bool = True, **settings: str) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)
        }
        found = subprocess.run(
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
        assert not check or found.returncode == 0, found.stderr
        return found

    return run
