"""Figures on the pages are generated from docs/data."""

from __future__ import annotations

import datetime as dt
import importlib
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "data"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    pytest.importorskip("sphinx", reason="Sphinx, which makes the pages, is not installed")
    for folder in ("docs/_ext", "benchmarks"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    module = importlib.import_module("measurements")
    monkeypatch.setattr(module, "DRAWN", tmp_path)
    return module


def read(name: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return report


def figures(text: str) -> list[list[float]]:
    """Return the numbers of each line of a table."""
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[float(n) for n in re.findall(r"(?<=[ *])\d+\.?\d*(?=[ *])", line)] for line in lines]


def test_every_part_names_its_date_and_machine(pages: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib, which draws, is not installed")
    pages.draw(None)
    names = {path.stem for path in tmp_path.glob("*.md")}
    assert names == set(pages.PARTS)
    shown = "".join(path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md"))
    for name in names:
        first = (tmp_path / f"{name}.md").read_text("utf-8").splitlines()[0]
        report = read(name)
        day = dt.date.fromisoformat(report["machine"]["date"])
        assert f"Measured on {day:%d %B %Y} on " in first
        for device, about in report["devices"].items():
            assert about["name"] in first
            assert f"{device.partition(':')[0]} {about['version']}" in first
        assert f"```{{include}} drawn/{name}.md" in shown, f"no page shows {name}"
    assert all("<svg" in path.read_text("utf-8") for path in tmp_path.glob("*.svg"))


def test_tables_have_every_figure(pages: ModuleType) -> None:
    rates = [
        [row["prompt_rate"], row["prompt_ratio"], row["decode_rate"], row["decode_ratio"]]
        for row in read("model_llama_cpp")["rows"]
    ]
    shown = figures(pages.llama_cpp(read("model_llama_cpp")))
    for row, rate in zip(shown, rates, strict=True):
        assert row[:4] == pytest.approx(rate, rel=0.02)
    report = read("clarray")
    shown = figures(pages.clarray(report))
    rows = dict.fromkeys(entry["row"] for entry in report["rows"])
    for row, name in zip(shown, rows, strict=True):
        ratios = [
            entry["ratio"]
            for entry in report["rows"]
            if entry["row"] == name and entry["candidate"] != "NumPy"
        ]
        assert row[-len(ratios) :] == pytest.approx(ratios, abs=0.006)
    report = read("overhead")
    added = {row["baseline"]: 0.0 for row in report["rows"] if row["size"] == "tiny"}
    for row in report["rows"]:
        if row["size"] == "tiny" and row["candidate"] == f"portarray on {row['baseline']}":
            added[row["baseline"]] += 1e6 * row["difference"]
    for line in pages.overhead(report).splitlines()[2:]:
        library, *cells = line.strip("| ").split(" | ")
        assert sum(float(cell.split()[1]) for cell in cells) == pytest.approx(
            added[library], abs=0.03
        )
    costs = [list(row["microseconds"].values()) for row in read("tasks")["rows"]]
    for row, rate in zip(figures(pages.tasks(read("tasks"))), costs, strict=True):
        assert row == pytest.approx(rate, rel=0.02)
