"""The directive ``support-table``: each library's implementations, from support.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import support_data
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

from portarray._api import support

IMPLEMENTATIONS = ("native", "composed", "host")


class SupportTable(Directive):
    """The totals, and one table for each category of the standard."""

    def run(self) -> list[nodes.Node]:
        """Return the tables, each in a section."""
        self.state.document.settings.record_dependencies.add(str(support_data.FILE))
        data = support_data.read()
        sections = [_section("Totals", _totals(data))]
        sections += [
            _section(category.replace("_", " ").capitalize(), table)
            for category, table in _categories(data)
        ]
        return sections


class SupportTotals(Directive):
    """Only the table of totals."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.state.document.settings.record_dependencies.add(str(support_data.FILE))
        return [_totals(support_data.read())]


def _totals(data: support_data.Data) -> nodes.table:
    lines = []
    for library, entry in data["libraries"].items():
        served = [function["served"].get(library) for function in data["functions"].values()]
        counts = [str(served.count(implementation)) for implementation in IMPLEMENTATIONS]
        lines.append(
            [library, *counts, ", ".join(entry["run"]) or "none", ", ".join(entry["not_run"])]
        )
    return table_of(["library", *IMPLEMENTATIONS, "run on", "not run"], lines)


def _categories(data: support_data.Data) -> Iterator[tuple[str, nodes.table]]:
    categories: dict[str, list[list[str]]] = {}
    for category, name in support.functions():
        recorded = data["functions"].get(name, {"served": {}})["served"]
        served = (recorded.get(library, "not recorded") for library in data["libraries"])
        categories.setdefault(category, []).append([f"{name}()", *served])
    for category, lines in categories.items():
        yield category, table_of(["function", *data["libraries"]], lines)


def _section(title: str, body: nodes.Node) -> nodes.section:
    section = nodes.section(ids=[f"support-{title.lower().replace(' ', '-')}"])
    section += [nodes.title(text=title), body]
    return section


def table_of(head: list[str], lines: list[list[str]]) -> nodes.table:
    """Return a table; cells that end in parentheses are formatted as code."""
    table = nodes.table()
    group = nodes.tgroup(cols=len(head))
    table += group
    group += [nodes.colspec(colwidth=1) for _ in head]
    top, body = nodes.thead(), nodes.tbody()
    top += _line(head)
    body += [_line(line) for line in lines]
    group += [top, body]
    return table


def _line(cells: Iterable[str]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        entry = nodes.entry()
        text = nodes.paragraph()
        text += nodes.literal(text=cell[:-2]) if cell.endswith("()") else nodes.Text(cell)
        entry += text
        row += entry
    return row


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("support-table", SupportTable)
    app.add_directive("support-totals", SupportTotals)
    return {"parallel_read_safe": True}
