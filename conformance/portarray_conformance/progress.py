"""Shows how far a run is: a live bar on a terminal, a line for each target elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

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


class Watch(Protocol):
    """What a run tells while it goes."""

    def begin(self, label: str, total: int) -> None:
        """Take note that a target begins, with this many cases."""

    def start(self, name: str) -> None:
        """Take note that a case begins."""

    def result(self, result: Result) -> None:
        """Take note of what a case came to."""

    def advance(self, bad: int) -> None:
        """Take note that one of the total is done, in which this many failed."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def watch(console: Console) -> Watch:
    """Return the watch that suits the console."""
    live = console.is_terminal and not console.is_dumb_terminal and console.file.isatty()
    return BarWatch(console) if live else PlainWatch()


class BarWatch:
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

    def begin(self, label: str, total: int) -> None:
        """Draw the bar of the next target below those that are done."""
        self._bad = 0
        self._task = self._progress.add_task("", total=total, label=label, name="", bad="")

    def start(self, name: str) -> None:
        """Show which case runs."""
        self._progress.update(self._task, name=name)

    def result(self, result: Result) -> None:
        """Move on by one."""
        self.advance(result.bad)

    def advance(self, bad: int) -> None:
        """Move on by one."""
        self._bad += bad
        told = f"{self._bad} failed" if self._bad else ""
        self._progress.update(self._task, advance=1, bad=told, name="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()


class PlainWatch:
    """One line for each target, for logs; what a run found is said at its end."""

    def begin(self, label: str, total: int) -> None:
        """Say what is tested."""
        click.echo(f"{label}: {total} cases", err=True)

    def start(self, name: str) -> None:
        """Say nothing."""

    def result(self, result: Result) -> None:
        """Say nothing."""

    def advance(self, bad: int) -> None:
        """Say nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is held open."""
