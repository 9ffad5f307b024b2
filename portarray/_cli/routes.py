"""``portarray routes``."""

from __future__ import annotations

from typing import get_args

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portarray._cli.choice import chosen
from portarray._cli.output import Form, forms, show
from portarray._devices import memory, selection
from portarray._devices.device import Device
from portarray._devices.summary import gib
from portarray._movement.matrix import Cell, Matrix, matrix
from portarray._movement.progress import Bar
from portarray._movement.routes import Kind

MEGABYTE = 1_000_000
COPIES = 5  # of the array in the host's memory at one time, at most: values, x, two on the way, y
COLUMNS = (
    *("from", "to", "route", "copies", "bytes", "why", "problem"),
    *("seconds", "gigabytes_per_second", "ratio_to_memcpy"),  # with --measure
)

_STYLES = {0: "green", 1: "yellow"}
_ROUTES: dict[Kind, str] = {
    "library": "within the library that both devices are of",
    "memory": "both compute in host memory",
    "dlpack": "both compute in the memory of one GPU, handed over by DLPack",
    "staged": "from GPU to GPU through page-locked host memory",
    "host": "through the host, one of the two having memory of its own",
}


@click.command()
@click.argument("names", metavar="[DEVICE]...", nargs=-1)
@click.option("--measure", is_flag=True, help="Also measure each route; takes seconds.")
@click.option(
    "--megabytes",
    type=click.IntRange(min=1),
    help="Size of the array that is moved.  [default: 64 with --measure, else 1]",
)
@forms
def routes(names: tuple[str, ...], measure: bool, megabytes: int | None, form: Form) -> None:
    """Show how an array gets from each DEVICE to each other, and how often it is copied.

    DEVICE is a text such as cuda or torch:cuda:1; by default every functional device. The array is
    a plain one of dtype float32. Rows are where it comes from, columns where it goes.
    """
    devices = chosen(names)
    size = megabytes or (64 if measure else 1)
    _check(size)
    with Bar("measuring routes") as bar:
        found = matrix(devices, nbytes=size * MEGABYTE, measure=measure, progress=bar.update)
    document = found.as_dict()
    show(
        form,
        document=document,
        columns=COLUMNS,
        rows=document["routes"],
        text=lambda out: _show(found, out),
    )


def _check(megabytes: int) -> None:
    """Refuse an array that the host has no memory for, rather than be killed by the system."""
    free = memory.memory(selection.cpu_device()).free
    needed = COPIES * megabytes * MEGABYTE
    if free is not None and needed > free:
        raise click.UsageError(
            f"--megabytes {megabytes}: that takes {gib(needed)} of the host's memory, of which "
            f"{gib(free)} are free"
        )


def _show(found: Matrix, console: Console) -> None:
    """Print the matrix, as one table or, where that is too wide, as one for each source."""
    marks = {reason: _mark(number) for number, reason in enumerate(found.reasons())}
    grid = _grid(found, marks)
    natural = console.measure(grid, options=console.options.update(width=100_000)).maximum
    if natural <= console.width:
        console.print(grid)
    else:
        for device in found.devices:
            console.print(_list(found, device, marks))
    console.print(_legend(found, marks))


def _mark(number: int) -> str:
    """Return a footnote's mark: a, b, ..., z, aa, ab, ..."""
    letters = ""
    number += 1
    while number:
        number, last = divmod(number - 1, 26)
        letters = chr(ord("a") + last) + letters
    return letters


def _grid(found: Matrix, marks: dict[str, str]) -> Table:
    """Return rows of sources and columns of targets."""
    table = Table("from \\ to", show_lines=True)
    for device in found.devices:
        table.add_column(str(device).replace(":", "\n", 1), no_wrap=True)
    width = len(found.devices)
    for number, device in enumerate(found.devices):
        row = found.cells[number * width : (number + 1) * width]
        table.add_row(str(device), *("\n".join(_lines(found, cell, marks)) for cell in row))
    return table


def _list(found: Matrix, source: Device, marks: dict[str, str]) -> Table:
    """Return one source's targets below each other."""
    table = Table(title=f"from {source} to", title_justify="left", title_style="bold", box=None)
    table.show_header = False
    table.add_column(overflow="fold")
    for cell in found.cells:
        if cell.source is source and cell.target is not source:
            table.add_row(str(cell.target), *_lines(found, cell, marks))
    return table


def _lines(found: Matrix, cell: Cell, marks: dict[str, str]) -> list[str]:
    """Return what a cell says: the copies with the marks of their reasons, the route, the time."""
    plan = cell.plan
    if plan is None:
        return ["[red]fails"]
    if cell.source is cell.target:
        return ["[dim]itself"]
    how = {0: "shared", 1: "1 copy"}.get(plan.copies, f"{plan.copies} copies")
    style = _STYLES.get(plan.copies, "red")
    lines = [" ".join([f"[{style}]{how}[/]", *(marks[one] for one in plan.reasons)]), plan.route]
    if found.memcpy is not None:
        lines.append(_figure(found.memcpy.fresh, cell))
    return lines


def _figure(memcpy: float, cell: Cell) -> str:
    if cell.seconds is None or cell.plan is None:
        return "[red]fails"
    if cell.plan.copies:
        return f"{cell.seconds / memcpy:.2f} ×"
    return f"{cell.seconds * 1e6:.1f} µs"


def _legend(found: Matrix, marks: dict[str, str]) -> Table:
    """Return what the words, marks and figures mean, as far as they occur."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    moves = [cell for cell in found.cells if cell.source is not cell.target]
    plans = [cell.plan for cell in moves if cell.plan is not None]
    if any(not plan.copies for plan in plans):
        table.add_row("[green]shared", "the target uses the memory as it is; nothing is copied")
    for kind in get_args(Kind):
        if any(plan.route == kind for plan in plans):
            table.add_row(kind, _ROUTES[kind])
    timed = {bool(plan.copies) for plan in plans if found.memcpy is not None}
    if found.memcpy is not None and True in timed:
        fresh, warm = (found.nbytes / one / 1e9 for one in (found.memcpy.fresh, found.memcpy.warm))
        table.add_row(
            "×",
            f"times one memcpy of the same {found.nbytes / MEGABYTE:g} MB into memory that is "
            f"allocated for it, which takes {found.memcpy.fresh * 1e3:.3g} ms ({fresh:.1f} GB/s); "
            f"into memory that was used before: {warm:.1f} GB/s",
        )
    if False in timed:
        table.add_row("µs", "time of one call that copies nothing")
    for reason, mark in marks.items():
        table.add_row(mark, escape(reason))
    for cell in found.cells:
        if cell.problem:
            table.add_row("[red]fails", escape(f"{cell.source} → {cell.target}: {cell.problem}"))
    if len(found.devices) == 1:
        table.add_row("", "nothing else functions here or was asked for: see portarray devices")
    return table
