"""``portarray support``."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from portarray._array.support import Row
from portarray._array.support import support as rows_of

__all__ = ["support"]

_STYLES = {"native": "green", "composed": "cyan", "host": "yellow"}


@click.command()
@click.option("--device", "-d", "names", multiple=True, help="A device text; all functional ones.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def support(names: tuple[str, ...], as_json: bool) -> None:
    """Show how each function is served on each device.

    native: by the library's own function. composed: from several of them, on the device.
    host: computed in NumPy, with the data moved there and back.
    """
    rows = [row for name in names or (None,) for row in rows_of(name)]
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    Console().print(_table(rows))


def _table(rows: list[Row]) -> Table:
    devices = list(dict.fromkeys(row.device for row in rows))
    served = {(row.function, row.device): row.served for row in rows}
    table = Table("chapter", "function", *devices)
    chapter = ""
    for shown, function in dict.fromkeys((row.chapter, row.function) for row in rows):
        if chapter and shown != chapter:
            table.add_section()
        cells = (str(served.get((function, device), "")) for device in devices)
        table.add_row(
            "" if shown == chapter else shown,
            function,
            *(f"[{_STYLES.get(cell, 'none')}]{cell}" for cell in cells),
        )
        chapter = shown
    return table
