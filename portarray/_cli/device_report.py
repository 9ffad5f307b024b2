"""``portarray device-report``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from portarray._cli.output import Form, forms, show
from portarray.testing import _report

_files = click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
_output = click.option("--output", "-o", required=True, type=click.Path(path_type=Path))


@click.group("device-report")
def device_report() -> None:
    """Merge and show reports that `pytest --device-report FILE` wrote."""


@device_report.command()
@_files
@_output
def merge(files: tuple[Path, ...], output: Path) -> None:
    """Merge the reports FILES of several machines into one."""
    _report.write(output, _merge(files))


@device_report.command()
@_files
@click.option("--not-run", is_flag=True, help="List the libraries that did not run, and why.")
@forms
def table(files: tuple[Path, ...], not_run: bool, form: Form) -> None:
    """Print the reports FILES as a Markdown table."""
    report = _merge(files)
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
            zeros = dict.fromkeys(_report.OUTCOMES, 0)
            yield {"test": name, "supports": test["supports"], "device": device, **zeros, **counts}


@device_report.command()
@_files
@_output
def badge(files: tuple[Path, ...], output: Path) -> None:
    """Write an SVG badge with the number of devices on which all tests of FILES passed."""
    output.write_text(_report.badge(_merge(files)), "utf-8")


def _merge(files: tuple[Path, ...]) -> _report.Report:
    try:
        return _report.merge(map(_report.read, files))
    except ValueError as error:
        raise click.ClickException(str(error)) from error
