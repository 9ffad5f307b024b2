"""``portarray device-report``: what pytest wrote of several machines, as one file or table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from portarray._cli.output import Form, forms, show
from portarray.testing import _report

_FILES = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("device-report")
def device_report() -> None:
    """Merge and show what `pytest --device-report FILE` wrote."""


@device_report.command()
@click.argument("files", nargs=-1, required=True, type=_FILES)
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path))
def merge(files: tuple[Path, ...], output: Path) -> None:
    """Write one report of several machines' FILES."""
    _report.write(output, _merged(files))


@device_report.command()
@click.argument("files", nargs=-1, required=True, type=_FILES)
@click.option("--not-run", is_flag=True, help="List the libraries that did not run, and why.")
@forms
def table(files: tuple[Path, ...], not_run: bool, form: Form) -> None:
    """Print the table of FILES in Markdown."""
    report = _merged(files)
    show(
        form,
        document=report,
        columns=("test", "supports", "device", *_report.OUTCOMES),
        rows=_rows(report),
        text=lambda _: click.echo(_report.markdown(report, not_run=not_run), nl=False),
    )


def _rows(report: _report.Report) -> Iterator[dict[str, Any]]:
    for name, test in report["tests"].items():
        for device, counts in test["devices"].items():
            before = dict.fromkeys(_report.OUTCOMES, 0)
            yield {"test": name, "supports": test["supports"], "device": device, **before, **counts}


@device_report.command()
@click.argument("files", nargs=-1, required=True, type=_FILES)
@click.option("--output", "-o", required=True, type=click.Path(path_type=Path))
def badge(files: tuple[Path, ...], output: Path) -> None:
    """Write a picture (SVG) that says on how many devices all tests of FILES passed."""
    output.write_text(_report.badge(_merged(files)), "utf-8")


def _merged(files: tuple[Path, ...]) -> _report.Report:
    try:
        return _report.merge(map(_report.read, files))
    except ValueError as error:
        raise click.ClickException(str(error)) from error
