"""A benchmark report as tables for the terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from portarray._cli.bench.report import Measurement, Report

COLUMN = 19  # width of a device's column
MARGIN = 20  # width of the sizes and borders
FASTER, SLOWER = 0.95, 1.05  # ratios in between are not coloured

Rows = dict[tuple[str, int], dict[str, Measurement]]


def tables(report: Report, width: int) -> list[Table]:
    """Return tables of cases by devices that fit the width, and a legend."""
    names = [str(device) for device in report.devices]
    rows: Rows = {}
    for figure in report.figures:
        rows.setdefault((figure.name, figure.size), {})[figure.device] = figure
    first = max(len(figure.name) for figure in report.figures)
    columns = max(1, (width - first - MARGIN) // COLUMN)
    groups = [names[start : start + columns] for start in range(0, len(names), columns)]
    return [*(_grid(report, group, rows) for group in groups), _legend(report)]


def _grid(report: Report, names: list[str], rows: Rows) -> Table:
    table = Table("", title=f"{report.subject}, {report.unit}", title_justify="left")
    table.add_column("size", justify="right")
    for name in names:
        table.add_column(name.replace(":", "\n", 1), justify="right", no_wrap=True)
    previous = ""
    for (case, size), figures in rows.items():
        if previous not in ("", case):
            table.add_section()
        cells = [_cell(figures[name]) for name in names]
        table.add_row(case if case != previous else "", f"{size:,}", *cells)
        previous = case
    return table


def _cell(figure: Measurement) -> str:
    if figure.seconds is None:
        return "[red]fails"
    time = _time(figure.seconds)
    if figure.ratio is None:
        return time
    style = "green" if figure.ratio < FASTER else "yellow" if figure.ratio > SLOWER else "dim"
    return f"{time} [{style}]{figure.ratio:.2f} ×[/]"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _legend(report: Report) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row("×", f"times {report.baseline}; below 1 is faster")
    spreads = sorted(figure.spread for figure in report.figures if figure.spread is not None)
    if spreads:
        table.add_row(
            "spread",
            f"times are the shortest; medians are typically {spreads[len(spreads) // 2]:.0%} "
            f"longer, {spreads[-1]:.0%} at most",
        )
    for figure in report.figures:
        if figure.problem:
            case = f"{figure.name}, {figure.size:,}, {figure.device}"
            table.add_row("[red]fails", escape(f"{case}: {figure.problem}"))
    return table
