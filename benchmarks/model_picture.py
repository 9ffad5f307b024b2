"""Tokens per second as a picture, from a report of model.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from drawing import GREY, SETTINGS
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["draw"]

_BAR = "#4f9d9f"
_PEER = "#e07a5f"
_LIMIT = "#b48a1e"


def draw(report: dict[str, Any], file: Path) -> None:
    """Draw a bar for each device, in the format of the file's name."""
    rows = report["rows"]
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(8.0, 1.5 + 0.34 * len(rows)), layout="constrained")
        prompt_axes, decode_axes = figure.subplots(1, 2, sharey=True)
        _panel(prompt_axes, rows, "prompt", f"prompt of {report['prompt']} tokens")
        _panel(decode_axes, rows, "decode", "greedy decoding, batch 1")
        if any(row["share"] is not None for row in rows):
            decode_axes.axvline(report["limit"], color=_LIMIT, linestyle=":", linewidth=1.5)
            gigabytes = max(report["bandwidth"].values()) / 1e9
            text = f"limit: each token reads {report['bytes_per_token'] / 1e6:.0f} MB, "
            text += f"the memory gives {gigabytes:.0f} GB/s"
            decode_axes.plot([], [], color=_LIMIT, linestyle=":", linewidth=1.5, label=text)
        handles, labels = decode_axes.get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=2,
            frameon=False,
            labelcolor=GREY,
            fontsize=8.5,
        )
        metadata = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, transparent=True, metadata=metadata)


def _panel(axes: Axes, rows: list[dict[str, Any]], phase: str, title: str) -> None:
    """Draw one phase: a bar for each device, and a line for its peer."""
    positions = list(range(len(rows)))
    values = [row[f"{phase}_rate"] for row in rows]
    axes.barh(positions, values, color=_BAR, height=0.62)
    axes.set_yticks(positions, [row["device"] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    for position, row in zip(positions, rows, strict=True):
        peer = row[f"peer_{phase}_rate"]
        name = "PyTorch eager by hand" if row["beside"].startswith("torch") else row["beside"]
        label = f"{name}, measured alternately" if position == 0 else None
        axes.plot(
            [peer, peer], [position - 0.42, position + 0.42], color=_PEER, linewidth=2, label=label
        )
        ratio = row[f"{phase}_ratio"]
        # The text is on the bar, or next to a short one.
        is_short = values[position] < 0.3 * max([*values, peer])
        axes.text(
            values[position],
            position,
            f" {values[position]:.1f}, {ratio:.2f} × ",
            ha="left" if is_short else "right",
            va="center",
            size=7.5,
            color=GREY if is_short else "#ffffff",
        )
    axes.set_xlabel(f"tokens per second: {title}", color=GREY)
    axes.tick_params(colors=GREY, length=0)
    for name, spine in axes.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(GREY)
