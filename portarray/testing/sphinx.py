"""Sphinx directive ``device-support``: the table of a device report.

Add ``"portarray.testing.sphinx"`` to ``extensions`` in ``conf.py``, and to a page::

    .. device-support:: report.json
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import Directive, directives

from portarray.testing import _report

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["DeviceSupport", "setup"]


class DeviceSupport(Directive):  # type: ignore[misc]
    """The table of merged reports. Option ``not-run`` lists the libraries that did not run."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"not-run": directives.flag}  # noqa: RUF012  (docutils' own way)

    def run(self) -> list[nodes.Node]:
        """Return the table, and the list of libraries that did not run."""
        document = self.state.document
        here = Path(document["source"]).parent
        paths = [here / name for name in self.arguments[0].split()]
        for path in paths:
            document.settings.record_dependencies.add(str(path))
        try:
            report = _report.merge(map(_report.read, paths))
        except (OSError, ValueError) as error:
            raise self.error(f"device-support: {error}") from error
        content: list[nodes.Node] = [_table_node(*_report.table(report))]
        if "not-run" in self.options and report["not_run"]:
            items = nodes.bullet_list()
            for name, why in sorted(report["not_run"].items()):
                items += nodes.list_item("", nodes.paragraph(text=f"{name}: {why}"))
            content.append(items)
        return content


def _table_node(head: list[str], lines: list[list[str]]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    top, body = nodes.thead(), nodes.tbody()
    top += _line(head)
    body += [_line(line) for line in lines]
    group += [top, body]
    table = nodes.table(classes=["device-support"])
    table += group
    return table


def _line(cells: list[str]) -> nodes.row:
    row = nodes.row()
    for column, cell in enumerate(cells):
        text = nodes.paragraph()
        text += nodes.Text(cell) if column or not cell else nodes.literal(text=cell)
        entry = nodes.entry()
        entry += text
        row += entry
    return row


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("device-support", DeviceSupport)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
