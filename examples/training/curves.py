"""Curves of a training as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(
    path: Path,
    title: str,
    losses: Sequence[float],
    evaluations: Sequence[tuple[int, float, float]],
) -> None:
    """Write an SVG file with the loss of each step, and loss and accuracy on what was held out."""
    with mpl.rc_context({"svg.hashsalt": "training", "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        loss_axes = figure.subplots()
        loss_axes.set(title=title, xlabel="step", ylabel="loss", yscale="log")
        loss_axes.plot(range(1, len(losses) + 1), losses, color="tab:blue", alpha=0.4, label="loss")
        steps = [step for step, _, _ in evaluations]
        loss_axes.plot(
            steps, [loss for _, loss, _ in evaluations], "o-", ms=3, label="loss, held out"
        )
        right = loss_axes.twinx()
        right.set(ylabel="accuracy, held out", ylim=(0, 1))
        right.plot(steps, [loss for _, _, loss in evaluations], "s-", ms=3, color="tab:green")
        loss_axes.legend(loc="center right")
        figure.savefig(path, format="svg", metadata={"Date": None})
