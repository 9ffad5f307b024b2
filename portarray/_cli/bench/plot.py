"""A benchmark report as a picture: one panel for each case, one line for each device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from portarray._cli.bench.report import Report
from portarray._installation import pip_install
from portarray.errors import PortarrayError

COLUMNS = 3
GREY = "#767676"  # legible on white and on black
# Lines can be told apart without colours.
MARKERS = "osD^vPX*<>hp"
SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "portarray",  # reproducible files
}


class PlotError(PortarrayError):
    """The picture cannot be drawn."""


def check(file: Path) -> None:
    """Raise an error before measuring if the picture cannot be drawn."""
    try:
        from matplotlib import figure
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise PlotError(
            f"--plot: matplotlib is not installed\nHint: {pip_install('portarray[bench]')}"
        ) from error
    formats = ", ".join(
        f".{name}" for name in sorted(figure.Figure().canvas.get_supported_filetypes())
    )
    if file.suffix.lower() not in formats.split(", "):
        raise PlotError(f"--plot: unsupported format {file.suffix!r}; supported: {formats}")
    if not file.parent.is_dir():
        raise PlotError(f"--plot: the folder {file.parent} does not exist")


def draw(report: Report, file: Path) -> None:
    """Draw time over size on logarithmic axes, in the format of the file's name."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    names = list(dict.fromkeys(figure.name for figure in report.figures))
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    with mpl.rc_context(SETTINGS):
        mpl.rc("xtick", color=GREY)
        mpl.rc("ytick", color=GREY)
        mpl.rc("axes", edgecolor=GREY, labelcolor=GREY, titlecolor=GREY, grid=True)
        mpl.rc("grid", color=GREY, alpha=0.25, linewidth=0.5)
        mpl.rc("lines", markersize=4, linewidth=1.2)
        mpl.rc("legend", frameon=False, labelcolor=GREY)
        canvas = Canvas(figsize=(3.1 * columns, 2.3 * rows + 0.6), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False).flat
        for panel, name in zip(axes, names, strict=False):
            for index, device in enumerate(report.devices):
                points = [
                    (figure.size, figure.seconds)
                    for figure in report.figures
                    if (figure.name, figure.device) == (name, str(device))
                    and figure.seconds is not None
                ]
                style: Any = {"color": f"C{index % 10}", "marker": MARKERS[index % len(MARKERS)]}
                panel.plot(*zip(*points, strict=True), label=str(device), **style)
            panel.set(xscale="log", yscale="log", xlabel=report.unit, ylabel="seconds", title=name)
        for panel in list(canvas.axes)[len(names) :]:
            panel.set_axis_off()
        handles, labels = canvas.axes[0].get_legend_handles_labels()
        ncols = min(4, len(labels))
        canvas.legend(handles, labels, loc="outside lower center", ncols=ncols)
        metadata = {"Date": None} if file.suffix.lower() == ".svg" else None
        canvas.savefig(file, transparent=True, metadata=metadata)
