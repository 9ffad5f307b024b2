"""The directive ``dask-expressions``: what Dask's operations do not do on portarray chunks.

From ``docs/data/dask.json``, which ``tests/dask/dask_outcomes.py`` writes.
"""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from support_table import table_of

FILE = Path(__file__).parents[1] / "data" / "dask.json"


class DaskExpressions(Directive):
    """Make a line of figures, and a table of what is refused."""

    def run(self) -> list[nodes.Node]:
        """Return the line and the table."""
        self.state.document.settings.record_dependencies.add(str(FILE))
        found = json.loads(FILE.read_text("utf-8"))
        text = (
            f"With dask {found['version']}, {found['tried']} expressions tried on chunks of "
            f"{', '.join(found['devices'])} stay on the device and equal what NumPy chunks give"
        )
        less = ", ".join(one for one in found["without_64_bit"] if one not in found["refused"])
        last = f"Devices without int64 and float64 refuse these: {less}." if less else ""
        if not found["refused"]:
            return [nodes.paragraph(text=f"{text}. {last}")]
        lines = []
        for name, devices in found["refused"].items():
            errors: dict[str, list[str]] = {}
            for device, error in devices.items():
                errors.setdefault(error, []).append(device)
            told = "; ".join(f"{error} ({', '.join(where)})" for error, where in errors.items())
            lines.append([name, told])
        return [
            nodes.paragraph(text=f"{text}, but for these:"),
            table_of(["expression", "refused by"], lines),
            nodes.paragraph(text=last),
        ]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("dask-expressions", DaskExpressions)
    return {"parallel_read_safe": True}
