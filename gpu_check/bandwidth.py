"""The memory bandwidth of each device, which limits most kernels."""

from __future__ import annotations

import time

from part import Writer, arguments

import portarray as pa

SIZES = (2**30, 2**28, 2**26)  # bytes, beyond caches where there is room
LONG = 1.0  # seconds after which a device gets no more turns
MIN_TURNS = 3
SHARE = 8  # at most this fraction of the free memory is used: 1 / SHARE


def bandwidth(name: str) -> dict[str, object]:
    """Return the bytes read and written per second while copying a large array."""
    device = pa.device(name)
    free = pa.memory(device).free
    size = next((n for n in SIZES if free is None or SHARE * n <= free), SIZES[-1])
    x = pa.ones(size // 4, dtype=pa.float32, device=device)
    took: list[float] = []
    while len(took) < MIN_TURNS or sum(took) < LONG:
        pa.synchronize(device)
        start = time.perf_counter()
        y = pa.asarray(x, copy=True)
        pa.synchronize(device)
        took.append(time.perf_counter() - start)
        del y
    return {"device": name, "bytes": size, "bytes_per_second": 2 * size / min(took)}


if __name__ == "__main__":
    options = arguments(__doc__, "devices")
    with Writer(options.out) as write:
        for source in options.devices:
            write(bandwidth(str(pa.device(source))))
