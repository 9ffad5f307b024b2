"""The Mandelbrot set: one work-item iterates one point.

Run it with ``python -m examples.kernels.mandelbrot``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import portarray as pa
import portarray.kernel_language as kl
from examples.kernels.command import main, to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEFT, TOP, HEIGHT = -2.2, -1.2, 2.4


@pa.kernel
def mandelbrot(speed: Any, left: Any, top: Any, step: Any, limit: Any) -> None:
    """Write how fast each point escapes, in steps and parts of a step; 0 where it stays."""
    i, j = kl.index()
    cr = kl.float32(left + j * step)
    ci = kl.float32(top + i * step)
    zr = kl.float32(0)
    zi = kl.float32(0)
    n = 0
    while n < limit and zr * zr + zi * zi < 64.0:
        zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
        n += 1
    if n == limit:
        speed[i, j] = 0.0
    else:
        speed[i, j] = n + 1 - math.log2(0.5 * math.log2(zr * zr + zi * zi))


def compute(
    device: pa.Device, rows: int = 600, columns: int = 900, limit: int = 300
) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the speed of escape of each pixel."""
    speed = pa.zeros((rows, columns), dtype=pa.float32, device=device)
    speed = mandelbrot(speed, LEFT, TOP, HEIGHT / rows, limit)
    return to_numpy(speed)


def draw(axes: Axes, speed: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Draw the points that stay in black, the others by the logarithm of their speed."""
    shown = np.ma.masked_equal(speed, 0)
    colours = axes.imshow(np.log(np.ma.maximum(shown, 1)), cmap="twilight_shifted").cmap
    colours.set_bad("black")
    axes.set_axis_off()
    axes.set_title("Mandelbrot set")


if __name__ == "__main__":
    main("mandelbrot", compute, draw)
