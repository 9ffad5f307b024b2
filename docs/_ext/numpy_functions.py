"""The directive ``numpy-functions TABLE``: supported and unsupported NumPy functions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive
from numpy.testing import overrides
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from support_table import table_of

from portarray import _name_hints, _numpy_functions  # noqa: F401  (fills the table)
from portarray._numpy_functions import table, ufuncs


class NumpyFunctions(Directive):
    """A table: supported ``functions`` or ``ufuncs``, ``refused`` ones, or the ``extras``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.state.document.settings.record_dependencies.add(table.__file__)
        make = {
            "functions": _functions,
            "ufuncs": _ufuncs,
            "refused": _refused,
            "extras": _extras,
        }
        head, lines = make[self.arguments[0]]()
        return [table_of(head, lines)]


def _functions() -> tuple[list[str], list[list[str]]]:
    categories: dict[str, list[str]] = {}
    for name, row in table.SERVED.items():
        function = table.function_named(name)
        if function is None:
            continue
        without = ", ".join(f"{parameter}=" for parameter in _without(function, row))
        categories.setdefault(row.category, []).append(
            f"{name} (no {without})" if without else name
        )
    return ["category", "functions"], [
        [title, ", ".join(sorted(names))] for title, names in categories.items()
    ]


def _extras() -> tuple[list[str], list[list[str]]]:
    categories: dict[str, list[str]] = {}
    for name in sorted(_name_hints.EXTRAS):
        title = table.SERVED[name].category if name in table.SERVED else "Elementwise"
        categories.setdefault(title, []).append(name)
    return ["category", "functions"], [
        [title, ", ".join(names)] for title, names in sorted(categories.items())
    ]


def _without(function: object, row: table.Served) -> Iterator[str]:
    """Yield the unsupported parameters."""
    try:
        parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    except ValueError:
        return
    if row.gathers or row.any_option:
        return
    ignored = {"out", "like", "device", "optimize", "writeable", *table.NEUTRAL}
    yield from (
        name
        for name, parameter in parameters.items()
        if name not in row.taken
        and name not in ignored
        and parameter.kind is not parameter.VAR_KEYWORD
    )


def _ufuncs() -> tuple[list[str], list[list[str]]]:
    names = [name for name in vars(np) if isinstance(getattr(np, name), np.ufunc)]
    standard = sorted(name for name in names if name in ufuncs.STANDARD)
    composed = sorted(name for name in names if name in ufuncs.COMPOSED)
    lines = [
        ["functions of the standard", ", ".join(standard)],
        ["composed of them", ", ".join(composed)],
        [".reduce", ", ".join(sorted(ufuncs.REDUCTIONS.keys() | ufuncs.ASSOCIATIVE))],
        [".accumulate", ", ".join(sorted(ufuncs.ASSOCIATIVE))],
        [".outer", "all with two operands"],
    ]
    return ["ufuncs", "which"], lines


def _refused() -> tuple[list[str], list[list[str]]]:
    lines = []
    ufunc_names = {
        f.__name__
        for f in overrides.get_overridable_numpy_ufuncs()
        if getattr(np, f.__name__, None) is f
    }
    names = {table.name_of(f) for f in overrides.get_overridable_numpy_array_functions()}
    names -= table.SERVED.keys()
    groups: dict[str, list[str]] = {}
    for name in sorted(names | (ufunc_names - ufuncs.STANDARD - ufuncs.COMPOSED.keys())):
        module, _, last = name.rpartition(".")
        fix = _name_hints.FUNCTIONS.get(module, {}).get(last)
        if fix:
            lines.append([name, fix])
        elif not last.startswith("_"):
            groups.setdefault(module, []).append(last)
    for module, unsupported in groups.items():
        group = f"{module}: {', '.join(unsupported)}" if module else ", ".join(unsupported)
        lines.append([group, "x.to_device('numpy').native, and NumPy on the host"])
    return ["function", "use"], lines


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("numpy-functions", NumpyFunctions)
    return {"parallel_read_safe": True}
