"""Examples in docstrings and code on the pages run."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import linecache
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
    *("docs/numpy_functions.md", "docs/beyond_the_standard.md", "docs/from_pytorch.md"),
    *("docs/devices.md", "docs/kernels.md", "docs/user_kernels.md", "docs/random.md"),
    *("docs/beside.md", "docs/tasks.md", "docs/gradients.md", "docs/compile.md"),
    *("docs/dagger.md", "docs/sharp_bits.md"),
)


def modules() -> Iterator[str]:
    """Yield every module of portarray outside the backends and the command."""
    yield "portarray"
    for module in pkgutil.walk_packages(pa.__path__, "portarray."):
        if not re.match(r"portarray\.(backends\.\w+\.|_cli|__main__)", module.name):
            yield module.name


def test_examples_in_docstrings() -> None:
    pytest.importorskip("safetensors", reason="the examples of pa.save and pa.load need it")
    failed = []
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with pa.device("numpy"):
        for name in modules():
            try:
                module = importlib.import_module(name)
            except ImportError as error:
                if not any(extra in str(error) for extra in ("click", "pyopencl", "rich")):
                    failed.append(f"{name}: {error}")
                continue
            for public in getattr(module, "__all__", ()):
                getattr(module, public)  # those that are imported when they are asked for
            if doctest.testmod(module, optionflags=options).failed:
                failed.append(name)
    assert failed == []  # the report is in what was printed


def run(page: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the Python code of a page, block after block, and return its names."""
    path = ROOT / page
    if not path.is_file():
        pytest.skip(f"{page} is not beside the tests")
    for index, block in enumerate(
        re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.S)
    ):
        name = f"{page}, block {index}"
        # Where kernels of the page find their source.
        linecache.cache[name] = (len(block), None, block.splitlines(keepends=True), name)
        exec(compile(block, name, "exec"), names)
    return names


@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (pa.functional("torch") and pa.functional("opencl")):
        pytest.skip("the pages show PyTorch and OpenCL, which are not both functional here")
    monkeypatch.chdir(tmp_path)  # for the files that are saved
    run(page, {})


def test_claims_of_the_landing_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Its example prints what it shows, and its figures are those of the measurements."""
    path, measured = ROOT / "docs" / "index.md", ROOT / "docs" / "data" / "overhead.json"
    if not path.is_file() or not pa.functional("opencl"):
        pytest.skip("the documentation is not beside the tests, or OpenCL is not functional here")
    landing = path.read_text("utf-8")
    run("docs/index.md", {})
    assert capsys.readouterr().out.splitlines() == re.findall(
        r"^# (\w+:\w+:\d.*|\[.*)$", landing, re.M
    )
    rows = {
        (row["what"], row["size"]): row
        for row in json.loads(measured.read_text("utf-8"))["rows"]
        if row["candidate"] == "portarray on NumPy"
    }
    added = f"{1e6 * rows['x + y', 'tiny']['difference']:.2f} µs"
    assert f"portarray adds {added} to `x + y` of four numbers in NumPy" in landing
    assert "less than 10 % to\n  calls with a million numbers" in landing
    assert all(row["ratio"] < 1.1 for (_, size), row in rows.items() if size == "1,000,000")


def test_the_readme_says_which_platforms_were_checked() -> None:
    """Platforms that function where the tests run are checked; a GPU changes the table."""
    path = ROOT / "README.md"
    if not path.is_file():
        pytest.skip("the README is not beside the tests")
    rows = re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", path.read_text("utf-8"), re.M)
    unchecked = {platform for platform, checked in rows if checked == "not yet"}
    assert {platform for platform, _ in rows} == set(types.PLATFORMS)
    assert not unchecked & {"cpu", "opencl", "oneapi"}
    assert not [d for d in pa.devices() if d.kind == "cpu" and d.platform in unchecked]


# Where another cluster has the port of the dashboard, Dask takes another and says so.
@pytest.mark.filterwarnings("ignore:Port 8787 is already in use")
@pytest.mark.parametrize("page", ["docs/dask.md", "docs/more_machines.md"])
def test_code_of_pages_on_clusters(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="the extra portarray[dask] is not installed")
    if not pa.functional("torch"):
        pytest.skip("the page shows PyTorch, which is not functional here")
    monkeypatch.chdir(tmp_path)
    run(page, {"__name__": "__main__"})


def test_code_of_the_page_on_scikit_learn() -> None:
    pytest.importorskip("sklearn", reason="the page shows scikit-learn")
    if not pa.functional("opencl"):
        pytest.skip("the page shows OpenCL, which is not functional here")
    names = run("docs/interoperability.md", {})
    assert isinstance(names["predicted"], pa.Array)
    assert names["predicted"].device is names["device"]


def test_the_support_page_matches_the_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python docs/_ext/support_data.py`` rewrites the page's data."""
    pytest.importorskip("click", reason="portarray support needs it")
    if not (ROOT / "docs" / "data" / "support.json").is_file():
        pytest.skip("the documentation is not beside the tests")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    support_data = importlib.import_module("support_data")
    page, here = support_data.read(), support_data.of_this_environment()
    # A function that is new is "not recorded" on the page until then.
    assert set(page["functions"]) <= set(here["functions"])
    wrong = [
        f"{library} serves {name} {served}, the page says {page['functions'][name]['served']}"
        for name, entry in here["functions"].items()
        for library, served in entry["served"].items()
        if name in page["functions"] and page["functions"][name]["served"].get(library) != served
    ]
    assert wrong == []
    assert {library: page["kernels"][library] for library in here["kernels"]} == here["kernels"]


def _hooks() -> Iterator[str]:
    """Yield every name that a backend must, should or may have."""
    names = (*vars(base.Backend), *base.Backend.__annotations__)
    yield from (name for name in names if not name.startswith("_"))
    yield from types.BackendInfo._fields
    yield from types.__all__


# What backends have no word in: types, names of the parts, and what is made of other hooks.
NOT_HOOKS = {
    *("GUARDS", "PLATFORMS", "BackendInfo", "Kind", "Served"),
    *("info", "namespace", "read_host"),
}


def test_the_page_on_adding_a_library_names_every_hook() -> None:
    path = ROOT / "docs" / "add_a_library.md"
    if not path.is_file():
        pytest.skip("the documentation is not beside the tests")
    named = set(re.findall(r"`(\w+)(?:\.py|/)?`", path.read_text("utf-8")))
    assert set(_hooks()) - NOT_HOOKS - named == set()


def _objects(tree: ast.AST, outer: str = "") -> Iterator[str]:
    """Yield the qualified names of the functions and classes of a module."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield outer + node.name
            yield from _objects(node, f"{outer}{node.name}.")


def test_pages_include_code_that_exists() -> None:
    """As Sphinx says too, which takes minutes."""
    if not (ROOT / "docs").is_dir() or not (ROOT / "examples").is_dir():
        pytest.skip("the documentation or the examples are not beside the tests")
    directive = re.compile(r"^```\{literalinclude\} (\S+)\n((?::.*\n)*)", re.M)
    shown, missing = 0, []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for path, options in directive.findall(page.read_text("utf-8")):
            source = (page.parent / path).read_text("utf-8")
            for option, value in re.findall(r"^:([\w-]+): *(.+)$", options, re.M):
                if option == "pyobject":
                    found = value in _objects(ast.parse(source))
                elif option in {"start-at", "start-after", "end-at", "end-before"}:
                    found = value.strip("\"'") in source
                else:
                    continue
                shown += 1
                if not found:
                    missing.append(f"{page.name}: no {value} in {path}")
    assert missing == []
    assert shown
