"""The directive ``other-libraries``: functions of other libraries that do not keep the arrays.

From ``docs/data/where_it_does_not_work.json``, which ``tools/try_libraries.py`` writes.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from support_table import table_of

FILE = Path(__file__).parents[1] / "data" / "where_it_does_not_work.json"


class OtherLibraries(Directive):
    """A line of figures, and a table for each module."""

    def run(self) -> list[nodes.Node]:
        """Return the line and the tables, each in a section."""
        self.state.document.settings.record_dependencies.add(str(FILE))
        data = json.loads(FILE.read_text("utf-8"))
        versions = ", ".join(f"{name} {text}" for name, text in data["versions"].items())
        figures = (
            f"With {versions}: of {data['tried']} functions tried, {data['stay']} return arrays on "
            f"the device, or numbers. These {len(data['rows'])} do not:"
        )
        parts: list[nodes.Node] = [nodes.paragraph(text=figures)]
        devices = data["devices"]
        modules: dict[str, list[list[str]]] = {}
        for row in data["rows"]:
            module, _, name = row["name"].replace("sklearn ", "sklearn.estimators.").rpartition(".")
            answers: dict[str, list[str]] = {}
            for device in devices:
                answers.setdefault(row[device], []).append(device)
            text = "; ".join(
                answer if len(answers) == 1 else f"{', '.join(where)}: {answer}"
                for answer, where in answers.items()
            )
            modules.setdefault(module, []).append([f"{name}()", row["call"], text])
        for module, lines in modules.items():
            section = nodes.section(ids=[f"not-{module.replace('.', '-').lower()}"])
            section += [
                nodes.title(text=module),
                table_of(["function", "call", "result"], lines),
            ]
            parts.append(section)
        return parts


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("other-libraries", OtherLibraries)
    return {"parallel_read_safe": True}
