"""Every ordered pair of devices with a checked one in it: bits compared, speed measured."""

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
    row: dict[str, Any] = {"source": source, "target": target, "wrong": wrong(source, target)}
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
