"""The directive ``other-names TABLE``: replacements for other libraries' names."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from support_table import table_of

from portarray import _name_hints


class OtherNames(Directive):
    """Make the table of one of the dictionaries of ``portarray._name_hints``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.state.document.settings.record_dependencies.add(_name_hints.__file__)
        rows = {
            "FUNCTIONS": {
                f"pa.{f'{part}.' if part else ''}{name}": text
                for part, table in _name_hints.FUNCTIONS.items()
                for name, text in table.items()
            },
            "ATTRIBUTES": {f"x.{name}": text for name, text in _name_hints.ATTRIBUTES.items()},
            "LIBRARIES": _name_hints.LIBRARIES,
            "KEYWORDS": {
                f"{name}=": f"{text}=" if text.isidentifier() else text
                for name, text in _name_hints.KEYWORDS.items()
            },
        }[self.arguments[0]]
        lines = [[name, rows[name]] for name in sorted(rows, key=str.lower)]
        return [table_of(["instead of", "use"], lines)]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("other-names", OtherNames)
    return {"parallel_read_safe": True}
