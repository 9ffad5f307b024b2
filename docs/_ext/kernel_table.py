"""The directive ``kernel-table``: the kernels' versions for each library, from support.json."""

from __future__ import annotations

import support_data
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from support_table import table_of


class KernelTable(Directive):
    """A table of all versions, by kernel."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.state.document.settings.record_dependencies.add(str(support_data.FILE))
        kernels = support_data.read()["kernels"]
        names = dict.fromkeys(row[0] for rows in kernels.values() for row in rows)
        lines = [
            [f"{name}()", library, *row[1:]]
            for name in names
            for library, rows in kernels.items()
            for row in rows
            if row[0] == name
        ]
        return [table_of(["kernel", "library", "version", "dtypes", "wins"], lines)]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("kernel-table", KernelTable)
    return {"parallel_read_safe": True}
