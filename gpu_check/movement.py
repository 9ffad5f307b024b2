"""Moves between each checked device and every other one: values, order, sharing and speed.

Also checks each device alone: page-locked memory, running out of memory, and bus bandwidth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from part import STARTED, Writer, arguments
from portarray_conformance import pairs, portarray_target

import portarray as pa
from portarray._movement import matrix, routes

LARGE = 64 * 2**20  # bytes of the timed array
STEPS = 40  # of work that is still running when its result is moved
BUSY = {"cpu": 2**21, "gpu": 2**24}  # elements: a step takes much longer than its launch


VALUES = np.ones(LARGE // 4, dtype=np.float32)


@dataclass(slots=True)
class Limits:
    """The fastest possible moves."""

    memcpy: float  # seconds of one copy of the large array in host memory
    # By DLPack type and index of a device: what bus_of returns.
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
    except Exception as error:  # noqa: BLE001  (drivers may raise anything)
        row["wrong"] = [f"{type(error).__name__}: {error}"]
    if not row["wrong"]:
        row |= timed(source, target, limits)
    return row


def wrong(source: pa.Device, target: pa.Device) -> list[str]:
    """Return values that a move there and back changes."""
    # Hardware may quiet a signaling NaN on the way; it must still be a NaN.
    return pairs.wrong(
        portarray_target(str(source)), source, target, "array.to_device", exact=False
    )


def broken(source: pa.Device, target: pa.Device, plan: pa.TransferPlan) -> list[str]:
    """Return violations of ordering and sharing."""
    problems = unshared(source, target) if plan.route == "dlpack" else []
    problems += late(source, target, plan)
    if streamed(source) or streamed(target):
        # Default streams wait for each other; these must be synchronized explicitly.
        with own_stream(source), own_stream(target):
            problems += [f"{text}, on separate streams" for text in late(source, target, plan)]
    return problems


def late(source: pa.Device, target: pa.Device, plan: pa.TransferPlan) -> list[str]:
    """Return values read before they were computed, or after they were overwritten."""
    problems: list[str] = []
    zeros = pa.zeros(busy(source), dtype=pa.float32, device=source)

    def under_way() -> pa.Array:
        x = zeros
        for _ in range(STEPS):
            x = x + 1.0
        return x

    def look(y: pa.Array, value: float, label: str) -> None:
        problems.extend(unlike(y, value, label))

    look(under_way().to_device(target), STEPS, "running work")
    look(pa.to_device(under_way(), target, non_blocking=True), STEPS, "moved without waiting")
    look(under_way().to_device(target) + 1.0, STEPS + 1, "used at once on the target")
    for copy in (None, True):
        x = under_way()
        y = x.to_device(target, copy=copy)
        if copy or plan.copies:
            x[...] = pa.asarray(-1.0, dtype=pa.float32, device=source)
        del x
        others = [zeros - 1.0 for _ in range(3)]  # takes the memory that was freed
        look(y, STEPS, "from a source that was written and freed")
        del others
    if plan.route == "dlpack" and not plan.copies:
        x = under_way()
        y = x.to_device(target)
        y[...] = pa.asarray(-2.0, dtype=pa.float32, device=target)
        pa.synchronize(target)
        look(x, -2.0, "shared memory, written by the target")
        x += 1.0
        pa.synchronize(source)
        look(y, -1.0, "shared memory, written by the source")
    return problems


def unshared(source: pa.Device, target: pa.Device) -> list[str]:
    """Return whether ``copy=False`` failed to share the memory of one GPU."""
    x = pa.ones(1000, dtype=pa.float32, device=source)
    try:
        y = x.to_device(target, copy=False)
    except ValueError:
        if source._backend.immutable and not target._backend.immutable:
            return []  # a writable array cannot share immutable memory
        raise
    here, there = address(x), address(y)
    return [] if here == there else [f"copy=False gave memory at {there}, not at {here}"]


def address(x: pa.Array) -> int | None:
    """Return the address of an array's memory, or None if it is unknown."""
    if x.device.platform != "cuda":
        return None
    pointer: int = x.native.__cuda_array_interface__["data"][0]
    return pointer


def streamed(device: pa.Device) -> bool:
    """Return whether a library uses the stream that a program selects."""
    return device.platform in ("cuda", "rocm") and device.library in ("torch", "cupy")


@contextmanager
def own_stream(device: pa.Device) -> Iterator[None]:
    """Run a library on a non-blocking stream where it has streams."""
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
    """Return the time of moving the large array, and ratios to its limits if it is copied."""
    (cell,) = matrix.row(VALUES, source, [target], measure=True)
    if cell.plan is None or cell.seconds is None:
        return {"wrong": [cell.problem]}
    if not cell.plan.copies:
        return {"seconds": cell.seconds}
    here, there = native_device(source), native_device(target)
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
    """Return violations on one device alone."""
    try:
        problems = locked(device) + exhausted(device)
    except Exception as error:  # noqa: BLE001  (drivers may raise anything)
        problems = [f"{type(error).__name__}: {error}"]
    return {"device": str(device), "wrong": problems}


def locked(device: pa.Device) -> list[str]:
    """Return values read too late from page-locked memory, which GPUs read asynchronously."""
    problems: list[str] = []
    memory = device._backend.pinned_copy(
        pa.zeros(busy(device), dtype=pa.float32, device=device).native
    )
    if memory is None:
        return problems
    for turn in range(5):
        memory[...] = turn
        x = pa.asarray(memory, device=device, copy=True)
        memory[...] = -1.0
        problems += unlike(x, turn, "from page-locked memory that was written at once")
        memory[...] = turn
        y = pa.to_device(memory, device, non_blocking=True, native=False) + 1.0
        problems += unlike(y, turn + 1, "from page-locked memory, without waiting,")
    return problems


def exhausted(device: pa.Device) -> list[str]:
    """Return violations after an allocation that exceeds a GPU's memory."""
    total = pa.memory(device).total
    if total is None or device.kind == "cpu" or device._backend.on_host(device.native):
        return []
    array = pa.ones(busy(device), dtype=pa.float32, device=device)
    try:
        more = pa.zeros((total // 2**20 + 1, 2**18), dtype=pa.float32, device=device)
        pa.synchronize(device)
        del more  # managed memory may exceed the card's
    except pa.errors.OutOfMemoryError:
        problems = unlike(array, 1.0, "there before memory ran out")
        pa.reclaim(device)
        return problems + unlike(array + 1.0, 2.0, "computed after memory ran out")
    return []


def bus_of(device: pa.Device) -> dict[str, float]:
    """Return the bandwidth between a card and page-locked memory, in bytes per second."""
    backend = device._backend
    x = backend.from_host(VALUES, device.native, copy=True)
    memory = backend.pinned_copy(x)
    if memory is None:  # another library may have some for this card
        return {}

    def to_card() -> None:
        backend.from_host(memory, device.native, copy=None)
        pa.synchronize(device)

    to_host = matrix.shortest(lambda: backend.pinned_copy(x))
    return {"to_host": LARGE / to_host, "to_card": LARGE / matrix.shortest(to_card)}


# --- both -----------------------------------------------------------------------------------------


def busy(device: pa.Device) -> int:
    """Return a number of elements that keeps a device busy."""
    return BUSY["cpu" if device.kind == "cpu" else "gpu"]


def unlike(x: pa.Array, value: float, label: str) -> list[str]:
    """Return a message with the number of elements that differ from a value."""
    values = x.device._backend.to_host(x.native, copy=True)
    different = int((values != value).sum())
    return [f"{label}: {different} of {values.size} numbers are wrong"] if different else []


def native_device(device: pa.Device) -> Any:
    """Return the DLPack type and index of a device."""
    return device._backend.dlpack_device_of(device.native)


def main() -> None:
    """Check every device and pair; pairs of two checked devices come first."""
    options = arguments(__doc__, "devices")
    checked = [pa.device(name) for name in options.devices]
    every = pa.devices()
    both = [pair for pair in permutations(every, 2) if not set(checked).isdisjoint(pair)]
    both.sort(key=lambda pair: -len(set(checked).intersection(pair)))
    limits = Limits(matrix.memcpy(VALUES).fresh)
    with Writer(options.out) as write:
        for device in checked:
            try:
                speeds = bus_of(device)
            except Exception as error:  # noqa: BLE001  (drivers may raise anything)
                problem = f"page-locked memory: {type(error).__name__}: {error}"
                write({"device": str(device), "wrong": [problem]})
                continue
            if speeds:
                limits.bus[native_device(device)] = speeds
                write({"bus": str(device), **speeds})
        for source, target in both:
            if time.monotonic() > STARTED + options.seconds:
                raise SystemExit("the time ended before all pairs were tried")
            write(pair(source, target, limits))
        for device in checked:
            write(alone(device))


if __name__ == "__main__":
    main()
