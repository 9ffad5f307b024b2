"""Files on the pages for authors of libraries run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from own_pytest import ROOT, Run, python

DOCS = ROOT / "docs"

if not DOCS.is_dir():
    pytest.skip("the documentation is not beside the tests", allow_module_level=True)


def files(page: str) -> list[tuple[str, str]]:
    """Return the names and sources of a page's files, in its order."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.S)
    named = [re.match(r"# (\w+\.py)\n", block) for block in blocks]
    assert all(named), "every block says which file it is"
    return [(name.group(1), block) for name, block in zip(named, blocks, strict=True) if name]


def run(folder: Path, *arguments: str) -> Run:
    fixed = ("-m", "pytest", "-v", "-p", "pytest_portarray", "-p", "no:cacheprovider")
    devices = "--devices=numpy,virtual:cuda,virtual:metal,virtual:tpu"
    return python(*fixed, devices, *arguments, cwd=folder)


def test_test_your_library(tmp_path: Path) -> None:
    written = files("test_your_library.md")
    names = [name for name, _ in written]
    assert names == ["stats.py", "test_stats.py", "stats.py", "test_everywhere.py", "test_marks.py"]
    for name, source in written[:2]:
        (tmp_path / name).write_text(source, "utf-8")
    first = run(tmp_path)
    failed = {name for name, outcome in first.outcomes.items() if outcome == "failed"}
    places = ("virtual:cuda-float32", "virtual:cuda-float64", "virtual:tpu-float32")
    assert failed == {f"test_robust_scale[{folder}]" for folder in places}
    for name in failed:  # as the page shows
        assert name in (DOCS / "test_your_library.md").read_text("utf-8")
    for name, source in written[2:]:
        (tmp_path / name).write_text(source, "utf-8")
    then = run(tmp_path, "--device-report=report.json")
    assert then.code == 0, then.text
    table = python("-m", "portarray", "device-report", "table", "report.json", cwd=tmp_path)
    assert "| robust_scale | ✓ | ✓ | ✓ | ✓ |" in table.text


def test_bring_a_library(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    for name, source in files("bring_a_library.md"):
        (tmp_path / name).write_text(source, "utf-8")
    done = run(tmp_path)
    assert done.code == 0, done.text
    assert done.outcomes["test_before[numpy:cpu]"] == "passed"
    assert done.outcomes["test_everywhere[virtual:metal]"] == "passed"
