"""The routes between all devices as a matrix, and what they cost where that is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._devices import memory
from portarray._devices.device import Device
from portarray._movement import routes
from portarray._movement.routes import TransferPlan

DTYPE = np.dtype(np.float32)
"""What is moved: a dtype that every device has."""

LEAST = 0.1
"""Seconds that a route is measured for, unless :data:`TURNS` take longer."""
TURNS = 3
"""The least number of times that a route is measured after it was warmed up."""


@dataclass(frozen=True, slots=True)
class Memcpy:
    """The time of one copy in NumPy: a lower bound for a route with one copy."""

    touched: float  # seconds into memory that has been written before
    # Seconds into newly allocated memory, as a move's result is
    fresh: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One route."""

    source: Device
    target: Device
    plan: TransferPlan | None  # the route; None where the array could not be made or moved
    # The shortest measured time until the target has the data and the result is released
    seconds: float | None = None
    problem: str = ""  # why there is no plan or no time, or an empty string


@dataclass(frozen=True, slots=True)
class Matrix:
    """The routes of one array between devices."""

    devices: tuple[Device, ...]
    nbytes: int  # of the float32 array
    # Row by row, the diagonal included
    cells: tuple[Cell, ...]
    memcpy: Memcpy | None = None  # where the routes are measured

    def reasons(self) -> list[str]:
        """Return every distinct reason for a copy, in the order of the cells."""
        plans = [cell.plan for cell in self.cells if cell.plan is not None]
        return list(dict.fromkeys(reason for plan in plans for reason in plan.reasons))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, texts and numbers, fit for JSON."""
        memcpy = self.memcpy
        return {
            "devices": [str(device) for device in self.devices],
            "array": {"dtype": str(DTYPE), "bytes": self.nbytes},
            "memcpy": None
            if memcpy is None
            else {"warm_seconds": memcpy.touched, "fresh_seconds": memcpy.fresh},
            "routes": [self._as_dict(cell) for cell in self.cells],
        }

    def _as_dict(self, cell: Cell) -> dict[str, Any]:
        plan = cell.plan
        values: dict[str, Any] = {
            "from": str(cell.source),
            "to": str(cell.target),
            "route": None if plan is None else plan.route,
            "copies": None if plan is None else plan.copies,
            "bytes": None if plan is None else plan.nbytes,
            "why": [] if plan is None else list(plan.reasons),
            "problem": cell.problem,
        }
        if self.memcpy is not None:
            seconds = cell.seconds
            values["seconds"] = seconds
            values["gigabytes_per_second"] = self.speed(cell)
            values["ratio_to_memcpy"] = None if seconds is None else seconds / self.memcpy.fresh
        return values

    def speed(self, cell: Cell) -> float | None:
        """Return gigabytes per second of a route that copies; None for those that do not."""
        if cell.seconds is None or cell.plan is None or not cell.plan.copies:
            return None
        return self.nbytes / cell.seconds / 1e9


def matrix(
    devices: Sequence[Device],
    *,
    nbytes: int,
    measure: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> Matrix:
    """Find the routes of a float32 array between devices; cells of devices that fail say why."""
    values = np.ones(max(1, nbytes // DTYPE.itemsize), DTYPE)
    cells: list[Cell] = []
    for source in devices:
        for cell in row(values, source, devices, measure=measure):
            cells.append(cell)
            if progress is not None:
                progress(len(cells), len(devices) ** 2)
    return Matrix(tuple(devices), values.nbytes, tuple(cells), memcpy(values) if measure else None)


def row(
    values: np.ndarray[Any, Any], source: Device, devices: Sequence[Device], *, measure: bool
) -> Iterator[Cell]:
    """Yield the routes of an array of dtype float32 from one device to others."""
    try:
        x = source._backend.from_host(values, source.native, copy=True)
    except Exception as error:  # noqa: BLE001  (a device that fails says so in its cells)
        for target in devices:
            yield Cell(source, target, None, problem=_problem(error))
        return
    for target in devices:
        yield _cell(x, source, target, measure)


def _cell(x: Any, source: Device, target: Device, measure: bool) -> Cell:
    plan = None
    try:
        plan = routes.plan(x, source, target, dtype=DTYPE)
        seconds = _time_of_move(x, plan) if measure else None
    except Exception as error:  # noqa: BLE001  (a route that fails says so in its cell)
        return Cell(source, target, plan, problem=_problem(error))
    return Cell(source, target, plan, seconds)


def _problem(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".strip(": ")


def _time_of_move(x: Any, plan: TransferPlan) -> float:
    """Return the shortest time of a move, with the device synchronized where anything is copied."""
    source, target = plan.source, plan.target

    def move() -> None:
        y = routes.move(x, source, target, copy=None)
        if plan.copies:
            memory.synchronize(target)
        del y

    memory.synchronize(source)
    return shortest(move)


def memcpy(values: np.ndarray[Any, Any]) -> Memcpy:
    """Return the time of one copy of an array in host memory."""
    touched = np.empty_like(values)
    return Memcpy(
        touched=shortest(lambda: np.copyto(touched, values)), fresh=shortest(lambda: values.copy())
    )


def shortest(action: Callable[[], object]) -> float:
    """Return the shortest time of an action in seconds, after one warm-up."""
    action()
    end = time.perf_counter() + LEAST
    best = float("inf")
    turns = 0
    while turns < TURNS or time.perf_counter() < end:
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
        turns += 1
    return best
