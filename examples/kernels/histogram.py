"""A histogram: each group counts in local memory, and adds its counts to those of all.

Run it with ``python -m examples.kernels.histogram``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import portarray as pa
import portarray.kernel_language as kl
from examples.kernels.command import main, to_numpy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 128
GROUP = 128  # work-items of a group
GROUPS = 64
LOW, HIGH = -4.0, 6.0


@pa.kernel
def histogram(counts: Any, x: Any, low: Any, high: Any) -> None:
    """Count the values of each bin; values outside are not counted."""
    here = kl.local_index()
    shared = kl.local(BINS, kl.int32)
    for k in range(here, BINS, kl.group_size(0)):
        shared[k] = 0
    kl.barrier()
    scale = BINS / (high - low)
    # Each work-item takes every n-th value, where n is the number of work-items.
    for k in range(kl.index(), x.shape[0], kl.global_size(0)):
        if low <= x[k] < high:
            bin_index = min(int((x[k] - low) * scale), BINS - 1)
            kl.atomic_add(shared, bin_index, 1)
    kl.barrier()
    for k in range(here, BINS, kl.group_size(0)):
        kl.atomic_add(counts, k, shared[k])


def start(count: int, seed: int = 5) -> np.ndarray[Any, np.dtype[Any]]:
    """Return values of two normal distributions."""
    random = np.random.default_rng(seed)
    values = random.normal(0, 1, count)
    values[: count // 3] = random.normal(3, 0.5, count // 3)
    return values.astype(np.float32)


def compute(device: pa.Device, count: int = 1_000_000) -> np.ndarray[Any, np.dtype[Any]]:
    """Return the counts."""
    x = pa.asarray(start(count), device=device)
    counts = pa.zeros(BINS, dtype=pa.int32, device=device)
    counts = histogram(counts, x, LOW, HIGH, ndrange=(GROUP * GROUPS,), group=(GROUP,))
    return to_numpy(counts)


def draw(axes: Axes, counts: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Draw the counts over the bins."""
    axes.stairs(counts, np.linspace(LOW, HIGH, BINS + 1), fill=True)
    axes.set(xlim=(LOW, HIGH), xlabel="value", ylabel="count", title="Histogram")


if __name__ == "__main__":
    main("histogram", compute, draw)
