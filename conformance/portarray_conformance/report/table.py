"""The report in the terminal: one summary table for each target, and the failures."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from portarray_conformance.report.json_ import STATUSES, Report, TargetReport

__all__ = ["failure_texts", "summary_table"]

STYLES = {
    "passed": "green",
    "failed": "bold red",
    "expected": "yellow",
    "unexpected pass": "bold red",
    "not run": "dim",
}


def summary_table(target: TargetReport) -> Table:
    """Return one row for each category: how many cases passed, failed, ... and the seconds."""
    table = Table(title=target.label, title_justify="left", title_style="bold")
    table.add_column("category")
    for status in STATUSES:
        table.add_column(status, justify="right")
    table.add_column("seconds", justify="right")
    categories = dict.fromkeys(result.category for result in target.results)
    for category in categories:
        part = [result for result in target.results if result.category == category]
        seconds = sum(result.seconds for result in part)
        _add(table, category, TargetReport(target.label, part, seconds))
    table.add_section()
    _add(table, "total", target)
    return table


def _add(table: Table, name: str, part: TargetReport) -> None:
    counts = [
        Text(str(count), STYLES[status]) if count else Text("-", "dim")
        for status, count in part.totals().items()
    ]
    table.add_row(name, *counts, f"{part.seconds:.1f}")


def failure_texts(report: Report) -> Iterator[str]:
    """Yield each failure as a few lines: what, on which target, the inputs and the message."""
    for target in report.targets:
        for result in target.results:
            if not result.bad:
                continue
            head = f"{result.status.upper()} {result.function} ({result.aspect}) on {target.label}"
            body = [f"    {line}" for line in result.example.splitlines()]
            body += [f"  {line}" for line in result.message.splitlines()]
            yield "\n".join([head, *body])
