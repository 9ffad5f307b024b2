"""A report as a picture: time over size, a panel for each case, a line for each device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from portarray._cli.bench.report import Figure, Report
from portarray.errors import PortarrayError

COLUMNS = 3
GREY = "#767676"  # legible on white and on black
# Distinct without colour too.
MARKERS = "osD^vPX*<>hp"
SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "portarray",  # reproducible files
}


class PlotError(PortarrayError):
    """A picture that cannot be drawn."""


def check(file: Path) -> None:
    """Refuse a picture that cannot be drawn, before anything is measured for it."""
    try:
        from matplotlib import figure
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise PlotError(
            "--plot needs matplotlib, which is not installed.\n"
            'Install it with: pip install "portarray[bench]"'
        ) from error
    known = figure.Figure().canvas.get_supported_filetypes()
    if file.suffix[1:].lower() not in known:
        raise PlotError(
            f"--plot {file}: matplotlib draws no {file.suffix or 'file without an ending'}; take "
            f"{', '.join(f'.{one}' for one in sorted(known))}"
        )
    if not file.parent.is_dir():
        raise PlotError(f"--plot {file}: there is no folder {file.parent}")


def draw(report: Report, file: Path) -> None:
    """Draw growth curves, both axes logarithmic; the format is that of the file's name."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    names = list(dict.fromkeys(figure.name for figure in report.figures))
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    with mpl.rc_context(SETTINGS):
        canvas = Canvas(figsize=(3.1 * columns, 2.3 * rows + 0.6), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False).flat
        for panel, name in zip(axes, names, strict=False):
            for number, device in enumerate(report.devices):
                points = _points(report, name, str(device))
                panel.plot(
                    [point.size for point in points],
                    [point.seconds for point in points],
                    color=f"C{number % 10}",
                    marker=MARKERS[number % len(MARKERS)],
                    markersize=4,
                    linewidth=1.2,
                    label=str(device),
                )
            panel.set(xscale="log", yscale="log", xlabel=report.unit, ylabel="seconds")
            panel.set_title(name, color=GREY)
            panel.tick_params(which="both", colors=GREY)
            panel.xaxis.label.set_color(GREY)
            panel.yaxis.label.set_color(GREY)
            panel.grid(color=GREY, alpha=0.25, linewidth=0.5)
            for spine in panel.spines.values():
                spine.set_color(GREY)
        for panel in list(canvas.axes)[len(names) :]:
            panel.set_axis_off()
        handles, labels = canvas.axes[0].get_legend_handles_labels()
        canvas.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=min(4, len(labels)),
            frameon=False,
            labelcolor=GREY,
        )
        metadata = {"Date": None} if file.suffix.lower() == ".svg" else None
        canvas.savefig(file, transparent=True, metadata=metadata)


def _points(report: Report, name: str, device: str) -> list[Figure]:
    """Return what was measured of one case on one device."""
    return [
        figure
        for figure in report.figures
        if figure.name == name and figure.device == device and figure.seconds is not None
    ]
