"""What commands share: devices by name, and output as text, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

import click
from rich.console import Console

from portarray._devices import selection
from portarray._devices.device import Device

Form: TypeAlias = Literal["json", "csv"] | None  # None is text

WIDE = 10_000  # width of output that is not a terminal: wider than any row

devices_option = click.option(
    "--device",
    "-d",
    "names",
    multiple=True,
    help="A device, as cuda or torch:cuda:1; may be repeated.  [default: every device]",
)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def selected_devices(names: Iterable[str]) -> list[Device]:
    """Return the named devices without repetition, or every functional device."""
    return list(dict.fromkeys(map(selection.device, names))) or selection.devices()


def forms(command: _Command) -> _Command:
    """Add the options ``--json`` and ``--csv``, which set the argument ``form``."""
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
    """Print the result of a command in a form.

    Parameters
    ----------
    form : {"json", "csv"} or None
        What :func:`forms` passed to the command.
    document : object
        The whole result, for JSON.
    columns : sequence of str
        The CSV's columns, which do not depend on the rows.
    rows : iterable of mapping
        The CSV's lines. Other keys are omitted, and missing ones are empty.
    text : callable
        Prints the result as text to a console.
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
        value = [f"{name}: {entry}" for name, entry in value.items()]
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    return " ".join(value.splitlines()) if isinstance(value, str) else value


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError  # the group of commands exits quietly


def _console() -> Console:
    console = _Console()
    # With FORCE_COLOR, rich also treats pipes as terminals.
    if console.file.isatty() or os.environ.get("COLUMNS"):
        return console
    return _Console(width=WIDE)


def format_size(nbytes: int) -> str:
    """Return a number of bytes for people: ``"1.5 kB"``."""
    value = float(nbytes)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}" if value < 100 else f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
