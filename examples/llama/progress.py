"""Files opened and weights loaded, with what takes long shown on the standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from examples.llama.file import ModelFile, default_file
from examples.llama.tokenizer import Tokenizer

__all__ = ["ERRORS", "bar", "opened"]

ERRORS = Console(stderr=True, highlight=False)


def opened(path: Path | None) -> tuple[ModelFile, Tokenizer]:
    """Return a file, or the default one, and its tokenizer."""
    with ERRORS.status("reading the file") if ERRORS.is_terminal else nullcontext():
        file = ModelFile(path or default_file())
        return file, Tokenizer.of(file)


@contextmanager
def bar(file: ModelFile) -> Iterator[Callable[[int], None]]:
    """Show a bar on the standard error while weights are loaded."""
    columns = (TextColumn("loading {task.description}"), BarColumn(), DownloadColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=ERRORS,
        transient=True,
        disable=not ERRORS.is_terminal,
    ) as bar:
        task = bar.add_task(file.path.stem, total=file.nbytes)
        yield lambda size: bar.advance(task, size)
