"""The command ``portarray``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command, or explain how to install what it needs."""
    try:
        from portarray._cli.group import portarray
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        from portarray._installation import pip_install

        fix = pip_install("portarray[cli]")
        sys.exit(f"portarray: {error.name} is not installed\nHint: {fix}")
    for stream in (sys.stdout, sys.stderr):
        # Replace characters that the terminal's encoding lacks.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    portarray(prog_name="portarray")
