"""The directive ``support-table``: how each function is served on each device of this build.

It asks :func:`portarray.support`, the table that errors and tests read too, so that the page cannot
say anything else than the code.
"""

from __future__ import annotations

from collections.abc import Iterable

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

import portarray as pa


class SupportTable(Directive):
    """Make one table for each chapter of the standard."""

    def run(self) -> list[nodes.Node]:
        """Return the tables, each in a section of its own."""
        rows = pa.support()
        devices = list(dict.fromkeys(row.device for row in rows))
        served = {(row.function, row.device): row for row in rows}
        chapters: dict[str, list[str]] = {}
        for row in rows:
            names = chapters.setdefault(row.chapter, [])
            if row.function not in names:
                names.append(row.function)
        found: list[nodes.Node] = []
        for chapter, names in chapters.items():
            section = nodes.section(ids=[f"support-{chapter.replace('_', '-')}"])
            section += nodes.title(text=chapter.replace("_", " ").capitalize())
            table = nodes.table()
            group = nodes.tgroup(cols=1 + len(devices))
            table += group
            group += [nodes.colspec(colwidth=1) for _ in range(1 + len(devices))]
            head = nodes.thead()
            head += _line(["function", *devices])
            body = nodes.tbody()
            for name in names:
                cells = [served[name, device].served for device in devices]
                body += _line([f"{name}()", *cells])
            group += [head, body]
            section += table
            found.append(section)
        return found


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
