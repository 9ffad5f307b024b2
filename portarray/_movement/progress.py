"""A bar on the standard error for what takes longer than a second."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["DELAY", "Bar"]

DELAY = 1.0
"""Seconds after which a bar appears."""

INTERVAL = 0.05
"""Seconds between two looks at it: a tree may have many small arrays."""


class Bar:
    """A bar in bytes, which appears when the work takes long and is gone when it ends.

    Nothing is shown where the standard error is no terminal.

    Parameters
    ----------
    label : str
        What is done.

    Raises
    ------
    ModuleNotFoundError
        If rich is not installed.
    """

    def __init__(self, label: str) -> None:
        if find_spec("rich") is None:
            raise ModuleNotFoundError(
                "the progress bar needs rich, which is not installed: "
                "pip install 'portarray[cli]', or pass progress=False",
                name="rich",
            )
        self._label = label
        self._arrays: Sequence[Any] = ()
        self._done = 0
        self._due = 0.0
        self._shown: tuple[Progress, TaskID, list[int]] | None = None

    @contextmanager
    def begin(self, arrays: Sequence[Any]) -> Iterator[None]:
        """Start with what is to come; the bar is gone on leaving, however that is left."""
        self._arrays = arrays
        self._done = 0
        self._due = time.monotonic() + DELAY
        try:
            yield
        finally:
            self._arrays = ()
            if self._shown is not None:
                self._shown[0].stop()
                self._shown = None

    def step(self) -> None:
        """Take note that one more is done."""
        self._done += 1
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + INTERVAL
        if self._shown is not None:
            progress, task, sums = self._shown
            progress.update(task, completed=sums[self._done])
        elif self._done < len(self._arrays):
            self._show()

    def _show(self) -> None:
        """Draw the bar as far as it is."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        console = Console(stderr=True)
        if not console.is_terminal:
            self._due = math.inf
            return
        sizes = (int(getattr(array, "nbytes", 0)) for array in self._arrays)
        sums = list(accumulate(sizes, initial=0))
        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        task = progress.add_task(self._label, total=sums[-1], completed=sums[self._done])
        progress.start()
        self._shown = progress, task, sums
