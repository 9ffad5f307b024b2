"""Functions of the standard, at growing numbers of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import portarray as pa
from portarray._cli.bench.cases import Case, ended, random

if TYPE_CHECKING:
    from portarray._cli.bench.timing import Action

UNIT = "float32 elements"
SIZES = (1_000, 100_000, 10_000_000)
SIDES = (32, 256, 1024)  # of square matrices
LONGEST_SORT = 1_000_000

_ONE: dict[str, Callable[[pa.Array], pa.Array]] = {
    "exp": pa.exp,
    "sin": pa.sin,
    "sum": pa.sum,
    "max": pa.max,
    "cumulative_sum": pa.cumulative_sum,
}


def cases() -> list[Case]:
    """Return every function at every size."""
    found = [Case("add", size, _adding(size)) for size in SIZES]
    for name, function in _ONE.items():
        found += [Case(name, size, _calling(function, size)) for size in SIZES]
    sorts = [min(size, LONGEST_SORT) for size in SIZES]
    found += [Case("sort", size, _calling(pa.sort, size)) for size in sorts]
    found += [Case("take", size, _taking(size)) for size in SIZES]
    found += [Case("matmul", side**2, _multiplying(side)) for side in SIDES]
    return found


def _adding(size: int) -> Callable[[pa.Device], Action]:
    def make(device: pa.Device) -> Action:
        x = random(device, size)
        return ended(pa.add, x, x)

    return make


def _calling(function: Callable[[pa.Array], pa.Array], size: int) -> Callable[[pa.Device], Action]:
    return lambda device: ended(function, random(device, size))


def _taking(size: int) -> Callable[[pa.Device], Action]:
    def make(device: pa.Device) -> Action:
        at = pa.argsort(random(device, size)) if size <= LONGEST_SORT else _reversed(device, size)
        return ended(pa.take, random(device, size), at, axis=0)

    return make


def _reversed(device: pa.Device, size: int) -> pa.Array:
    return pa.flip(pa.arange(size, device=device))


def _multiplying(side: int) -> Callable[[pa.Device], Action]:
    def make(device: pa.Device) -> Action:
        x = random(device, side, side, scale=side**-0.5)
        return ended(pa.matmul, x, x)

    return make
