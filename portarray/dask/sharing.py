"""Arrays of one call that share memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import portarray as pa
from portarray._array import extents
from portarray._array.layouts import Layout, layout_of
from portarray._devices.device import Device
from portarray.errors import PortarrayError
from portarray.tasks.arguments import Access
from portarray.tasks.memory import Cell
from portarray.tasks.scheduling import Uses

__all__ = ["Seen", "check", "dtype_name", "seen"]


class Seen:
    """An array that a call reads or writes, by one argument or several.

    ``image`` is a number that arrays have in common that overlap where one of them is written.
    """

    def __init__(self, array: Any, cell: Cell | None, layout: Layout | None) -> None:
        self.array = array
        self.cell = cell
        self.layout = layout
        self.accesses: list[Access] = []
        self.reads = self.writes = False
        self.image: int | None = None


def seen(uses: Uses) -> list[Seen]:
    """Return the arrays of a call."""
    found: dict[Any, Seen] = {}
    for access, cell in uses:
        x = access.array
        layout = layout_of(x)
        what = id(x) if layout is None else (cell and cell.extent, layout, extents.is_native(x))
        one = found.setdefault(what, Seen(x, cell, layout))
        one.accesses.append(access)
        one.reads |= access.reads
        one.writes |= access.writes
    every = list(found.values())
    for number, one in enumerate(every):
        for other in every[:number]:
            if (
                (one.writes or other.writes)
                and one.cell is not None
                and other.cell in one.cell.near
            ):
                joined = {one.image, other.image} - {None}
                first = min(joined, default=number)  # type: ignore[type-var]
                one.image = other.image = first
                for third in every:
                    if third.image in joined:
                        third.image = first
    return every


def check(uses: Uses, device: Device) -> None:
    """Raise where arrays of a call overlap, one is written, and a device has memory of its own."""
    if len(uses) < 2 or not any(access.writes for access, _ in uses):
        return
    together = [one for one in seen(uses) if one.image is not None]
    if not together:
        return
    if not _in_host_memory(device) or any(one.layout is None for one in together):
        names = " and ".join(str(one.accesses[0]) for one in together[:2])
        raise ValueError(
            f"{names} overlap, and one is written: copies on {device} would not. Run the task on "
            f"a device whose arrays are in host memory, or pass one array"
        )


@cache
def _in_host_memory(device: Device) -> bool:
    """Tell whether a device's arrays can be views of NumPy's."""
    values = np.zeros(4)
    try:
        x = pa.asarray(values[1:], device=device, copy=False)
    except (ValueError, TypeError, PortarrayError):
        return False
    values[2] = 1.0
    return float(x[1]) == 1.0


def dtype_name(x: Any) -> str:
    """Return the name of an array's dtype."""
    return str(x.dtype).rpartition(".")[2]
