"""Every kernel on one device, compared with the float64 reference until the time is over."""

from __future__ import annotations

import time

from part import STARTED, Writer, arguments

import portarray as pa
from portarray._verification.cases import DRAWN


def verified(device: str, write: Writer, until: float) -> None:
    """Verify all kernels with growing seeds."""
    for seed in range(1_000_000):
        for kernel in DRAWN:
            if seed and time.monotonic() > until:
                return
            result = pa.kernels.verify(device, kernel, seed=seed)
            for row in result.as_dict()["rows"]:
                write(row)


if __name__ == "__main__":
    options = arguments(__doc__, "device")
    with Writer(options.out) as out:
        verified(options.device, out, STARTED + options.seconds)
