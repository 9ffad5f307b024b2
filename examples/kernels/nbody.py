"""Bodies that attract each other: a group loads a tile of them into local memory at a time.

Run it with ``python -m examples.kernels.nbody``.
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

TILE = 64  # bodies, and work-items of a group
SOFTENING = 0.01


@pa.kernel
def kick(velocity: Any, position: Any, mass: Any, dt: Any) -> None:
    """Change the velocities by what all bodies attract."""
    i = kl.index()
    here = kl.local_index()
    tile = kl.local((TILE, 3), kl.float32)
    x = position[i, 0]
    y = position[i, 1]
    ax = kl.float32(0)
    ay = kl.float32(0)
    for first in range(0, position.shape[0], TILE):
        tile[here, 0] = position[first + here, 0]
        tile[here, 1] = position[first + here, 1]
        tile[here, 2] = mass[first + here]
        kl.barrier()
        for k in range(TILE):
            dx = tile[k, 0] - x
            dy = tile[k, 1] - y
            d2 = dx * dx + dy * dy + SOFTENING
            force = tile[k, 2] / (d2 * math.sqrt(d2))
            ax += dx * force
            ay += dy * force
        kl.barrier()
    velocity[i, 0] += ax * dt
    velocity[i, 1] += ay * dt


@pa.kernel
def drift(position: Any, velocity: Any, dt: Any) -> None:
    """Move the bodies."""
    i, axis = kl.index()
    position[i, axis] += velocity[i, axis] * dt


def start(count: int, seed: int = 3) -> tuple[np.ndarray[Any, Any], ...]:
    """Return the positions, velocities and masses of a disc that turns about its heaviest body."""
    random = np.random.default_rng(seed)
    radius = np.sqrt(random.uniform(0.05, 4, count))
    angle = random.uniform(0, 2 * np.pi, count)
    mass = np.full(count, 0.5 / count)
    radius[0], mass[0] = 0, 1
    position = np.stack((radius * np.cos(angle), radius * np.sin(angle)), axis=1)
    speed = np.sqrt((1 + 0.125 * radius**2) / (radius + 0.3)) * (radius > 0)
    velocity = np.stack((-speed * np.sin(angle), speed * np.cos(angle)), axis=1)
    return tuple(v.astype(np.float32) for v in (position, velocity, mass))


def compute(
    device: pa.Device, count: int = 2048, steps: int = 200, dt: float = 0.01
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the positions and velocities after some steps; count is a multiple of TILE."""
    position, velocity, mass = (pa.asarray(v, device=device) for v in start(count))
    for _ in range(steps):
        velocity = kick(velocity, position, mass, dt, ndrange=(count,), group=(TILE,))
        position = drift(position, velocity, dt)
    return to_numpy(position), to_numpy(velocity)


def draw(axes: Axes, result: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> None:
    """Draw the bodies, coloured by their speeds."""
    position, velocity = result
    axes.set_facecolor("black")
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    axes.scatter(position[:, 0], position[:, 1], c=speed, s=2, cmap="inferno", vmin=0)
    axes.set(xlim=(-3, 3), ylim=(-2, 2), xticks=[], yticks=[], title="n bodies")


if __name__ == "__main__":
    main("nbody", compute, draw)
