"""``portarray cache``."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table

from portarray._cli.output import Form, forms, show, size
from portarray._opencl.folders import cache_folder

_PROGRAMS = {
    "programs": "OpenCL programs, built for this machine's devices",
    "programs_in_c": "kernels, built by a C compiler",
    "drivers": "where drivers of OpenCL that came as wheels are",
    "verdicts": "what was found of drivers: which of their functions err",
}
_KEPT = {**_PROGRAMS, "conformance": "the official suite and what drawn inputs found"}


class Folder(NamedTuple):
    """A folder of the cache, with what is in it."""

    path: Path
    keeps: str
    files: int
    bytes: int


def folders() -> list[Folder]:
    """Return the folders of the cache that there are."""
    import platformdirs  # lazy: takes milliseconds

    # By name: CLARRAY_CACHE_DIR may be a folder that has other things in it.
    places = [cache_folder(name) for name in _PROGRAMS]
    places.append(platformdirs.user_cache_path("portarray") / "conformance")
    return [_measured(path) for path in places if path.is_dir()]


def _measured(path: Path) -> Folder:
    sizes = []
    for file in path.rglob("*"):
        try:
            if file.is_file():
                sizes.append(file.stat().st_size)
        except OSError:  # another process removed it
            continue
    return Folder(path, _KEPT[path.name], len(sizes), sum(sizes))


@click.command()
@click.option("--clear", is_flag=True, help="Remove it; what is needed again is made again.")
@forms
def cache(clear: bool, form: Form) -> None:
    """Show what is kept on disk between runs, and how much of it.

    Nothing there is needed: what is missing is made again, which takes longer once.
    """
    found = folders()
    if clear:
        for folder in found:
            try:
                shutil.rmtree(folder.path)
            except OSError as error:
                raise click.ClickException(f"{folder.path} cannot be removed: {error}") from error
    total = sum(folder.bytes for folder in found)
    rows = [{**folder._asdict(), "path": str(folder.path)} for folder in found]
    show(
        form,
        document={"cleared": clear, "bytes": total, "folders": rows},
        columns=Folder._fields,
        rows=rows,
        text=lambda out: _show(found, f"{'Removed' if clear else 'Total'}: {size(total)}", out),
    )


def _show(found: list[Folder], total: str, console: Console) -> None:
    if not found:
        click.echo(f"Nothing is kept: {cache_folder('')} is empty.")
        return
    table = Table("folder", "keeps", "files", "size")
    for column in table.columns[2:]:
        column.justify = "right"
    table.columns[0].overflow = "fold"
    for folder in found:
        table.add_row(str(folder.path), folder.keeps, str(folder.files), size(folder.bytes))
    console.print(table)
    click.echo(total)
