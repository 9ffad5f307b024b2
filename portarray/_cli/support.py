"""``portarray support``."""

from __future__ import annotations

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portarray._api.support import SERVED, Overview, Place, Row, overview
from portarray._cli.output import Form, forms, show

_STYLES = {"native": "green", "composed": "cyan", "host": "yellow"}


@click.command()
@click.option(
    "--device",
    "-d",
    "names",
    multiple=True,
    help="A device text; may be repeated. Default: everything that portarray knows.",
)
@click.option(
    "--served",
    "-s",
    "kinds",
    multiple=True,
    type=click.Choice(SERVED),
    help="Only functions that some device serves so; may be repeated.",
)
@click.option("--short", is_flag=True, help="Only the totals of each device.")
@forms
def support(names: tuple[str, ...], kinds: tuple[str, ...], short: bool, form: Form) -> None:
    """Show how each function is served on each device.

    native: by the library's own function. composed: from several of them, on the device.
    host: computed in NumPy, with the data moved there and back.

    A library that is installed without a device for it is read from its backend's files, and marked
    as declared; what is not here at all is listed as not run.
    """
    found = overview(names)
    rows = [] if short else _chosen(found.rows, kinds)
    listed = [row._asdict() for row in rows]
    places = [place._asdict() for place in found.places]
    show(
        form,
        document={"places": places, "rows": listed},
        columns=("device", "state", *SERVED, "reason") if short else Row._fields,
        rows=[{**place, **place["totals"]} for place in places] if short else listed,
        text=lambda out: _show(found, rows, out),
    )


def _show(found: Overview, rows: list[Row], console: Console) -> None:
    if rows:
        console.print(_table(found, rows))
    console.print(_totals(found))
    for place in found.places:
        if place.state != "functional":
            console.print(f"{place.device}: {_state(place)}: {escape(place.reason)}")


def _chosen(rows: list[Row], kinds: tuple[str, ...]) -> list[Row]:
    """Return the rows of the functions that are served as one of the kinds anywhere."""
    names = {row.function for row in rows if not kinds or row.served in kinds}
    return [row for row in rows if row.function in names]


def _state(place: Place) -> str:
    return "declared, not run" if place.state == "declared" else place.state


def _title(place: Place) -> str:
    return place.device if place.state == "functional" else f"{place.device}\n({_state(place)})"


def _table(found: Overview, rows: list[Row]) -> Table:
    places = [place for place in found.places if place.totals]
    served = {(row.function, row.device): row.served for row in rows}
    table = Table("chapter", "function", *(_title(place) for place in places))
    chapter = ""
    for shown, function in dict.fromkeys((row.category, row.function) for row in rows):
        if chapter and shown != chapter:
            table.add_section()
        ways = (served[function, place.device] for place in places)
        table.add_row(
            "" if shown == chapter else shown, function, *(f"[{_STYLES[way]}]{way}" for way in ways)
        )
        chapter = shown
    return table


def _totals(found: Overview) -> Table:
    table = Table("device", *SERVED)
    for column in table.columns[1:]:
        column.justify = "right"
    for place in found.places:
        if place.totals:
            counts = (str(place.totals[way]) for way in SERVED)
            table.add_row(_title(place).replace("\n", " "), *counts)
    return table
