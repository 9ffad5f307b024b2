"""The directive ``upstream-tests``: results of other projects' own tests, from tools/upstream."""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from support_table import table_of

FOLDER = Path(__file__).parents[2] / "tools" / "upstream"
OUTCOMES = ("passed", "skipped", "xfailed", "known", "failed")


class UpstreamTests(Directive):
    """The table of counts, and the list of known failures."""

    def run(self) -> list[nodes.Node]:
        """Return the table and the list."""
        read = {}
        for name in ("counts", "expected"):
            path = FOLDER / f"{name}.json"
            self.state.document.settings.record_dependencies.add(str(path))
            read[name] = json.loads(path.read_text("utf-8"))
        lines = [
            [suite, device, *(str(counts.get(outcome, 0)) for outcome in OUTCOMES)]
            for suite, devices in sorted(read["counts"].items())
            for device, counts in devices.items()
        ]
        items = nodes.bullet_list()
        for suite, rows in read["expected"].items():
            for row in rows:
                text = nodes.paragraph()
                text += [nodes.literal(text=f"{suite}: {row['test']}"), nodes.Text(" ")]
                text += nodes.Text(f"({row['device']}) " if "device" in row else "")
                reason, _, link = row["reason"].rpartition("; ")
                text += [nodes.Text(f"{reason}: "), nodes.reference(text=link, refuri=link)]
                items += nodes.list_item("", text)
        return [table_of(["suite", "device", *OUTCOMES], lines), items]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("upstream-tests", UpstreamTests)
    return {"parallel_read_safe": True}
