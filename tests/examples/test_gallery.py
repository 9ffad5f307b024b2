"""Every example of the gallery runs on the devices of this machine, and draws what has a title."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the examples draw by matplotlib")

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


@pytest.fixture(autouse=True)
def no_windows() -> Iterator[None]:
    """Draw without a screen, and leave nothing to the next test."""
    plt.switch_backend("agg")
    with mpl.rc_context():
        yield
    plt.close("all")


def titles(figure: Figure) -> list[str]:
    """Return the titles of a figure and its axes, of which the pages make the text of a picture."""
    headings = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    return [title for title in headings if title]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example(file: Path) -> None:
    runpy.run_path(str(file))
    figures = [plt.figure(figure_number) for figure_number in plt.get_fignums()]
    assert figures
    assert all(map(titles, figures))


def test_the_order_names_every_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    order = importlib.import_module("gallery_order").ORDER
    assert sorted(f"plot_{name}" for name in order) == [file.stem for file in FILES]
