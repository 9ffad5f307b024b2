"""What commands print: text for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

import click
from rich.console import Console

__all__ = ["Form", "forms", "show", "size"]

Form: TypeAlias = Literal["json", "csv"] | None
"""What a command prints; None is text."""

WIDE = 10_000
"""Columns of what is no terminal: more than any row has."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def forms(command: _Command) -> _Command:
    """Give a command the options ``--json`` and ``--csv``: its argument ``form`` is for `show`."""
    as_csv = click.option("--csv", "form", flag_value="csv", help="Print the rows as CSV.")
    as_json = click.option("--json", "form", flag_value="json", help="Print everything as JSON.")
    return as_json(as_csv(command))


def show(
    form: Form,
    *,
    document: object,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    text: Callable[[Console], object],
) -> None:
    """Print what a command found, in the form that was asked for.

    Parameters
    ----------
    form : {"json", "csv"} or None
        What :func:`forms` passed to the command.
    document : object
        All of it, fit for JSON.
    columns : sequence of str
        Names of the CSV's columns: the same for any rows, none included.
    rows : iterable of mapping
        The CSV's lines by these names; other keys are left out, and missing ones are empty.
    text : callable
        Prints it for people; rows are as wide as the terminal or, elsewhere, as they take.
    """
    if form == "json":
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif form == "csv":
        lines = io.StringIO()
        writer = csv.DictWriter(lines, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _flat(value) for name, value in row.items()} for row in rows)
        click.echo(lines.getvalue(), nl=False)
    else:
        text(_console())


def _flat(value: object) -> object:
    """Return a value as one field of one line."""
    if isinstance(value, Mapping):
        value = [f"{name}: {one}" for name, one in value.items()]
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    return " ".join(value.splitlines()) if isinstance(value, str) else value


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError  # the group of commands ends quietly


def _console() -> Console:
    """Return what prints to standard output; a pipe is no terminal with FORCE_COLOR either."""
    found = _Console()
    if found.file.isatty() or os.environ.get("COLUMNS"):
        return found
    return _Console(width=WIDE)


def size(nbytes: int) -> str:
    """Return bytes as people read them."""
    value = float(nbytes)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
