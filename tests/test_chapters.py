"""In every backend a file's name is the category of the standard that its functions belong to.

The source is read, so that backends without their library are checked too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import portarray as pa
from portarray import backends
from portarray._dispatch.categories import CATEGORIES

EXTENSIONS = ("linalg", "fft", "special")
FOLDER = Path(backends.__path__[0])
SHARED = FOLDER / "composed"
BACKENDS = sorted(path for path in FOLDER.glob("*/namespace") if path.is_dir())

NAMES: dict[str, frozenset[str]] = {
    **{chapter: frozenset(getattr(pa, chapter).__all__) for chapter in EXTENSIONS},
    **{
        chapter: frozenset(
            name
            for name in pa.__all__
            if f"{getattr(getattr(pa, name), '__module__', '')}.".startswith(
                f"portarray._api.{chapter}."
            )
        )
        for chapter in CATEGORIES
        if chapter not in EXTENSIONS
    },
}
CHAPTER = {name: c for c, names in NAMES.items() if c not in EXTENSIONS for name in names}


def folder_name(path: Path) -> str:
    return path.parent.name if path.name == "namespace" else path.name


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file of a folder with the category in its name or its folder's name."""
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder).parts[0].removesuffix(".py"), path


def defined(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names that a module binds itself, with their lines."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                (target.id, node.lineno) for target in targets if isinstance(target, ast.Name)
            )


def listed(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names in a module's ``__all__``, including re-exported functions."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from ((name, node.lineno) for name in ast.literal_eval(node.value))


def rows(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names in a module's tables of functions, such as ``BY_DTYPE``."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in ("ACCEPTED", "BY_DTYPE"):
                keys = [key for key in node.value.keys if isinstance(key, ast.Constant)]
                yield from ((str(key.value), key.lineno) for key in keys)


def belongs(name: str, stem: str) -> bool:
    """Return whether a name may be in a file: a standard function only in that of its category."""
    return name not in CHAPTER or name in NAMES.get(stem, ())


def test_every_chapter_has_a_file_for_the_public_functions() -> None:
    folder = Path(import_module("portarray._api").__path__[0])
    assert set(CATEGORIES) <= {stem for stem, _ in files(folder)}
    assert len(CHAPTER) == sum(len(NAMES[c]) for c in CATEGORIES if c not in EXTENSIONS)
    assert set(CHAPTER) <= set(pa.__all__)


@pytest.mark.parametrize("folder", [SHARED, *BACKENDS], ids=folder_name)
def test_functions_stand_in_their_chapters_file(folder: Path) -> None:
    wrong = []
    for stem, path in files(folder):
        tree = ast.parse(path.read_text("utf-8"))
        if stem in CATEGORIES:
            names = [*defined(tree), *listed(tree), *rows(tree)]
        elif stem == "__init__":
            names = list(defined(tree))  # it lists every chapter; the next test reads it
        else:
            # Pieces that chapters are made of (the case of one dtype, say), and that nothing
            # serves by name: the next test would not let a backend take a function from there.
            continue
        wrong += [
            f"{path.relative_to(BACKENDS)}:{line}: {name} is for {CHAPTER[name]}.py"
            for name, line in names
            if not belongs(name, stem)
        ]
    assert wrong == []


@pytest.mark.parametrize("backend", BACKENDS, ids=folder_name)
def test_a_backend_takes_each_function_from_its_chapter(backend: Path) -> None:
    wrong = []
    for node in ast.parse((backend / "__init__.py").read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            module = str(node.module)
            chapter = module.partition(".namespace.")[2].partition(".")[0]
            wrong += [
                f"line {node.lineno}: {alias.name} comes from {module}, "
                f"not from {CHAPTER[alias.asname or alias.name]}.py"
                for alias in node.names
                if not belongs(alias.asname or alias.name, chapter)
            ]
    assert wrong == []
