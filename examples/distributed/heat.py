"""Heat in a plate: strips of rows on several devices, which exchange their edges at each step.

A strip has *ghost cells*: a copy of the last row above it and of the first row below it. A step
computes the next temperatures of a strip from its own rows and these two, and both are tasks of a
region: it moves the edges between devices, and lets strips compute at once.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import portarray as pa
from examples.distributed.outcome import Bar, Outcome, common_dtype
from portarray.tasks import In, InOut, Out, Region

__all__ = ["run"]

RATE = 0.2  # of the time step: below 0.25 the scheme is stable


class Strip:
    """Rows of the plate on a device, their first and last row, and the ghost cells around them."""

    def __init__(self, rows: Any, device: str) -> None:
        def put(x: Any) -> pa.Array:
            return pa.asarray(x, device=device, copy=True)

        self.inner = put(rows[1:-1])
        self.above, self.below = put(rows[:1]), put(rows[-1:])
        self.first, self.last = put(rows[1:2]), put(rows[-2:-1])


def exchange(edge: pa.Array, ghost: pa.Array) -> None:
    """Copy an edge into the ghost cells of the neighbour."""
    ghost[...] = edge


def advance(
    above: pa.Array, below: pa.Array, inner: pa.Array, first: pa.Array, last: pa.Array
) -> None:
    """Compute the next temperatures of a strip, and set its edges."""
    whole = pa.concat([above, inner, below])
    middle = whole[1:-1, 1:-1]
    around = whole[:-2, 1:-1] + whole[2:, 1:-1] + whole[1:-1, :-2] + whole[1:-1, 2:]
    inner[:, 1:-1] = middle + RATE * (around - 4 * middle)
    first[...] = inner[:1, :]
    last[...] = inner[-1:, :]


def plate(rows: int, columns: int, dtype: str) -> Any:
    """Return the temperatures at the beginning: two warm spots and a warm border."""
    y, x = np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
    spots = np.exp(-80 * ((x - 0.3) ** 2 + (y - 0.4) ** 2))
    spots += 0.5 * np.exp(-60 * ((x - 0.7) ** 2 + (y - 0.6) ** 2))
    spots[0] = 1.0
    return spots.astype(dtype)


def with_numpy(u: Any, steps: int) -> Any:
    """Compute the same on the whole plate."""
    for _ in range(steps):
        middle = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = middle + RATE * (around - 4 * middle)
    return u


def run(devices: Sequence[str], quick: bool) -> Outcome:
    """Spread heat over strips on devices."""
    height, columns, steps = (16, 64, 10) if quick else (256, 1024, 100)
    dtype = common_dtype(devices)
    count = 2 * len(devices)
    start = plate(count * height + 2, columns, dtype)
    strips = [
        Strip(start[i * height : (i + 1) * height + 2], devices[i * len(devices) // count])
        for i in range(count)
    ]
    with Region() as region:
        for _ in range(steps):
            for upper, lower in pairwise(strips):
                region.spawn(exchange, In(upper.last), Out(lower.above))
                region.spawn(exchange, In(lower.first), Out(upper.below))
            for s in strips:
                edges = Out(s.first), Out(s.last)
                region.spawn(advance, In(s.above), In(s.below), InOut(s.inner), *edges)
    result = np.concatenate([s.inner.to_device("numpy").native for s in strips])
    expected = with_numpy(start.copy(), steps)[1:-1]
    graph = region.graph()
    return Outcome(
        "NumPy on the whole plate",
        float(np.max(np.abs(result - expected))),
        1e-12 if dtype == "float64" else 1e-5,
        {(i, 0): str(s.inner.device) for i, s in enumerate(strips)},
        bars(region),
        [f"{len(graph.nodes)} tasks, of which {graph.moves} are copies between devices"],
    )


def bars(region: Region) -> list[Bar]:
    """Return what a region ran when."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        region.trace(path)
        events = json.loads(path.read_text("utf-8"))["traceEvents"]
    workers = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    return [
        Bar(
            workers[event["tid"]],
            event["name"],
            event["ts"] / 1e6,
            (event["ts"] + event["dur"]) / 1e6,
        )
        for event in events
        if event["ph"] == "X"
    ]
