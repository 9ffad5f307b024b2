"""The matrix of moves as a picture, from a report of transfer.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from drawing import GREY, SETTINGS
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

__all__ = ["draw"]

# More copies are darker, so that colours are not needed.
_COLOURS = {0: "#a8dadc", 1: "#f4c95d", 2: "#e07a5f"}
_INK = "#1b1b1b"  # on the cells


def draw(report: dict[str, Any], file: Path) -> None:
    """Draw sources against targets, in the format of the file's name."""
    devices = list(report["devices"])
    positions = {device: index for index, device in enumerate(devices)}
    size = len(devices)
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(1.6 + 0.95 * size, 1.9 + 0.62 * size), layout="constrained")
        axes = figure.add_subplot()
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_ylim(size - 0.5, -0.5)
        for row in report["rows"]:
            x, y = positions[row["target"]], positions[row["source"]]
            colour = _COLOURS[min(row["copies"], 2)]
            axes.add_patch(Rectangle((x - 0.47, y - 0.45), 0.94, 0.9, color=colour, linewidth=0))
            text = f"{row['to_fresh']:.2f}" if row["copies"] else "shared"
            axes.text(x, y - 0.1, text, ha="center", va="center", color=_INK, size=10)
            axes.text(x, y + 0.24, row["route"], ha="center", va="center", color=_INK, size=7)
        labels = [device.replace(":", "\n", 1) for device in devices]
        axes.set_xticks(range(size), labels)
        axes.set_yticks(range(size), labels)
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set_xlabel("to", color=GREY, labelpad=8)
        axes.set_ylabel("from", color=GREY)
        axes.tick_params(length=0, labelcolor=GREY)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.legend(
            handles=_legend(report),
            loc="upper left",
            bbox_to_anchor=(0, -0.01),
            frameon=False,
            labelcolor=GREY,
            fontsize=8.5,
        )
        metadata = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, transparent=True, metadata=metadata)


def _legend(report: dict[str, Any]) -> list[Patch]:
    megabytes = report["nbytes"] / 1e6
    labels = {
        0: "shared: nothing is copied",
        1: f"one copy: time as a multiple of one memcpy of the same {megabytes:g} MB",
        2: "two copies",
    }
    copies_in_report = {min(row["copies"], 2) for row in report["rows"]}
    return [
        Patch(color=_COLOURS[copies], label=text)
        for copies, text in labels.items()
        if copies in copies_in_report
    ]
