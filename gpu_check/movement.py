"""Every ordered pair of devices with a checked one in it: bits, order and sharing, and speed."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from part import Writer, arguments
from portarray_conformance import pairs, portarray_target

import portarray as pa

LARGE = 64 * 2**20
TURNS = 5
STEPS = 20  # of work that is still under way when its result is moved
BUSY = 4 * 2**20  # numbers in it


def wrong(source: str, target: str) -> list[str]:
    """Return what does not arrive as it left, or does not come back so."""
    # Hardware may quiet a signaling NaN on the way; that it is one is what must arrive.
    return pairs.wrong(
        portarray_target(source),
        pa.device(source),
        pa.device(target),
        "array.to_device",
        exact=False,
    )


def broken(source: str, target: str, plan: pa.TransferPlan) -> list[str]:
    """Return what was promised of the order of things and does not hold."""
    found: list[str] = []
    zeros = pa.zeros(BUSY, dtype=pa.float32, device=source)

    def under_way() -> pa.Array:
        x = zeros
        for _ in range(STEPS):
            x = x + 1.0
        return x

    def look(y: pa.Array, value: float, what: str) -> None:
        seen = y.device.room.transfer.to_host(y.native, copy=True)
        if not (seen == value).all():
            found.append(f"{what}: {int((seen != value).sum())} of {seen.size} numbers are wrong")

    look(under_way().to_device(target), STEPS, "work that was under way")
    look(pa.to_device(under_way(), target, non_blocking=True), STEPS, "moved without waiting")
    look(under_way().to_device(target) + 1.0, STEPS + 1, "used at once on the target")
    for copy in (None, True):
        x = under_way()
        y = x.to_device(target, copy=copy)
        if copy or plan.copies:
            x[...] = pa.asarray(-1.0, dtype=pa.float32, device=source)
        del x
        rest = [zeros - 1.0 for _ in range(3)]  # takes the memory that was freed
        look(y, STEPS, "of a source that was written and freed")
        del rest
    if plan.route == "dlpack" and not plan.copies:
        x = under_way()
        y = x.to_device(target)
        y[...] = pa.asarray(-2.0, dtype=pa.float32, device=target)
        look(x, -2.0, "memory that is shared, written by the target,")
        x += 1.0
        look(y, -1.0, "memory that is shared, written by the source,")
    return found


def seconds_of(source: str, target: str) -> float:
    """Return the shortest time of moving the large array."""
    x = pa.ones(LARGE // 4, dtype=pa.float32, device=source)
    best = float("inf")
    for _ in range(TURNS):
        pa.synchronize()
        began = time.perf_counter()
        y = x.to_device(target)
        pa.synchronize()
        best = min(best, time.perf_counter() - began)
        del y
    return best


def memcpy() -> float:
    """Return the shortest time in which NumPy copies as many bytes."""
    x = np.ones(LARGE // 4, dtype=np.float32)
    y = np.empty_like(x)
    best = float("inf")
    for _ in range(TURNS):
        began = time.perf_counter()
        np.copyto(y, x)
        best = min(best, time.perf_counter() - began)
    return best


def pair(source: str, target: str, copy: float) -> dict[str, Any]:
    """Return one row of the matrix."""
    plan = pa.transfer_plan(pa.zeros(BUSY, dtype=pa.float32, device=source), target)
    row: dict[str, Any] = {
        "source": source,
        "target": target,
        "route": plan.route,
        "copies": plan.copies,
        "why": plan.why,
    }
    try:
        row["wrong"] = wrong(source, target) + broken(source, target, plan)
    except Exception as error:  # noqa: BLE001 - whatever a driver raises is the finding
        row["wrong"] = [f"{type(error).__name__}: {error}"]
    if not row["wrong"]:
        took = seconds_of(source, target)
        row["gigabytes_per_second"] = LARGE / took / 1e9
        row["ratio_to_memcpy"] = took / copy
    return row


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("devices", nargs="+")


if __name__ == "__main__":
    given = arguments(__doc__, _options)
    until = time.monotonic() + given.seconds
    checked = [str(pa.device(name)) for name in given.devices]
    every = [str(device) for device in pa.devices()]
    copying = memcpy()
    with Writer(given.out) as write:
        for one in every:
            for other in every:
                if one == other or not {one, other} & set(checked):
                    continue
                if time.monotonic() > until:
                    raise SystemExit("the time was over before all pairs were tried")
                write(pair(one, other, copying))
