"""Progress of a run: a live bar on a terminal, a line for each target elsewhere."""

from __future__ import annotations

from typing import Self

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from portarray_conformance.run import Result

__all__ = ["BarWatch", "PlainWatch", "Watch", "watch"]


class Watch:
    """Observer of a run, which calls its methods; this one ignores every event."""

    def start_target(self, label: str, total: int) -> None:
        """Handle the start of a target with this many cases."""

    def start(self, name: str) -> None:
        """Handle the start of a case."""

    def result(self, result: Result) -> None:
        """Handle the result of a case."""

    def advance(self, bad: int) -> None:
        """Handle one more of the total, in which this many failed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Release nothing."""


def watch(console: Console) -> Watch:
    """Return the watch that suits the console."""
    live = console.is_terminal and not console.is_dumb_terminal and console.file.isatty()
    return BarWatch(console) if live else PlainWatch()


class BarWatch(Watch):
    """A bar for each target, with elapsed and remaining time and the running case."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            TextColumn("{task.fields[label]}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("elapsed,"),
            TimeRemainingColumn(),
            TextColumn("remaining"),
            TextColumn("{task.fields[bad]}", style="bold red", markup=False),
            TextColumn("{task.fields[name]}", style="dim", markup=False),
            console=console,
        )
        self._task = self._progress.add_task("", visible=False, label="", name="", bad="", total=0)
        self._bad = 0

    def start_target(self, label: str, total: int) -> None:
        """Draw the bar of the next target below those that are done."""
        self._bad = 0
        self._task = self._progress.add_task("", total=total, label=label, name="", bad="")

    def start(self, name: str) -> None:
        """Show which case runs."""
        self._progress.update(self._task, name=name)

    def result(self, result: Result) -> None:
        """Count a case."""
        self.advance(result.bad)

    def advance(self, bad: int) -> None:
        """Count one of the total."""
        self._bad += bad
        failures = f"{self._bad} failed" if self._bad else ""
        self._progress.update(self._task, advance=1, bad=failures, name="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()


class PlainWatch(Watch):
    """One line for each target, for logs; the findings are printed at the end of the run."""

    def start_target(self, label: str, total: int) -> None:
        """Print the target and the number of cases."""
        click.echo(f"{label}: {total} cases", err=True)
