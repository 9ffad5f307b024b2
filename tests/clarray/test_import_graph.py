"""clarray's imports at run time form no cycles, including those in functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from portarray import clarray

FOLDER = Path(clarray.__file__).parent


def name_of(path: Path) -> str:
    parts = ("portarray", "clarray", *path.relative_to(FOLDER).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in FOLDER.rglob("*.py")}


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the modules that code imports at run time."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            for alias in child.names:
                name = f"{child.module}.{alias.name}"
                yield name if name in MODULES else str(child.module)
        else:
            yield from imported(child)


def test_modules_import_downwards_only() -> None:
    graph = {
        module: set(imported(ast.parse(path.read_text("utf-8")))) - {module}
        for module, path in MODULES.items()
    }
    order = list(TopologicalSorter(graph).static_order())  # raises where modules form a circle
    assert order[-1] == "portarray.clarray"
