"""``portarray device-report``: what pytest wrote of several machines, as one file or table."""

from __future__ import annotations

from pathlib import Path

import click

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
def table(files: tuple[Path, ...]) -> None:
    """Print the table of FILES in Markdown."""
    click.echo(_report.markdown(_merged(files)), nl=False)


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
