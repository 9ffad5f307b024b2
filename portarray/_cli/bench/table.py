"""A report as tables for the terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from portarray._cli.bench.report import Figure, Report

COLUMN = 19  # width of a device's column
BACKEND = 20  # width of the sizes and borders
FASTER, SLOWER = 0.95, 1.05  # ratios between which the figure is not coloured


def tables(report: Report, width: int) -> list[Table]:
    """Return a report as tables of cases by devices, as many as the width needs, and a legend."""
    names = [str(device) for device in report.devices]
    lines: dict[tuple[str, int], dict[str, Figure]] = {}
    for figure in report.figures:
        lines.setdefault((figure.name, figure.size), {})[figure.device] = figure
    first = max(len(figure.name) for figure in report.figures)
    beside = max(1, (width - first - BACKEND) // COLUMN)
    parts = [names[begin : begin + beside] for begin in range(0, len(names), beside)]
    return [*(_grid(report, part, lines) for part in parts), _legend(report)]


def _grid(
    report: Report, names: list[str], lines: dict[tuple[str, int], dict[str, Figure]]
) -> Table:
    table = Table(title=f"{report.subject}, {report.unit}", title_justify="left")
    table.add_column("")
    table.add_column("size", justify="right")
    for name in names:
        table.add_column(name.replace(":", "\n", 1), justify="right", no_wrap=True)
    before = ""
    for (case, size), figures in lines.items():
        if not any(name in figures for name in names):
            continue  # no moves from a device to itself
        if before not in ("", case):
            table.add_section()
        cells = [_cell(figures.get(name)) for name in names]
        table.add_row(case if case != before else "", f"{size:,}", *cells)
        before = case
    return table


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "[dim]-"
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
    """Return what the figures mean."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row("×", f"times {report.baseline}; below 1 is faster")
    spreads = [one.spread for one in report.figures if one.spread is not None]
    if spreads:
        middle = sorted(spreads)[len(spreads) // 2]
        table.add_row(
            "spread",
            f"times are the shortest; medians are {middle:.0%} longer in the middle, "
            f"{max(spreads):.0%} at most",
        )
    for figure in report.figures:
        if figure.problem:
            where = f"{figure.name}, {figure.size:,}, {figure.device}"
            table.add_row("[red]fails", escape(f"{where}: {figure.problem}"))
    return table
