"""Fixtures that run pytest with the plugin on a file."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from own_pytest import Run, python


@pytest.fixture
def run_pytest(tmp_path: Path) -> Callable[..., Run]:
    """Run pytest on a test file's source, by default on NumPy's device alone."""

    def run(source: str, *options: str, conftest: str = "", **env: str) -> Run:
        (tmp_path / "test_it.py").write_text(textwrap.dedent(source), "utf-8")
        (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
        if conftest:
            (tmp_path / "conftest.py").write_text(textwrap.dedent(conftest), "utf-8")
        if not any(option.startswith("--devices") for option in options):
            options = ("--devices=numpy", *options)
        # The plugin is loaded once, whether its entry point is installed or not.
        fixed = ("-m", "pytest", "-v", "-p", "pytest_portarray", "-p", "no:cacheprovider")
        return python(*fixed, *options, cwd=tmp_path, **env)

    return run


@pytest.fixture
def report_of(tmp_path: Path) -> Callable[[], dict[str, Any]]:
    """Read the device report of the last run."""
    return lambda: json.loads((tmp_path / "report.json").read_text("utf-8"))  # type: ignore[no-any-return]
