"""Every ordered pair of devices with a checked one in it: bits compared, speed measured."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from part import Writer, arguments

import portarray as pa

LARGE = 64 * 2**20
TURNS = 5


def layouts(dtype: np.dtype[Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield arrays of a dtype whose bits cover the dtype, in every layout."""
    rng = np.random.default_rng(1)
    if dtype.kind == "b":
        base = rng.integers(0, 2, (6, 8)).astype(dtype)
    else:
        base = rng.integers(0, 256, 6 * 8 * dtype.itemsize, dtype=np.uint8).view(dtype)
        base = base.reshape(6, 8)
    yield "matrix", base
    yield "0-d", base[1, 2, ...]
    yield "empty", base[:0]
    yield "strided", base[::2, 1::3]
    yield "reversed", base[::-1, ::-1]
    yield "transposed", base.T
    yield "broadcast", np.broadcast_to(base[:1], (4, 8))


def same(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    """Tell whether two arrays agree in dtype, shape and every bit, those of NaN aside."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    # Hardware may quiet a signaling NaN on the way; that it is one is what must arrive.
    nan = x != x
    return bool((nan == (y != y)).all() and x[~nan].tobytes() == y[~nan].tobytes())


def wrong(source: str, target: str) -> list[str]:
    """Return what does not arrive as it left, or does not come back so."""
    found: list[str] = []
    info = pa.__array_namespace_info__()
    common = info.dtypes(device=source).keys() & info.dtypes(device=target).keys()
    for name in sorted(common):
        for layout, values in layouts(np.dtype(name)):
            what = f"{name} {layout}"
            try:
                x = pa.asarray(values, device=source, copy=True)
                there = x.to_device(target)
                back = there.to_device(source)
            except Exception as error:  # noqa: BLE001 - whatever a driver raises is the finding
                found.append(f"{what}: {type(error).__name__}: {error}")
                continue
            for way, got in (("there", there), ("and back", back)):
                if not same(np.asarray(values), np.asarray(got.to_device("numpy"))):
                    found.append(f"{what}: other values {way}")
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
