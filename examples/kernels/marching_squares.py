"""Lines of equal value by marching squares: one work-item is one square of the grid.

Run it with ``python -m examples.kernels.marching_squares``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import portarray as pa
import portarray.kernel_language as kl
from examples.kernels.command import main, to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The edges that a line joins, two for each of at most two lines, -1 for none. A square's code has
# bit 0 for its corner (i, j), then 1, 2 and 3 for (i, j + 1), (i + 1, j + 1) and (i + 1, j), where
# the field is above the level; edge k goes from the corner of bit k to the next.
EDGES = [
    *([-1, -1, -1, -1], [3, 0, -1, -1], [0, 1, -1, -1], [3, 1, -1, -1]),
    *([1, 2, -1, -1], [3, 0, 1, 2], [0, 2, -1, -1], [3, 2, -1, -1]),
    *([2, 3, -1, -1], [2, 0, -1, -1], [0, 1, 2, 3], [2, 1, -1, -1]),
    *([1, 3, -1, -1], [1, 0, -1, -1], [0, 3, -1, -1], [-1, -1, -1, -1]),
]


@pa.kernel
def potential(field: Any, charges: Any, step: Any) -> None:
    """Write the sum of the charges' potentials at each point of the grid."""
    i, j = kl.index()
    total = kl.float32(0)
    for k in range(charges.shape[0]):
        dy = kl.float32(i * step) - charges[k, 0]
        dx = kl.float32(j * step) - charges[k, 1]
        total += charges[k, 2] / (dx * dx + dy * dy + 0.01)
    field[i, j] = total


@pa.kernel.function
def crossing(a: Any, b: Any, level: Any) -> Any:
    """Return the part of the way from a to b at which the level is met."""
    return (level - a) / (b - a)


@pa.kernel
def lines(ends: Any, field: Any, edges: Any, level: Any) -> None:
    """Write the ends (row, column) of at most two lines through each square; NaN for none."""
    i, j = kl.index()
    corners = kl.private(5, kl.float32)
    corners[0] = field[i, j]
    corners[1] = field[i, j + 1]
    corners[2] = field[i + 1, j + 1]
    corners[3] = field[i + 1, j]
    corners[4] = corners[0]
    code = 0
    for k in kl.unroll(range(4)):
        if corners[k] > level:
            code |= 1 << k
    for k in kl.unroll(range(4)):
        edge = kl.int32(edges[code, k])
        if edge >= 0:
            part = crossing(corners[edge], corners[edge + 1], level)
            back = 1.0 - part
            down = 0.0 if edge == 0 else part if edge == 1 else 1.0 if edge == 2 else back
            right = part if edge == 0 else 1.0 if edge == 1 else back if edge == 2 else 0.0
            ends[i, j, 2 * k] = kl.float32(i) + down
            ends[i, j, 2 * k + 1] = kl.float32(j) + right


def start(count: int = 9, seed: int = 11) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the places (row, column) and values of charges."""
    random = np.random.default_rng(seed)
    places = random.uniform((0.2, 0.2), (1.8, 2.8), (count, 2))
    return np.column_stack((places, random.uniform(-1, 1, count))).astype(np.float32)


def compute(
    device: pa.Device, rows: int = 200, columns: int = 300
) -> tuple[np.ndarray[Any, Any], dict[float, np.ndarray[Any, Any]]]:
    """Return the potential, and for each level its lines: (count, 2 ends, row and column)."""
    field = pa.zeros((rows, columns), dtype=pa.float32, device=device)
    field = potential(field, pa.asarray(start(), device=device), 2.0 / rows)
    edges = pa.asarray(np.array(EDGES, np.int8), device=device)
    by_level = {}
    for level in (-6.0, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0):
        ends = pa.full((rows - 1, columns - 1, 8), pa.nan, dtype=pa.float32, device=device)
        ends = lines(ends, field, edges, level, ndrange=(rows - 1, columns - 1))
        both = to_numpy(ends).reshape(-1, 2, 2)
        by_level[level] = both[~np.isnan(both[:, 0, 0])]
    return to_numpy(field), by_level


def draw(
    axes: Axes, result: tuple[np.ndarray[Any, Any], dict[float, np.ndarray[Any, Any]]]
) -> None:
    """Draw the lines over the potential."""
    from matplotlib.collections import LineCollection

    field, levels = result
    axes.imshow(field, cmap="RdBu", vmin=-10, vmax=10, origin="lower")
    for level, ends in levels.items():
        width = 0.6 if level < 0 else 1.2
        axes.add_collection(LineCollection(list(ends[..., ::-1]), colors="black", linewidths=width))
    axes.set_axis_off()
    axes.set_title("Marching squares")


if __name__ == "__main__":
    main("marching_squares", compute, draw)
