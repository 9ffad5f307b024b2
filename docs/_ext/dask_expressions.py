"""The directive ``dask-expressions``: Dask operations that fail on portarray chunks.

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
    """A line of figures and a table of unsupported operations."""

    def run(self) -> list[nodes.Node]:
        """Return the line and the table."""
        self.state.document.settings.record_dependencies.add(str(FILE))
        data = json.loads(FILE.read_text("utf-8"))
        text = (
            f"With Dask {data['version']}, {data['tried']} expressions were tried on chunks of "
            f"{', '.join(data['devices'])}. "
            "The results stay on the device and equal those of NumPy chunks"
        )
        mixes = "; ".join(
            mix if not refusals else f"{mix}, except {', '.join(refusals)}"
            for mix, refusals in data["mixes"].items()
        )
        several = nodes.paragraph(
            text=f"The same holds for blocks that take turns on several devices: {mixes}."
        )
        unsupported = ", ".join(
            expression for expression in data["without_64_bit"] if expression not in data["refused"]
        )
        last = (
            f"Devices without int64 and float64 do not support these: {unsupported}."
            if unsupported
            else ""
        )
        if not data["refused"]:
            return [nodes.paragraph(text=f"{text}. {last}"), several]
        lines = []
        for name, devices in data["refused"].items():
            errors: dict[str, list[str]] = {}
            for device, error in devices.items():
                errors.setdefault(error, []).append(device)
            reasons = "; ".join(f"{error} ({', '.join(where)})" for error, where in errors.items())
            lines.append([name, reasons])
        return [
            nodes.paragraph(text=f"{text}, with these exceptions:"),
            table_of(["expression", "error"], lines),
            nodes.paragraph(text=last),
            several,
        ]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("dask-expressions", DaskExpressions)
    return {"parallel_read_safe": True}
