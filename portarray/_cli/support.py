"""``portarray support``."""

from __future__ import annotations

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portarray._api.support import SERVED, Overview, Place, Row, overview
from portarray._cli.output import Form, devices_option, forms, show

_STYLES = {"native": "green", "composed": "cyan", "host": "yellow"}


@click.command()
@devices_option
@click.option(
    "--served",
    "-s",
    "kinds",
    multiple=True,
    type=click.Choice(SERVED),
    help="Only functions that some device computes this way; may be repeated.",
)
@click.option("--short", is_flag=True, help="Only the totals of each device.")
@forms
def support(names: tuple[str, ...], kinds: tuple[str, ...], short: bool, form: Form) -> None:
    """Show how each device computes each function.

    native: the library's own function. composed: several of its functions, on the device. host:
    NumPy, with the data moved there and back.

    An installed library without a device is marked as declared: its backend lists the functions.
    What is not installed is listed as not run.
    """
    report = overview(names)
    functions = {row.function for row in report.rows if not kinds or row.served in kinds}
    rows = [] if short else [row for row in report.rows if row.function in functions]
    document_rows = [row._asdict() for row in rows]
    devices = [device._asdict() for device in report.places]
    show(
        form,
        document={"places": devices, "rows": document_rows},
        columns=("device", "state", *SERVED, "reason") if short else Row._fields,
        rows=[{**device, **device["totals"]} for device in devices] if short else document_rows,
        text=lambda console: _show(report, rows, console),
    )


def _show(report: Overview, rows: list[Row], console: Console) -> None:
    if rows:
        console.print(_grid(report, rows))
    console.print(_totals(report))
    for device in report.places:
        if device.state != "functional":
            console.print(f"{device.device}: {_state(device)}: {escape(device.reason)}")


def _state(device: Place) -> str:
    return "declared, not run" if device.state == "declared" else device.state


def _title(device: Place, separator: str) -> str:
    if device.state == "functional":
        return device.device
    return f"{device.device}{separator}({_state(device)})"


def _grid(report: Overview, rows: list[Row]) -> Table:
    devices = [device for device in report.places if device.totals]
    served = {(row.function, row.device): row.served for row in rows}
    table = Table("category", "function", *(_title(device, "\n") for device in devices))
    previous = ""
    for category, function in dict.fromkeys((row.category, row.function) for row in rows):
        if previous and category != previous:
            table.add_section()
        kinds = (served[function, device.device] for device in devices)
        cells = (f"[{_STYLES[kind]}]{kind}" for kind in kinds)
        table.add_row("" if category == previous else category, function, *cells)
        previous = category
    return table


def _totals(report: Overview) -> Table:
    table = Table("device", *SERVED)
    for column in table.columns[1:]:
        column.justify = "right"
    for device in report.places:
        if device.totals:
            table.add_row(_title(device, " "), *(str(device.totals[kind]) for kind in SERVED))
    return table
