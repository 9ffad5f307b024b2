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

__all__ = ["ArrayUse", "check", "dtype_name", "shared_uses"]


class ArrayUse:
    """An array that a call reads or writes, by one argument or several.

    Arrays that overlap, one of which is written, have the same number ``image``.
    """

    def __init__(self, array: Any, cell: Cell | None, layout: Layout | None) -> None:
        self.array = array
        self.cell = cell
        self.layout = layout
        self.accesses: list[Access] = []
        self.reads = self.writes = False
        self.image: int | None = None


def shared_uses(uses: Uses) -> list[ArrayUse]:
    """Return the arrays of a call."""
    merged: dict[Any, ArrayUse] = {}
    for access, cell in uses:
        x = access.array
        layout = layout_of(x)
        key = id(x) if layout is None else (cell and cell.extent, layout, extents.is_native(x))
        use = merged.setdefault(key, ArrayUse(x, cell, layout))
        use.accesses.append(access)
        use.reads |= access.reads
        use.writes |= access.writes
    all_uses = list(merged.values())
    for index, use in enumerate(all_uses):
        for earlier in all_uses[:index]:
            if (
                (use.writes or earlier.writes)
                and use.cell is not None
                and earlier.cell in use.cell.near
            ):
                joined = {use.image, earlier.image} - {None}
                first = min(joined, default=index)  # type: ignore[type-var]
                use.image = earlier.image = first
                for third in all_uses:
                    if third.image in joined:
                        third.image = first
    return all_uses


def check(uses: Uses, device: Device) -> None:
    """Raise if a written array overlaps another one and the device does not use host memory."""
    if len(uses) < 2 or not any(access.writes for access, _ in uses):
        return
    together = [use for use in shared_uses(uses) if use.image is not None]
    if not together:
        return
    if not _in_host_memory(device) or any(use.layout is None for use in together):
        names = " and ".join(str(use.accesses[0]) for use in together[:2])
        raise ValueError(
            f"spawn: {names} overlap, and one of them is written; copies on {device} would not "
            f"overlap\nHint: run the task on a device that uses host memory, or pass one array"
        )


@cache
def _in_host_memory(device: Device) -> bool:
    """Return whether a device's arrays can be views of NumPy's."""
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
