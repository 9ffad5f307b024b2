"""Every kernel on one device against the float64 reference, as often as the time allows."""

from __future__ import annotations

import argparse
import time

from part import BEGAN, Writer, arguments

import portarray as pa
from portarray._verification.cases import DRAWN


def verified(device: str, write: Writer, until: float) -> None:
    """Verify all kernels with one seed after the other, until the time is over."""
    for seed in range(1_000_000):
        for kernel in DRAWN:
            if seed and time.monotonic() > until:
                return
            found = pa.kernels.verify(device, kernel, seed=seed)
            for row in found.as_dict()["rows"]:
                write(row)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device")


if __name__ == "__main__":
    given = arguments(__doc__, _options)
    with Writer(given.out) as out:
        verified(given.device, out, BEGAN + given.seconds)
