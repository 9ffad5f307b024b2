"""The gallery's order has every example; the documentation's build runs them."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


def test_the_order_names_every_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    order = importlib.import_module("gallery_order").ORDER
    assert sorted(f"plot_{name}" for name in order) == [file.stem for file in FILES]


def test_every_example_draws_something_with_a_title() -> None:
    assert [file.stem for file in FILES if "title" not in file.read_text("utf-8")] == []
