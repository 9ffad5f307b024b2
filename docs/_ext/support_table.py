"""The directive ``support-table``: how each function is served on each device of this build.

It asks the overview that ``portarray support`` prints too, so that the page cannot say anything
else than the code.
"""

from __future__ import annotations

from collections.abc import Iterable

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

import portarray as pa
from portarray._api.support import SERVED, Overview, Place, overview


class SupportTable(Directive):
    """Make the totals, one table for each chapter of the standard, and a list of what is absent."""

    def run(self) -> list[nodes.Node]:
        """Return the tables, each in a section of its own."""
        found = overview()
        sections = [_section("Totals", _totals(found))]
        sections += [
            _section(chapter.replace("_", " ").capitalize(), table)
            for chapter, table in _chapters(found)
        ]
        absent = [place for place in found.places if place.state != "functional"]
        if absent:
            sections.append(_section("Not run", _reasons(absent)))
        return sections


def _totals(found: Overview) -> nodes.table:
    lines = [
        [_title(place), *(str(place.totals[way]) for way in SERVED)]
        for place in found.places
        if place.totals
    ]
    return table_of(["device", *SERVED], lines)


def _chapters(found: Overview) -> Iterable[tuple[str, nodes.table]]:
    places = [place for place in found.places if place.totals]
    served = {(row.function, row.device): row.served for row in found.rows}
    chapters: dict[str, dict[str, None]] = {}
    for row in found.rows:
        chapters.setdefault(row.chapter, {})[row.function] = None
    for chapter, names in chapters.items():
        lines = [[f"{name}()", *(served[name, place.device] for place in places)] for name in names]
        yield chapter, table_of(["function", *map(_title, places)], lines)


def _reasons(places: list[Place]) -> nodes.bullet_list:
    items = nodes.bullet_list()
    for place in places:
        text = nodes.paragraph()
        text += [nodes.literal(text=place.device), nodes.Text(f" ({_state(place)}): ")]
        text += nodes.Text(place.reason)
        items += nodes.list_item("", text)
    return items


def _title(place: Place) -> str:
    return place.device if place.state == "functional" else f"{place.device} ({_state(place)})"


def _state(place: Place) -> str:
    return "declared, not run" if place.state == "declared" else place.state


def _section(title: str, body: nodes.Node) -> nodes.section:
    section = nodes.section(ids=[f"support-{title.lower().replace(' ', '-')}"])
    section += [nodes.title(text=title), body]
    return section


def table_of(head: list[str], lines: list[list[str]]) -> nodes.table:
    """Return a table; cells that end in parentheses are set as code."""
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
    # The table depends on the libraries that are installed: no page is kept from an earlier build.
    return {"version": pa.__version__, "parallel_read_safe": True}
