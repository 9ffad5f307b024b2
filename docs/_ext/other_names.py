"""The directive ``other-names TABLE``: replacements for other libraries' names."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from support_table import table_of

from portarray import _elsewhere


class OtherNames(Directive):
    """The table of one of the dictionaries of ``portarray._elsewhere``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.state.document.settings.record_dependencies.add(_elsewhere.__file__)
        rows = {
            "FUNCTIONS": {
                f"pa.{f'{part}.' if part else ''}{name}": text
                for part, table in _elsewhere.FUNCTIONS.items()
                for name, text in table.items()
            },
            "ATTRIBUTES": {f"x.{name}": text for name, text in _elsewhere.ATTRIBUTES.items()},
            "KEYWORDS": {
                f"{name}=": f"{text}=" if text.isidentifier() else text
                for name, text in _elsewhere.KEYWORDS.items()
            },
        }[self.arguments[0]]
        lines = [[name, rows[name]] for name in sorted(rows, key=str.lower)]
        return [table_of(["instead of", "use"], lines)]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("other-names", OtherNames)
    return {"parallel_read_safe": True}
