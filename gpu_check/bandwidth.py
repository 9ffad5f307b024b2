"""What each device's memory gives and takes in a second: the limit of most kernels."""

from __future__ import annotations

import argparse
import time

from part import Writer, arguments

import portarray as pa

SIZES = (2**30, 2**28, 2**26)  # bytes, beyond caches where there is room
LONG = 1.0  # seconds after which a device gets no more turns
LEAST = 3  # turns
SHARE = 8  # of the free memory that is taken at most: one part in this many


def bandwidth(name: str) -> dict[str, object]:
    """Return bytes that are read and written in a second while a large array is copied."""
    device = pa.device(name)
    free = pa.memory(device).free
    size = next((n for n in SIZES if free is None or SHARE * n <= free), SIZES[-1])
    x = pa.ones(size // 4, dtype=pa.float32, device=device)
    took: list[float] = []
    while len(took) < LEAST or sum(took) < LONG:
        pa.synchronize(device)
        began = time.perf_counter()
        y = pa.asarray(x, copy=True)
        pa.synchronize(device)
        took.append(time.perf_counter() - began)
        del y
    return {"device": name, "bytes": size, "bytes_per_second": 2 * size / min(took)}


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("devices", nargs="+")


if __name__ == "__main__":
    given = arguments(__doc__, _options)
    with Writer(given.out) as write:
        for one in given.devices:
            write(bandwidth(str(pa.device(one))))
