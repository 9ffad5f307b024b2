"""Run pytest with the plugin in a new process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Run(NamedTuple):
    """The result of a run of pytest."""

    code: int
    text: str

    @property
    def outcomes(self) -> dict[str, str]:
        """Outcomes of tests by their names after ``::``."""
        counts = re.findall(r"^\S*::(\S+) (PASSED|FAILED|SKIPPED|XFAIL|ERROR)", self.text, re.M)
        return {name: outcome.lower() for name, outcome in counts}

    @property
    def errors(self) -> list[str]:
        """The last lines that pytest prints for wrong usage."""
        return [line for line in self.text.splitlines() if line.startswith("ERROR: ")]


def python(*arguments: str, cwd: Path, **env: str) -> Run:
    """Run Python with portarray on its path and the plugin's module beside it.

    pytest loads only the plugins that ``-p`` names: importing the others takes a second.
    """
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": path,
            "COLUMNS": "200",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **env,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    return Run(done.returncode, done.stdout)
