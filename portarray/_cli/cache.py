"""``portarray cache``."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from portarray._cli.output import Form, format_size, forms, show
from portarray._opencl.folders import cache_folder

COLUMNS = ("path", "keeps", "files", "bytes")
_CONTENTS = {
    "programs": "OpenCL programs, built for this machine's devices",
    "programs_in_c": "kernels, built by a C compiler",
    "drivers": "paths of OpenCL drivers installed as wheels",
    "verdicts": "functions that OpenCL drivers compute wrongly",
    "conformance": "the official test suite and failing random inputs",
}


def _folders() -> list[dict[str, Any]]:
    """Return the path, contents, number of files and bytes of each folder of the cache."""
    import platformdirs  # lazy: takes milliseconds

    # Listed by name: CLARRAY_CACHE_DIR may be a folder that contains other things.
    paths = [cache_folder(name) for name in _CONTENTS if name != "conformance"]
    paths.append(platformdirs.user_cache_path("portarray") / "conformance")
    folders = []
    for path in filter(Path.is_dir, paths):
        sizes = []
        for file in path.rglob("*"):
            with contextlib.suppress(OSError):  # another process removed it
                if file.is_file():
                    sizes.append(file.stat().st_size)
        values = (str(path), _CONTENTS[path.name], len(sizes), sum(sizes))
        folders.append(dict(zip(COLUMNS, values, strict=True)))
    return folders


@click.command()
@click.option("--clear", is_flag=True, help="Delete the cached files; they are created again.")
@forms
def cache(clear: bool, form: Form) -> None:
    """Show the files cached on disk and their size.

    Deleting them is safe: missing files are created again, which takes longer once.
    """
    folders = _folders()
    if clear:
        for folder in folders:
            try:
                shutil.rmtree(folder["path"])
            except OSError as error:
                raise click.ClickException(
                    f"cache: cannot delete {folder['path']}: {error}"
                ) from error
    total = sum(folder["bytes"] for folder in folders)
    summary = f"{'Removed' if clear else 'Total'}: {format_size(total)}"
    show(
        form,
        document={"cleared": clear, "bytes": total, "folders": folders},
        columns=COLUMNS,
        rows=folders,
        text=lambda console: _show(folders, summary, console),
    )


def _show(folders: list[dict[str, Any]], summary: str, console: Console) -> None:
    if not folders:
        click.echo(f"The cache is empty: {cache_folder('')}")
        return
    table = Table("folder", "contents", "files", "size")
    for column in table.columns[2:]:
        column.justify = "right"
    table.columns[0].overflow = "fold"
    for path, contents, files, nbytes in map(dict.values, folders):
        table.add_row(path, contents, str(files), format_size(nbytes))
    console.print(table)
    click.echo(summary)
