"""Every ordered pair of devices with a checked one in it: bits, order and sharing, and speed.

And each checked device by itself: page-locked memory, what is left when memory runs out, and how
fast the bus is between the host and the card.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from part import BEGAN, Writer, arguments
from portarray_conformance import pairs, portarray_target

import portarray as pa
from portarray._movement import matrix, routes

LARGE = 64 * 2**20  # bytes that are timed
STEPS = 40  # of work that is still under way when its result is moved
BUSY = {"cpu": 2**21, "gpu": 2**24}  # numbers in it: many times what starting a step takes


VALUES = np.ones(LARGE // 4, dtype=np.float32)


@dataclass(slots=True)
class Limits:
    """What no move can beat.

    Parameters
    ----------
    memcpy : float
        Seconds for one copy of the large array in the host's memory.
    bus : dict
        For a card's memory, by DLPack's type and index, what :func:`bus_of` returns.
    """

    memcpy: float
    bus: dict[Any, dict[str, float]] = field(default_factory=dict)


# --- one pair -------------------------------------------------------------------------------------


def pair(source: pa.Device, target: pa.Device, limits: Limits) -> dict[str, Any]:
    """Return one row of the matrix."""
    plan = pa.transfer_plan(pa.zeros(busy(source), dtype=pa.float32, device=source), target)
    row: dict[str, Any] = {
        "source": str(source),
        "target": str(target),
        "route": plan.route,
        "copies": plan.copies,
        "why": plan.why,
    }
    try:
        row["wrong"] = wrong(source, target) + broken(source, target, plan)
    except Exception as error:  # noqa: BLE001 - whatever a driver raises is the finding
        row["wrong"] = [f"{type(error).__name__}: {error}"]
    if not row["wrong"]:
        row |= timed(source, target, limits)
    return row


def wrong(source: pa.Device, target: pa.Device) -> list[str]:
    """Return what does not arrive as it left, or does not come back so."""
    # Hardware may quiet a signaling NaN on the way; that it is one is what must arrive.
    return pairs.wrong(
        portarray_target(str(source)), source, target, "array.to_device", exact=False
    )


def broken(source: pa.Device, target: pa.Device, plan: pa.TransferPlan) -> list[str]:
    """Return what was promised of the order of things and does not hold."""
    found = unshared(source, target) if plan.route == "dlpack" else []
    found += late(source, target, plan)
    if streamed(source) or streamed(target):
        # Default streams wait for each other, these only where they are told to.
        with own_stream(source), own_stream(target):
            found += [f"{text}, on streams of their own" for text in late(source, target, plan)]
    return found


def late(source: pa.Device, target: pa.Device, plan: pa.TransferPlan) -> list[str]:
    """Return what another library saw before it was computed, or after it was overwritten."""
    found: list[str] = []
    zeros = pa.zeros(busy(source), dtype=pa.float32, device=source)

    def under_way() -> pa.Array:
        x = zeros
        for _ in range(STEPS):
            x = x + 1.0
        return x

    def look(y: pa.Array, value: float, what: str) -> None:
        found.extend(unlike(y, value, what))

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
        pa.synchronize(target)
        look(x, -2.0, "memory that is shared, written by the target,")
        x += 1.0
        pa.synchronize(source)
        look(y, -1.0, "memory that is shared, written by the source,")
    return found


def unshared(source: pa.Device, target: pa.Device) -> list[str]:
    """Return what is not shared of one GPU's memory though ``copy=False`` asks for it."""
    x = pa.ones(1000, dtype=pa.float32, device=source)
    try:
        y = x.to_device(target, copy=False)
    except ValueError:
        if source._backend.immutable and not target._backend.immutable:
            return []  # whoever writes into what never changes gets a copy
        raise
    here, there = address(x), address(y)
    return [] if here == there else [f"copy=False gave memory at {there}, not at {here}"]


def address(x: pa.Array) -> int | None:
    """Return where an array's memory begins; None where its library does not tell."""
    if x.device.platform != "cuda":
        return None
    place: int = x.native.__cuda_array_interface__["data"][0]
    return place


def streamed(device: pa.Device) -> bool:
    """Tell whether a library works on the stream that a program chooses."""
    return device.platform in ("cuda", "rocm") and device.library in ("torch", "cupy")


@contextmanager
def own_stream(device: pa.Device) -> Iterator[None]:
    """Let a library work on a stream that waits for no other, where it can be told."""
    if not streamed(device):
        yield
    elif device.library == "torch":
        import torch

        stream = torch.cuda.Stream(device.index)  # type: ignore[no-untyped-call, unused-ignore]
        with torch.cuda.stream(stream):
            yield
    else:
        import cupy

        with cupy.cuda.Device(device.index), cupy.cuda.Stream(non_blocking=True):
            yield


def timed(source: pa.Device, target: pa.Device, limits: Limits) -> dict[str, Any]:
    """Return how long the large array takes, and where it is copied what limits that."""
    (cell,) = matrix.row(VALUES, source, [target], measure=True)
    if cell.plan is None or cell.seconds is None:
        return {"wrong": [cell.problem]}
    if not cell.plan.copies:
        return {"seconds": cell.seconds}
    here, there = place(source), place(target)
    if here == routes.HOST:
        speed = limits.bus.get(there, {}).get("to_card")
    else:
        speed = limits.bus.get(here, {}).get("to_host") if there == routes.HOST else None
    return {
        "seconds": cell.seconds,
        "gigabytes_per_second": LARGE / cell.seconds / 1e9,
        "ratio_to_memcpy": cell.seconds / limits.memcpy,
        "ratio_to_bus": None if speed is None else cell.seconds * speed / LARGE,
    }


# --- one device -----------------------------------------------------------------------------------


def alone(device: pa.Device) -> dict[str, Any]:
    """Return what does not hold on one device."""
    try:
        found = locked(device) + exhausted(device)
    except Exception as error:  # noqa: BLE001 - whatever a driver raises is the finding
        found = [f"{type(error).__name__}: {error}"]
    return {"device": str(device), "wrong": found}


def locked(device: pa.Device) -> list[str]:
    """Return what was read too late from page-locked memory, which a GPU fetches by itself."""
    found: list[str] = []
    memory = device._backend.pinned_copy(
        pa.zeros(busy(device), dtype=pa.float32, device=device).native
    )
    if memory is None:
        return found
    for turn in range(5):
        memory[...] = turn
        x = pa.asarray(memory, device=device, copy=True)
        memory[...] = -1.0
        found += unlike(x, turn, "from page-locked memory that was written at once")
        memory[...] = turn
        y = pa.to_device(memory, device, non_blocking=True, native=False) + 1.0
        found += unlike(y, turn + 1, "from page-locked memory, without waiting,")
    return found


def exhausted(device: pa.Device) -> list[str]:
    """Return what does not hold when more is asked for than a GPU's memory has."""
    total = pa.memory(device).total
    if total is None or device.kind == "cpu" or device._backend.on_host(device.native):
        return []
    kept = pa.ones(busy(device), dtype=pa.float32, device=device)
    try:
        more = pa.zeros((total // 2**20 + 1, 2**18), dtype=pa.float32, device=device)
        pa.synchronize(device)
        del more  # memory that CUDA manages may be more than the card's
    except pa.errors.OutOfMemoryError:
        found = unlike(kept, 1.0, "there before memory ran out")
        pa.reclaim(device)
        return found + unlike(kept + 1.0, 2.0, "computed after memory ran out")
    return []


def bus_of(device: pa.Device) -> dict[str, float]:
    """Return bytes a second between a card and page-locked memory: no copy can be faster."""
    backend = device._backend
    x = backend.from_host(VALUES, device.native, copy=True)
    memory = backend.pinned_copy(x)
    if memory is None:  # the library has none, and perhaps another one of the same card
        return {}

    def to_card() -> None:
        backend.from_host(memory, device.native, copy=None)
        pa.synchronize(device)

    to_host = matrix.shortest(lambda: backend.pinned_copy(x))
    return {"to_host": LARGE / to_host, "to_card": LARGE / matrix.shortest(to_card)}


# --- both -----------------------------------------------------------------------------------------


def busy(device: pa.Device) -> int:
    """Return how many numbers keep a device busy for a while."""
    return BUSY["cpu" if device.kind == "cpu" else "gpu"]


def unlike(x: pa.Array, value: float, what: str) -> list[str]:
    """Say how many of an array's numbers are not a value; at best nothing."""
    seen = x.device._backend.to_host(x.native, copy=True)
    different = int((seen != value).sum())
    return [f"{what}: {different} of {seen.size} numbers are wrong"] if different else []


def place(device: pa.Device) -> Any:
    """Return DLPack's type and index of a device's memory."""
    return device._backend.dlpack_device_of(device.native)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("devices", nargs="+")


def main() -> None:
    """Check every device, and every pair; those of two checked devices first."""
    given = arguments(__doc__, _options)
    checked = [pa.device(name) for name in given.devices]
    every = pa.devices()
    both = [(one, other) for one in every for other in every if one is not other]
    both = [ones for ones in both if not set(checked).isdisjoint(ones)]
    both.sort(key=lambda ones: -len(set(checked).intersection(ones)))
    limits = Limits(matrix.memcpy(VALUES).fresh)
    with Writer(given.out) as write:
        for device in checked:
            try:
                speeds = bus_of(device)
            except Exception as error:  # noqa: BLE001 - whatever a driver raises is the finding
                said = f"page-locked memory: {type(error).__name__}: {error}"
                write({"device": str(device), "wrong": [said]})
                continue
            if speeds:
                limits.bus[place(device)] = speeds
                write({"bus": str(device), **speeds})
        for source, target in both:
            if time.monotonic() > BEGAN + given.seconds:
                raise SystemExit("the time was over before all pairs were tried")
            write(pair(source, target, limits))
        for device in checked:
            write(alone(device))


if __name__ == "__main__":
    main()
