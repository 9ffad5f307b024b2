"""Shows how far a run is: a live bar on a terminal, plain lines everywhere else."""

from __future__ import annotations

import time
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

# How often a run without a terminal says that it is alive.
LINE_SECONDS = 10.0


class Watch(Protocol):
    """What a run tells while it goes."""

    def begin(self, label: str, total: int) -> None:
        """Take note that a target begins, with this many cases."""

    def start(self, name: str) -> None:
        """Take note that a case begins."""

    def result(self, result: Result) -> None:
        """Take note of what a case came to."""

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
        self._bad += result.bad
        bad = f"{self._bad} failed" if self._bad else ""
        self._progress.update(self._task, advance=1, bad=bad, name="")

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
    """A line for each failure, and one now and then; no control codes."""

    def __init__(self) -> None:
        self._total = self._done = 0
        self._began = self._last = time.monotonic()

    def begin(self, label: str, total: int) -> None:
        """Say what is tested."""
        self._total, self._done = total, 0
        self._began = self._last = time.monotonic()
        click.echo(f"{label}: {total} cases")

    def start(self, name: str) -> None:
        """Say nothing: a line for each case would bury the failures."""

    def result(self, result: Result) -> None:
        """Say what failed, and every ten seconds how far the run is."""
        self._done += 1
        if result.bad:
            click.echo(f"  {result.status.upper()} {result.function} ({result.aspect})")
        now = time.monotonic()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            elapsed = now - self._began
            remaining = elapsed / self._done * (self._total - self._done)
            click.echo(
                f"  {self._done} of {self._total}, {elapsed:.0f} s elapsed, "
                f"about {remaining:.0f} s remaining"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is held open."""
