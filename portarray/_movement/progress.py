"""A bar on the standard error for what takes longer than a second."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import accumulate
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY = 1.0
"""Seconds after which a bar appears."""

INTERVAL = 0.05
"""Seconds between two updates of the display: a tree may have many small arrays."""


class Bar:
    """A bar that appears after :data:`DELAY` seconds and is removed when its block is left.

    Nothing is shown unless the standard error is a terminal.
    """

    def __init__(self, label: str, *, in_bytes: bool = False) -> None:
        if find_spec("rich") is None:
            from portarray._installation import pip_install

            raise ModuleNotFoundError(
                "the progress bar needs rich, which is not installed\n"
                f"Hint: {pip_install('portarray[cli]')}, or pass progress=False",
                name="rich",
            )
        self._label = label
        self._in_bytes = in_bytes
        self._due = 0.0
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        self._due = time.monotonic() + DELAY
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()
            self._shown = None

    def update(self, done: int, total: int) -> None:
        """Show how much is done."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + INTERVAL
        if self._shown is None and done < total:
            self._show()
        if self._shown is not None:
            progress, task = self._shown
            progress.update(task, completed=done, total=total)

    def _show(self) -> None:
        """Draw the bar, if the standard error is a terminal."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        console = Console(stderr=True)
        # FORCE_COLOR makes a log a terminal for rich.
        if not console.file.isatty() or console.is_dumb_terminal:
            self._due = math.inf
            return
        amounts = (
            (DownloadColumn(binary_units=True), TransferSpeedColumn())
            if self._in_bytes
            else (MofNCompleteColumn(),)
        )
        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            *amounts,
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._shown = progress, progress.add_task(self._label, total=None)
        progress.start()


class TreeBar(Bar):
    """A bar in bytes for the arrays of a tree."""

    def __init__(self, label: str) -> None:
        super().__init__(label, in_bytes=True)
        self._sums = [0]
        self._done = 0

    @contextmanager
    def track(self, arrays: Sequence[Any]) -> Iterator[None]:
        """Start with the arrays that are to come."""
        self._sums = list(accumulate(map(_size, arrays), initial=0))
        self._done = 0
        with self:
            yield

    def step(self) -> None:
        """Advance by one array."""
        self._done += 1
        self.update(self._sums[self._done], self._sums[-1])


def _size(array: Any) -> int:
    """Return an array's size in bytes; 0 where it has no ``nbytes``."""
    size = getattr(array, "nbytes", 0)
    return size if isinstance(size, int) else 0
