"""Drawn programs of tasks on views that overlap, for regions of every engine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import portarray as pa
from portarray.tasks import In, InOut, Out, Region

SIZE = 6


class Step(NamedTuple):
    """A task: operation, target and source views, device, and duration."""

    operation: str
    target: tuple[int, Any]
    source: tuple[int, Any]
    device: int | None
    seconds: float


spans = st.builds(
    slice, st.integers(0, SIZE - 1), st.integers(1, SIZE), st.sampled_from([None, 2, 3])
)
views = st.tuples(st.integers(0, 2), st.one_of(spans, st.tuples(spans, spans), st.just(...)))
steps = st.builds(
    Step,
    st.sampled_from(["add", "fill", "scale", "read", "chain"]),
    views,
    views,
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([0, 0, 3e-4]),
)


def drawn(draw: Random, count: int) -> list[Step]:
    """Return a longer program, some of whose tasks take 20 ms."""

    def span() -> slice:
        return slice(draw.randrange(SIZE), draw.randint(1, SIZE), draw.choice([None, 2, 3]))

    def view() -> tuple[int, Any]:
        return draw.randrange(3), draw.choice([span(), (span(), span()), ...])

    operations = ["add", "fill", "scale", "read", "chain"]
    return [
        Step(draw.choice(operations), view(), view(), None, draw.choice([0, 0, 0.02]))
        for _ in range(count)
    ]


def add(x: Any, y: Any, seconds: float) -> None:
    time.sleep(seconds)
    y[...] = y * 3 + x.sum()


def fill(x: Any, y: Any, seconds: float) -> None:
    time.sleep(seconds)
    y[...] = x.sum() * 5


def scale(y: Any, seconds: float) -> None:
    time.sleep(seconds)
    y *= 7


def total(x: Any, seconds: float) -> Any:
    time.sleep(seconds)
    return x.sum()


def put(value: Any, y: Any) -> None:
    y[...] = int(value)


def starts() -> list[Any]:
    return [np.arange(SIZE * SIZE).reshape(SIZE, SIZE) * (k + 1) + k for k in range(3)]


def run_sequentially(program: Sequence[Step]) -> tuple[list[Any], list[int]]:
    arrays, read = starts(), []
    for step in program:
        y, x = (arrays[k][key] for k, key in (step.target, step.source))
        if step.operation == "add":
            add(x, y, 0)
        elif step.operation == "fill":
            fill(x, y, 0)
        elif step.operation == "scale":
            scale(y, 0)
        else:
            read.append(int(x.sum()))
            if step.operation == "chain":
                put(read[-1], y)
    return arrays, read


def spawned(region: Region, step: Step, arrays: Sequence[Any], device: Any) -> list[Any]:
    """Spawn a step, and return its task if it reads."""
    y, x = (arrays[k] if key is ... else arrays[k][key] for k, key in (step.target, step.source))
    if step.operation == "add":
        region.spawn(add, In(x), InOut(y), step.seconds, device=device)
    elif step.operation == "fill":
        region.spawn(fill, In(x), Out(y), seconds=step.seconds, device=device)
    elif step.operation == "scale":
        region.spawn(scale, InOut(y), step.seconds, device=device)
    else:
        task = region.spawn(total, In(x), step.seconds, device=device)
        if step.operation == "chain":
            region.spawn(put, task, Out(y))
        return [task]
    return []


def in_a_region(program: Sequence[Step], devices: Sequence[Any], **options: Any) -> Any:
    """Run a program in a region; return the arrays and the values it read."""
    arrays = [pa.asarray(x, device=d) for x, d in zip(starts(), devices, strict=True)]
    tasks: list[Any] = []
    with Region(devices, **options) as region:
        for step in program:
            device = None if step.device is None else devices[step.device]
            try:
                tasks += spawned(region, step, arrays, device)
            except ValueError as error:
                if "overlap" not in str(error):
                    raise
                tasks += spawned(region, step, arrays, None)
    return [x.to_device("numpy").native for x in arrays], [int(t.result()) for t in tasks]
