"""Every backend's functions fit the types of ``portarray.typing.Namespace``, as mypy sees them.

For each backend a small module is generated in which mypy checks one assignment a function: the
backend's function to the protocol's, with the library's own array type. ``nox -s types`` runs this.
"""

from __future__ import annotations

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
from portarray.backends import registry
from portarray.typing import BackendNamespace, FftNamespace, LinalgNamespace

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


def assertions(namespace: ModuleType, array: type) -> Iterator[str]:
    """Yield the lines of a module that assigns each function to its place in the protocol."""
    # Assigning to a method is what makes mypy compare the two types; here nothing else matters.
    yield '# mypy: disable-error-code="method-assign"'
    yield f"from {array.__module__} import {array.__qualname__} as Native"
    yield "from portarray import typing as types"
    for part, protocol in PARTS.items():
        module = getattr(namespace, part, None) if part else namespace
        if module is None:
            continue  # the shared compositions serve all of it
        yield f"import {module.__name__}"
        yield f"def check_{part}(xp: types.{protocol.__name__}[Native]) -> None:"
        yield "    pass"
        for name in functions_of(protocol):
            if hasattr(module, name):
                yield f"    xp.{name} = {module.__name__}.{name}"


def complaints(text: str, folder: Path, cache: Path, *search: Path) -> list[str]:
    """Run mypy on a module and return what it finds, each with the line it stands in."""
    file = folder / "backend_types.py"
    file.write_text(text)
    # mypy finds what is installed by itself, and refuses to be told of it.
    paths = [*search, ROOT] if (ROOT / "pyproject.toml").exists() else search
    run = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={cache}"),
            *("--follow-imports=silent", "--ignore-missing-imports", "--no-error-summary"),
            *("--no-pretty", "--show-error-codes", str(file)),
        ],
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, paths))},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    lines = text.splitlines()
    found = []
    for line in run.stdout.splitlines():
        _, number, rest = line.split(":", 2)
        found.append(f"{lines[int(number) - 1].strip()}:{rest}")
    return found


@pytest.fixture
def cache(request: pytest.FixtureRequest) -> Path:
    """Return a folder that lasts: reading a large library's types takes most of the time."""
    return request.config.cache.mkdir("backend_types")


@pytest.mark.parametrize("library", sorted(registry.backend_infos()))
def test_backend_fits_the_protocol(library: str, tmp_path: Path, cache: Path) -> None:
    info = registry.backend_infos()[library]
    if info.pending:
        pytest.skip(f"the backend is not complete: {info.pending}")
    pytest.importorskip(info.module, reason=f"{info.title} is not installed", exc_type=ImportError)
    backend = registry.load_backend(library)
    text = "\n".join(assertions(backend.namespace, backend.array_type))
    assert text.count("xp.") > 100, "the backend's namespace was not found"
    assert complaints(text, tmp_path, cache) == []


def test_portarray_itself_fits_the_protocol(tmp_path: Path, cache: Path) -> None:
    text = "\n".join(assertions(portarray, portarray.Array))
    missing = [
        name
        for part, protocol in PARTS.items()
        for name in functions_of(protocol)
        if f"portarray.{part}.{name}".replace("..", ".") not in text
    ]
    assert missing == ["getitem", "item", "setitem"]  # what backends have beyond the standard
    # The module as a whole, with its constants and dtypes.
    text += "\nwhole: types.Namespace[Native] = portarray"
    assert complaints(text, tmp_path, cache) == []


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
    found = complaints(text, tmp_path, cache, tmp_path)
    names = [line.partition(" = ")[0] for line in found if "[assignment]" in line]
    # A result without the named fields and arguments that are missing or too narrow are found;
    # sin's differing name of a positional-only parameter and any's extra freedom are none.
    assert names == ["xp.add", "xp.cos", "xp.sum", "xp.unique_counts", "xp.inv"]
