"""``portarray routes``."""

from __future__ import annotations

from typing import get_args

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portarray._cli.output import Form, forms, selected_devices, show
from portarray._devices import memory, selection
from portarray._devices.device import Device
from portarray._devices.summary import gib
from portarray._movement.matrix import Cell, Matrix, matrix
from portarray._movement.progress import Bar
from portarray._movement.routes import Kind

MEGABYTE = 1_000_000
COPIES = 5  # in host memory at one time, at most: values, x, y and two during the move
COLUMNS = (
    *("from", "to", "route", "copies", "bytes", "why", "problem"),
    *("seconds", "gigabytes_per_second", "ratio_to_memcpy"),  # with --measure
)

_STYLES = {0: "green", 1: "yellow"}
_ROUTES: dict[Kind, str] = {
    "library": "within the library of both devices",
    "memory": "both devices use host memory",
    "dlpack": "both devices use the memory of one GPU, shared by DLPack",
    "staged": "from GPU to GPU through page-locked host memory",
    "host": "through the host: at least one device has its own memory",
}


@click.command()
@click.argument("names", metavar="[DEVICE]...", nargs=-1)
@click.option("--measure", is_flag=True, help="Also measure each route; takes seconds.")
@click.option(
    "--megabytes",
    type=click.IntRange(min=1),
    help="Size of the moved array.  [default: 64 with --measure, else 1]",
)
@forms
def routes(names: tuple[str, ...], measure: bool, megabytes: int | None, form: Form) -> None:
    """Show how an array moves between every pair of DEVICEs, and how often it is copied.

    DEVICE is a text such as cuda or torch:cuda:1; by default every functional device. The array is
    contiguous float32. Rows are sources, columns targets.
    """
    devices = selected_devices(names)
    size = megabytes or (64 if measure else 1)
    _check_memory(size)
    with Bar("measuring routes") as bar:
        result = matrix(devices, nbytes=size * MEGABYTE, measure=measure, progress=bar.update)
    document = result.as_dict()
    show(
        form,
        document=document,
        columns=COLUMNS,
        rows=document["routes"],
        text=lambda console: _show(result, console),
    )


def _check_memory(megabytes: int) -> None:
    """Raise an error before the system ends this process for lack of memory."""
    free = memory.memory(selection.cpu_device()).free
    needed = COPIES * megabytes * MEGABYTE
    if free is not None and needed > free:
        raise click.UsageError(
            f"--megabytes: {megabytes} MB need {gib(needed)} of host memory; {gib(free)} are free"
        )


def _show(result: Matrix, console: Console) -> None:
    """Print one table or, where that is too wide, one for each source."""
    marks = {reason: _mark(index) for index, reason in enumerate(result.reasons())}
    grid = _grid(result, marks)
    natural = console.measure(grid, options=console.options.update(width=100_000)).maximum
    if natural <= console.width:
        console.print(grid)
    else:
        for device in result.devices:
            console.print(_list(result, device, marks))
    console.print(_legend(result, marks))


def _mark(index: int) -> str:
    """Return a footnote's mark: a, b, ..., z, aa, ab, ..."""
    letters = ""
    index += 1
    while index:
        index, last = divmod(index - 1, 26)
        letters = chr(ord("a") + last) + letters
    return letters


def _grid(result: Matrix, marks: dict[str, str]) -> Table:
    table = Table("from \\ to", show_lines=True)
    for device in result.devices:
        table.add_column(str(device).replace(":", "\n", 1), no_wrap=True)
    width = len(result.devices)
    for index, device in enumerate(result.devices):
        row = result.cells[index * width : (index + 1) * width]
        table.add_row(str(device), *("\n".join(_lines(result, cell, marks)) for cell in row))
    return table


def _list(result: Matrix, source: Device, marks: dict[str, str]) -> Table:
    title = f"from {source} to"
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False
    )
    table.add_column(overflow="fold")
    for cell in result.cells:
        if cell.source is source and cell.target is not source:
            table.add_row(str(cell.target), *_lines(result, cell, marks))
    return table


def _lines(result: Matrix, cell: Cell, marks: dict[str, str]) -> list[str]:
    """Return the number of copies with marks for their reasons, the route and the time."""
    plan = cell.plan
    if plan is None:
        return ["[red]fails"]
    if cell.source is cell.target:
        return ["[dim]itself"]
    copies = {0: "shared", 1: "1 copy"}.get(plan.copies, f"{plan.copies} copies")
    style = _STYLES.get(plan.copies, "red")
    reasons = (marks[reason] for reason in plan.reasons)
    lines = [" ".join([f"[{style}]{copies}[/]", *reasons]), plan.route]
    if result.memcpy is None:
        return lines
    if cell.seconds is None:
        time = "[red]fails"
    elif plan.copies:
        time = f"{cell.seconds / result.memcpy.fresh:.2f} ×"
    else:
        time = f"{cell.seconds * 1e6:.1f} µs"
    return [*lines, time]


def _legend(result: Matrix, marks: dict[str, str]) -> Table:
    """Explain the routes, marks and times that occur."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    plans = [
        cell.plan
        for cell in result.cells
        if cell.source is not cell.target and cell.plan is not None
    ]
    if any(not plan.copies for plan in plans):
        table.add_row("[green]shared", "the target uses the same memory; nothing is copied")
    for kind in get_args(Kind):
        if any(plan.route == kind for plan in plans):
            table.add_row(kind, _ROUTES[kind])
    memcpy = result.memcpy
    if memcpy is not None and any(plan.copies for plan in plans):
        new, used = (result.nbytes / seconds / 1e9 for seconds in (memcpy.fresh, memcpy.touched))
        table.add_row(
            "×",
            f"times one memcpy of {result.nbytes / MEGABYTE:g} MB into newly allocated memory, "
            f"which takes {memcpy.fresh * 1e3:.3g} ms ({new:.1f} GB/s); into memory that was used "
            f"before: {used:.1f} GB/s",
        )
    if memcpy is not None and not all(plan.copies for plan in plans):
        table.add_row("µs", "time of one call that copies nothing")
    for reason, mark in marks.items():
        table.add_row(mark, escape(reason))
    for cell in result.cells:
        if cell.problem:
            table.add_row("[red]fails", escape(f"{cell.source} → {cell.target}: {cell.problem}"))
    if len(result.devices) == 1:
        table.add_row("", "there is only one device; see portarray devices")
    return table
