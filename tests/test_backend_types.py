"""Every backend's functions have the types of ``portarray.typing.Namespace`` for mypy.

For each backend a small module is generated in which mypy checks one assignment a function: the
backend's function to the protocol's, with the library's own array type. ``nox -s types`` runs this,
and ``nox -s tests`` leaves it to that.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import portarray
from portarray._dispatch import categories
from portarray._dtypes.accepted import OPERANDS
from portarray.backends import registry
from portarray.backends.base import Backend
from portarray.typing import BackendNamespace, FftNamespace, LinalgNamespace
from portarray.typing.elementwise import ElementwiseNamespace

pytest.importorskip("mypy", reason="mypy is not installed; `nox -s types` installs it")

PARTS = {"": BackendNamespace, "linalg": LinalgNamespace, "fft": FftNamespace}
ROOT = Path(portarray.__file__).parents[1]


def functions_of(protocol: type) -> list[str]:
    """Return the names of a protocol's functions, its bases' included."""
    return sorted(
        name
        for name in dir(protocol)
        if not name.startswith("_") and inspect.isfunction(getattr(protocol, name))
    )


def checks(backend: Backend) -> Iterator[str]:
    """Yield the lines of a module in which mypy checks a backend's chapter files.

    Functions are assigned to their place in the protocol, and those of aligned operands, rows among
    them, to a variable that takes one, two or three arrays.
    """
    array = backend.array_type
    yield '# mypy: disable-error-code="method-assign"'
    yield "from collections.abc import Callable"
    yield f"from {array.__module__} import {array.__qualname__} as Native"
    yield "from portarray import typing as types"
    for chapter in ("", *categories.CATEGORIES):
        module = categories.category_module(backend.category_package, chapter)
        if module is None:
            continue
        part = chapter if chapter in PARTS else ""
        protocol = PARTS[part]
        tree = ast.parse(inspect.getsource(module))
        yield f"import {module.__name__}"
        yield f"def check_{chapter}(xp: types.{protocol.__name__}[Native]) -> None:"
        for count, operands in enumerate(("Native", "Native, Native", "Native, Native, Native"), 1):
            yield f"    of_{count}: Callable[[{operands}], Native]"
        for name, expression in rows(tree):
            count = operands_of(f"{part}.{name}".removeprefix("."))
            yield f"    {f'of_{count}' if count else f'xp.{name}'} = {within(expression, module)}"
        for name in functions_of(protocol):
            if hasattr(module, name):
                count = operands_of(f"{part}.{name}".removeprefix("."))
                target = f"of_{count}" if count else f"xp.{name}"
                yield f"    {target} = {module.__name__}.{name}"


def operands_of(name: str) -> int:
    """Return how many aligned operands a function takes, or 0 if the protocol suffices."""
    if name in ("concat", "stack"):
        return 0
    if name in OPERANDS:
        return 3 if name == "where" else 2
    function = getattr(ElementwiseNamespace, name, None)
    return 1 if function and list(inspect.signature(function).parameters) == ["self", "x"] else 0


def rows(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the functions in a file's table BY_DTYPE, each with its name in the standard."""
    for node in tree.body:
        if (
            isinstance(node, ast.AnnAssign)
            and ast.unparse(node.target) == "BY_DTYPE"
            and isinstance(node.value, ast.Dict)
        ):
            for key, row in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(row, ast.Dict):
                    pairs = zip(row.keys, row.values, strict=True)  # a key is None where ** stands
                    yield from ((str(key.value), value) for kinds, value in pairs if kinds)


def within(expression: ast.expr, module: ModuleType) -> str:
    """Return an expression of a module, qualified for use in another module."""
    names = {
        node.id: f"{module.__name__}.{node.id}"
        for node in ast.walk(expression)
        if isinstance(node, ast.Name) and hasattr(module, node.id)
    }

    class Qualified(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.parse(names.get(node.id, node.id), mode="eval").body

    return ast.unparse(Qualified().visit(ast.parse(ast.unparse(expression), mode="eval")))


def assertions(namespace: ModuleType, array: type) -> Iterator[str]:
    """Yield the lines of a module that assigns each function to its place in the protocol."""
    # Assigning to a method is what makes mypy compare the two types; here nothing else matters.
    yield '# mypy: disable-error-code="method-assign"'
    yield f"from {array.__module__} import {array.__qualname__} as Native"
    yield "from portarray import typing as types"
    for part, protocol in PARTS.items():
        module = getattr(namespace, part) if part else namespace
        yield f"import {module.__name__}"
        yield f"def check_{part}(xp: types.{protocol.__name__}[Native]) -> None:"
        yield "    pass"
        for name in functions_of(protocol):
            if hasattr(module, name):
                yield f"    xp.{name} = {module.__name__}.{name}"


def complaints(modules: dict[str, str], folder: Path, cache: Path, *search: Path) -> list[str]:
    """Run mypy on modules, given by their names, and return its messages with the source lines."""
    files = [folder / f"types_of_{name}.py" for name in modules]
    for file, text in zip(files, modules.values(), strict=True):
        file.write_text(text)
    # mypy finds installed packages itself, and refuses their paths.
    paths = [*search, ROOT] if (ROOT / "pyproject.toml").exists() else search
    run = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={cache}"),
            *("--follow-imports=silent", "--ignore-missing-imports", "--no-error-summary"),
            *("--no-pretty", "--show-error-codes", *(file.name for file in files)),
        ],
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, paths))},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    result = []
    for line in run.stdout.splitlines():
        file_name, index, message = line.split(":", 2)
        name = file_name.removeprefix("types_of_").removesuffix(".py")
        result.append(f"{name}: {modules[name].splitlines()[int(index) - 1].strip()}:{message}")
    return result


@pytest.fixture
def cache(request: pytest.FixtureRequest) -> Path:
    """Return a persistent cache folder: reading a large library's types takes longest."""
    return request.config.cache.mkdir("backend_types")


def test_backends_and_portarray_itself_fit_the_protocol(tmp_path: Path, cache: Path) -> None:
    modules = {"portarray": "\n".join(assertions(portarray, portarray.Array))}
    missing = [
        name
        for part, protocol in PARTS.items()
        for name in functions_of(protocol)
        if f"portarray.{part}.{name}".replace("..", ".") not in modules["portarray"]
    ]
    # What backends have beyond the standard.
    assert missing == ["add_at", "getitem", "item", "setitem"]
    # The module as a whole, with its constants and dtypes.
    modules["portarray"] += "\nwhole: types.Namespace[Native] = portarray"
    for library, info in sorted(registry.backend_infos().items()):
        try:
            importlib.import_module(info.module)
        except ImportError:
            continue
        if not info.pending:
            modules[library] = "\n".join(checks(registry.load_backend(library)))
            assert modules[library].count("import portarray") > 3, f"no chapter files of {library}"
    assert len(modules) > 1
    assert complaints(modules, tmp_path, cache) == []


WRONG = """
import numpy as np
from wrong_namespace import fft, linalg

def add(x1: np.ndarray, x2: np.ndarray, /) -> np.ndarray: ...
def sin(y: np.ndarray, /) -> np.ndarray: ...
def cos(x: np.ndarray, /) -> float: ...
def sum(x: np.ndarray, /, *, axis: int | None = None, keepdims: bool = False) -> np.ndarray: ...
def any(x: np.ndarray, /, axis: object = None, keepdims: bool = False) -> np.ndarray: ...
def unique_counts(x: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]: ...
"""


def test_wrong_functions_are_found(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "wrong_namespace"
    package.mkdir()
    (package / "__init__.py").write_text(WRONG)
    (package / "linalg.py").write_text("import numpy as np\ndef inv(x: np.ndarray) -> None: ...")
    (package / "fft.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    wrong = importlib.import_module("wrong_namespace")
    text = "\n".join(assertions(wrong, type(portarray.asarray(0, device="numpy").native)))
    lines = complaints({"wrong": text}, tmp_path, cache, tmp_path)
    names = [
        line.removeprefix("wrong: ").partition(" = ")[0] for line in lines if "[assignment]" in line
    ]
    # A result without the named fields and arguments that are missing or too narrow are found;
    # sin's differing name of a positional-only parameter and any's extra freedom are none.
    assert names == ["xp.add", "xp.cos", "xp.sum", "xp.unique_counts", "xp.inv"]
