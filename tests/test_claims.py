"""README and landing page: each claim has a link or a test, and each figure is a measured one."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import portarray as pa
from portarray.backends import registry

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/index.md")
LINK = re.compile(r"\]\(([\w/.]+)\)|\{doc\}`(?:[^`<]*<)?([\w/]+)>?`|\]\((https://\S+)\)")


def sentences(page: str) -> Iterator[str]:
    """Yield the sentences of a page's paragraphs, lists and cards."""
    text = (ROOT / page).read_text("utf-8")
    text = re.sub(r"```.*?```", "\n\n", text, flags=re.S)
    text = re.sub(r"^(:::|#|\||:).*$", "\n", text, flags=re.M)
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", text):
        line = " ".join(paragraph.removeprefix("- ").split())
        for sentence in re.split(r"(?<=[.;:])(?:\*\*)?\s+(?=[A-Z`\"\[{])", line):
            # What leads to a command or a list, and headings such as "**The same answers.", claim
            # nothing.
            if sentence and not re.match(r"[^:]*:$|\*\*[^*]*[.:](\*\*)?:?$", sentence):
                yield sentence.replace("**", "")


@pytest.fixture(autouse=True)
def pages() -> None:
    if not (ROOT / "docs" / "index.md").is_file():
        pytest.skip("the pages are not beside the tests")


def test_every_claim_has_a_link_or_a_test() -> None:
    rows = dict(
        line.split(" ==> ")
        for line in (ROOT / "tests" / "claims.txt").read_text("utf-8").splitlines()
        if not line.startswith("#")
    )
    bare = []
    for page in PAGES:
        for sentence in sentences(page):
            starts = [start for start in rows if sentence.startswith(start)]
            for path, document, address in LINK.findall(sentence):
                file = Path(ROOT, page).parent / (path or f"{document}.md")
                assert address or file.exists(), sentence
            if not starts and not LINK.search(sentence):
                bare.append(sentence)
    assert bare == []
    texts = [sentence for page in PAGES for sentence in sentences(page)]
    unused = {start for start in rows if not any(text.startswith(start) for text in texts)}
    assert unused == set()
    for tests in rows.values():
        for test in tests.split("; "):
            path, _, name = test.partition("::")
            if name:  # not "measured ..."
                assert f"def {name}(" in (ROOT / "tests" / path).read_text("utf-8"), test


def test_figures() -> None:
    """Counts, versions and names on both pages are those of the project."""
    readme, landing = ((ROOT / page).read_text("utf-8") for page in PAGES)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    python = project["requires-python"].removeprefix(">=")
    for text in (readme, landing):
        assert f"Python {python} or newer" in text
        assert project["license"] in text
    assert f"Version {'.'.join(pa.__version__.split('.')[:2])}," in landing
    # The libraries, and those that the suite passes on CPUs: all but CuPy.
    support = json.loads((ROOT / "docs" / "data" / "support.json").read_text("utf-8"))
    for library in support["libraries"]:
        info = registry.find_info(library)
        assert info is not None
        assert info.title in readme
        assert info.title in landing or info.title == "clarray"  # which is OpenCL's there
    run = {library for library, row in support["libraries"].items() if row["run"]}
    assert set(support["libraries"]) - run == {"cupy"}
    assert f"with {['five', 'six', 'seven'][len(run) - 5]} libraries" in readme
    extras = project["optional-dependencies"]
    assert any("scikit-learn" in requirement for requirement in extras["examples"])
    assert any("intel-opencl-rt" in requirement for requirement in extras["opencl"])
    suite = pytest.importorskip("portarray_conformance.suite", reason="it is not installed")
    count = len(suite.all_cases())
    assert {int(n) for n in re.findall(r"ok \((\d+) passed\)", readme)} == {count}
    assert f"more than {count // 100 * 100} cases" in landing
