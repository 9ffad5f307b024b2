"""Pictures of where blocks are and of what ran when; needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from examples.distributed.outcome import Outcome

__all__ = ["draw"]


def draw(outcome: Outcome, path: Path) -> None:
    """Draw the blocks, coloured by device, beside a row of bars for each worker."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    places, times = figure.subplots(1, 2, width_ratios=(1, 2))
    devices = sorted(set(outcome.blocks.values()))
    colours = {device: f"C{i}" for i, device in enumerate(devices)}
    for index, device in outcome.blocks.items():
        row, column = (*index, 0)[:2]
        places.add_patch(Rectangle((column, row), 1, 1, color=colours[device], ec="white"))
    rows, columns = (1 + max((*index, 0)[axis] for index in outcome.blocks) for axis in (0, 1))
    places.set(xlim=(0, columns), ylim=(rows, 0), title="blocks", xticks=(), yticks=())
    places.legend(
        handles=[Patch(color=colours[name], label=name) for name in devices],
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
    )
    workers = sorted({bar.worker for bar in outcome.bars})
    for i, worker in enumerate(workers):
        spans = [(b.start, b.stop - b.start) for b in outcome.bars if b.worker == worker]
        times.broken_barh(spans, (i - 0.4, 0.8), lw=0)
    times.set(yticks=range(len(workers)), yticklabels=workers, xlabel="seconds", title="tasks")
    figure.savefig(path, dpi=120)
