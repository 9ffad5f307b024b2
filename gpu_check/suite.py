"""One suite on one device: ours, programs, gradients or the official one; as time allows."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from part import Writer, arguments
from portarray_conformance import Result, all_cases, portarray_target
from portarray_conformance import run as run_ours
from portarray_conformance.gradients import CASES, run_cases
from portarray_conformance.gradients import run_programs as run_gradients_of_programs
from portarray_conformance.programs.suite import run_programs

FIRST = 5  # inputs of each case in the first round: every name is reached before any is deepened
MORE = 20
PROGRAMS = 50  # drawn in each round


def ours(device: str, write: Writer, seconds: float) -> None:
    """Run our suite round by round, each with inputs of its own, until the time is over."""
    until = time.monotonic() + seconds
    target = portarray_target(device)
    cases = all_cases()
    before = 0.0
    for seed in range(1_000_000):
        began = time.monotonic()
        for case in cases:
            if seed and time.monotonic() > until:
                return
            run_ours(
                target,
                [case],
                examples=MORE if seed else FIRST,
                seed=seed,
                quick=True,
                on_result=lambda result: write(row(result)),
            )
        before = time.monotonic() - began
        if time.monotonic() + before > until:
            return


def programs(device: str, write: Writer, seconds: float) -> None:
    """Run drawn programs, round by round, until the time is over."""
    until = time.monotonic() + seconds
    target = portarray_target(device)
    for seed in range(1_000_000):
        for result in run_programs(target, PROGRAMS, seed):
            write(row(result))
        if time.monotonic() > until:
            return


def gradients(device: str, write: Writer, seconds: float) -> None:
    """Run every case of the suite of gradients, then drawn programs, until the time is over."""
    until = time.monotonic() + seconds
    target = portarray_target(device)
    for case in CASES:
        for result in run_cases(target, [case], examples=1, seed=0):
            write(row(result))
        if time.monotonic() > until:
            return
    for seed in range(1_000_000):
        for result in run_gradients_of_programs(target, PROGRAMS, seed):
            write(row(result))
        if time.monotonic() > until:
            return


def official(device: str, folder: Path, write: Writer, seconds: float) -> None:
    """Run the official suite once, with as many inputs as the time may allow."""
    # Late: it needs pytest and its plugins, which our suite does without.
    from portarray_conformance.official import run_official
    from portarray_conformance.official_suite import find_suite

    target = portarray_target(device)
    # About 60 s for 10 inputs of each test on a fast device.
    examples = max(3, min(100, int(seconds / 10)))
    run_official(
        find_suite(folder),
        target,
        examples=examples,
        on_result=lambda result: write(row(result)),
    )


def row(result: Result) -> dict[str, object]:
    """Return what is kept of a result."""
    return {
        "case": f"{result.function}: {result.aspect}",
        "status": result.status,
        "examples": result.examples,
        "example": result.example,
        "message": result.message,
        "reason": result.reason,
        "served": result.served,
    }


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device")
    parser.add_argument("--official", type=Path, metavar="FOLDER")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--gradients", action="store_true")


if __name__ == "__main__":
    given = arguments(__doc__, _options)
    with Writer(given.out) as out:
        if given.official is not None:
            official(given.device, given.official, out, given.seconds)
        else:
            drawn = programs if given.programs else gradients if given.gradients else ours
            drawn(given.device, out, given.seconds)
