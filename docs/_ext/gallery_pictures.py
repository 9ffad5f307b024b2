"""Pictures of the gallery's examples."""

from __future__ import annotations

from typing import Any

from matplotlib import pyplot as plt
from sphinx_gallery.scrapers import matplotlib_scraper


def scrape(*arguments: Any, **options: Any) -> str:
    """Return the text of matplotlib's figures, which their titles describe to screen readers."""
    for figure in map(plt.figure, plt.get_fignums()):
        if not any([figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]):
            raise ValueError(f"gallery: figure {figure.number} has no title")
    return str(matplotlib_scraper(*arguments, **options))
