"""The progress bar of commands that measure."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from portarray._movement.progress import DELAY

__all__ = ["Bar"]


class Bar:
    """A progress bar on stderr, for what takes longer than a moment.

    Parameters
    ----------
    text : str
        What is going on.
    """

    def __init__(self, text: str) -> None:
        console = Console(stderr=True)
        self._begin = time.monotonic()
        self._progress = Progress(
            TextColumn(text),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def update(self, done: int, total: int) -> None:
        """Show how much is done."""
        if time.monotonic() - self._begin > DELAY:
            self._progress.start()
        self._progress.update(self._task, completed=done, total=total)
