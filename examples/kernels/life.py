"""Conway's Game of Life on a torus: one work-item is one cell.

Run it with ``python -m examples.kernels.life``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import portarray as pa
import portarray.kernel_language as kl
from examples.kernels.command import main, to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@pa.kernel
def generation(after: Any, age: Any, previous: Any) -> None:
    """Write the next generation, and for how many of them each cell has been as it is."""
    i, j = kl.index()
    rows, columns = previous.shape
    neighbours = 0
    for di in kl.unroll(range(-1, 2)):
        for dj in kl.unroll(range(-1, 2)):
            if di != 0 or dj != 0:
                neighbours += previous[(i + di) % rows, (j + dj) % columns]
    alive = neighbours == 3 or (neighbours == 2 and previous[i, j] == 1)
    after[i, j] = 1 if alive else 0
    age[i, j] = age[i, j] + 1 if after[i, j] == previous[i, j] else 0


def start(rows: int, columns: int, seed: int = 7) -> np.ndarray[Any, np.dtype[Any]]:
    """Return cells of which a third is alive."""
    return (np.random.default_rng(seed).random((rows, columns)) < 1 / 3).astype(np.uint8)


def compute(
    device: pa.Device, rows: int = 200, columns: int = 300, generations: int = 300
) -> tuple[np.ndarray[Any, np.dtype[Any]], np.ndarray[Any, np.dtype[Any]]]:
    """Return the last generation and the cells' ages."""
    cells = pa.asarray(start(rows, columns), device=device)
    scratch = pa.zeros_like(cells)
    age = pa.zeros((rows, columns), dtype=pa.int32, device=device)
    for _ in range(generations):
        # What is read and what is written are two arrays, which change places.
        scratch, age = generation(scratch, age, cells)
        cells, scratch = scratch, cells
    return to_numpy(cells), to_numpy(age)


def draw(axes: Axes, result: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> None:
    """Draw living cells in black; the colour is darker the longer ago a cell changed."""
    cells, age = result
    axes.imshow(np.log1p(age), cmap="YlGnBu", interpolation="nearest")
    living = np.ma.masked_equal(cells, 0)
    axes.imshow(living, cmap="gray", vmin=1, vmax=2, interpolation="nearest")
    axes.set_axis_off()
    axes.set_title("Game of Life")


if __name__ == "__main__":
    main("life", compute, draw)
