"""What the documentation shows is run: examples in docstrings, and the code on its pages."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import portarray as pa
from portarray.backends import base, types

ROOT = Path(__file__).parents[1]
# Pages whose code stands on its own, with the names that the reader is expected to have.
PAGES = (
    *("README.md", "docs/index.md", "docs/getting_started.md", "docs/moving_data.md"),
    *("docs/devices.md", "docs/kernels.md"),
)


def modules() -> Iterator[str]:
    """Yield every module of portarray outside the backends and the command."""
    yield "portarray"
    for found in pkgutil.walk_packages(pa.__path__, "portarray."):
        if not re.match(r"portarray\.(backends\.\w+\.|_cli|__main__)", found.name):
            yield found.name


@pytest.mark.parametrize("module", list(modules()))
def test_examples_in_docstrings(module: str) -> None:
    with pa.device("numpy"):
        done = doctest.testmod(
            importlib.import_module(module),
            optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
            raise_on_error=False,
        )
    assert done.failed == 0


def run(page: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the Python code of a page, block after block, and return its names."""
    path = ROOT / page
    if not path.is_file():
        pytest.skip(f"{page} is not beside the tests")
    for number, block in enumerate(
        re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.S)
    ):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    return names


@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not pa.functional("torch"):
        pytest.skip("the pages show PyTorch, which is not functional here")
    monkeypatch.chdir(tmp_path)  # for the files that are saved
    run(page, {})


def test_code_of_the_page_on_scikit_learn() -> None:
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    if not pa.functional("torch"):
        pytest.skip("the page shows PyTorch, which is not functional here")
    rows, labels = datasets.load_iris(return_X_y=True)
    names = run("docs/interoperability.md", {"rows": rows, "labels": labels})
    assert isinstance(names["predicted"], pa.Array)
    assert names["predicted"].device is names["device"]


def _hooks() -> Iterator[str]:
    """Yield every name that a backend must, should or may have."""
    names = (*vars(base.Backend), *base.Backend.__annotations__)
    yield from (name for name in names if not name.startswith("_"))
    yield from types.BackendInfo._fields
    yield from types.__all__


# What backends have no word in: types, names of the parts, and what is made of other hooks.
NOT_HOOKS = {
    *("PLATFORMS", "BackendInfo", "Kind", "Served"),
    *("info", "namespace", "read_host"),
}


def test_the_page_on_adding_a_library_names_every_hook() -> None:
    path = ROOT / "docs" / "add_a_library.md"
    if not path.is_file():
        pytest.skip("the documentation is not beside the tests")
    named = set(re.findall(r"`(\w+)(?:\.py|/)?`", path.read_text("utf-8")))
    assert set(_hooks()) - NOT_HOOKS - named == set()
