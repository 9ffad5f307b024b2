"""The tests, table, page and badge of ``examples/library`` work."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest
from own_pytest import ROOT, python

LIBRARY = ROOT / "examples" / "library"

if not LIBRARY.is_dir():
    pytest.skip("the examples are not beside the tests", allow_module_level=True)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library after a run of its tests, which wrote the report."""
    folder = tmp_path_factory.mktemp("author") / "smalllearn"
    shutil.copytree(LIBRARY, folder, ignore=shutil.ignore_patterns("__pycache__", "_build"))
    run = python(
        *("-m", "pytest", "-q", "-p", "pytest_portarray", "-p", "no:cacheprovider"),
        *("--devices=numpy,virtual:cuda,virtual:metal,virtual:tpu", "--device-report=report.json"),
        cwd=folder,
    )
    assert run.code == 0, run.text
    return folder


def test_its_table_matches_its_tests(library: Path) -> None:
    pytest.importorskip("click")
    run = python("-m", "portarray", "device-report", "table", "report.json", cwd=library)
    assert run.text in (LIBRARY / "README.md").read_text("utf-8")
    names = set(run.text.replace("|", " ").split())
    public = {"GaussianProcess", "classify", "huber_location", "kmeans", "kneighbors", "mad"}
    assert names >= public | {"median", "squared_distances", "trimmed_mean"}


def test_its_page_and_badge(library: Path) -> None:
    pytest.importorskip("sphinx")
    run = python("-m", "sphinx", "-W", "-b", "html", "docs", "out", cwd=library)
    assert run.code == 0, run.text
    assert "virtual:metal" in (library / "out" / "index.html").read_text("utf-8")
    run = python(
        *("-m", "portarray", "device-report", "badge", "report.json", "-o", "badge.svg"),
        cwd=library,
    )
    assert "devices: 1 + 3 virtual" in (library / "badge.svg").read_text("utf-8")


def test_faults_on_gpus_fail_its_tests(library: Path) -> None:
    """A host read inside a function, which NumPy hides, fails the library's tests."""
    source = library / "smalllearn" / "robust.py"
    original = source.read_text("utf-8")
    broken = "import numpy as np\n" + original.replace("from __future__ import annotations\n", "")
    broken = broken.replace("abs(x - centre)", "abs(x - xp.asarray(np.asarray(centre)))", 1)
    source.write_text(broken, "utf-8")
    assert "np.asarray(centre)" in broken
    try:
        run = python(
            *("-m", "pytest", "-q", "-p", "pytest_portarray", "-p", "no:cacheprovider"),
            *("--devices=numpy,virtual:cuda", "-k", "scale", "--device-report=broken.json"),
            cwd=library,
        )
    finally:
        source.write_text(original, "utf-8")
    assert run.code == 1, run.text
    tests = json.loads((library / "broken.json").read_text("utf-8"))["tests"]
    assert any("failed" in test["devices"]["virtual:cuda:0"] for test in tests.values())


def test_the_library_does_not_need_portarray() -> None:
    project = tomllib.loads((LIBRARY / "pyproject.toml").read_text("utf-8"))["project"]
    assert not any("portarray" in file for file in project["dependencies"])
    for path in (LIBRARY / "smalllearn").glob("*.py"):
        assert "portarray" not in path.read_text("utf-8")
