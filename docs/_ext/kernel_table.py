"""The directive ``kernel-table``: the versions of each kernel that are made for a library.

It reads the tables that portarray picks versions from.
"""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from support_table import table_of

import portarray as pa
from portarray._api.support import overview
from portarray.backends import registry
from portarray.kernels import generic


class KernelTable(Directive):
    """Make one table of all versions."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        head = ["kernel", "library", "version", "dtypes", "wins"]
        return [table_of(head, list(_lines()))]


def _lines() -> Iterator[list[str]]:
    # Each library once, in the order of the support table, if it is installed.
    libraries = {
        place.device.partition(":")[0]: None for place in overview().places if place.totals
    }
    for name in generic.__all__:
        for library in libraries:
            backend = registry.load_backend(library)
            for row in backend.tuned_kernels.get(name, ()):
                yield [f"{name}()", backend.info.title, row.name, _kinds(row.dtypes), row.wins]


def _kinds(dtypes: frozenset[str]) -> str:
    floats = ("float16", "bfloat16", "float32", "float64")
    named = [name for name in floats if name in dtypes]
    others = sorted(dtypes.difference(floats))
    return ", ".join([*named, *(["and others"] if others else [])])


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("kernel-table", KernelTable)
    # As the support table, it depends on the libraries that are installed.
    return {"version": pa.__version__, "parallel_read_safe": True}
