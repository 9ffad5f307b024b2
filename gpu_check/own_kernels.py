"""User kernels on one device: the cases of the tests beside what NumPy says."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from part import BEGAN, Writer, arguments

import portarray as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kernel_language"))

from cases.case import Case, all_cases  # type: ignore[import-not-found]


def checked(case: Case, device: str) -> tuple[str, str]:
    """Return how a case ended, and what was wrong."""
    place = pa.device(device)
    launcher = place._backend.launcher(place.native)
    if isinstance(launcher, str):
        return "not run", launcher
    if case.atomics64 and not launcher.atomics64:
        return "not run", "no 64-bit atomic functions"
    try:
        for dtype in case.dtypes():
            pa.ones(1, dtype=dtype, device=device)
    except TypeError as error:
        return "not run", str(error)
    kernel = pa.kernel(case.kernel, static=case.static)
    try:
        arguments_there = case.placed(lambda array: pa.asarray(array, device=device, copy=True))
        out = kernel(*arguments_there, ndrange=case.ndrange, group=case.group)
        several = out if isinstance(out, tuple) else (out,)
        case.check(tuple(place._backend.read_host(x.native, place.native) for x in several))
    except Exception as error:  # noqa: BLE001 - whatever is wrong is told
        return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device")


if __name__ == "__main__":
    given = arguments(__doc__, _options)
    with Writer(given.out) as out:
        for case in all_cases():
            if time.monotonic() > BEGAN + given.seconds:
                break
            status, message = checked(case, given.device)
            out({"case": case.name, "status": status, "examples": 1, "message": message})
