"""One conformance suite on one device: ours, programs, gradients or the official one."""

from __future__ import annotations

import time
from pathlib import Path

from part import Writer, arguments
from portarray_conformance import Result, all_cases, portarray_target
from portarray_conformance import run as run_ours
from portarray_conformance.gradients import CASES, run_cases
from portarray_conformance.gradients import run_programs as run_gradients_of_programs
from portarray_conformance.programs.suite import run_programs

FIRST = 5  # inputs of each case in the first round, which reaches every name
MORE = 20
PROGRAMS = 50  # in each round


def ours(device: str, write: Writer, seconds: float) -> None:
    """Run our suite in rounds with different inputs until the time is over."""
    until = time.monotonic() + seconds
    target = portarray_target(device)
    cases = all_cases()
    previous = 0.0
    for seed in range(1_000_000):
        started = time.monotonic()
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
        previous = time.monotonic() - started
        if time.monotonic() + previous > until:
            return


def programs(device: str, write: Writer, seconds: float) -> None:
    """Run random programs until the time is over."""
    until = time.monotonic() + seconds
    target = portarray_target(device)
    for seed in range(1_000_000):
        for result in run_programs(target, PROGRAMS, seed):
            write(row(result))
        if time.monotonic() > until:
            return


def gradients(device: str, write: Writer, seconds: float) -> None:
    """Run every gradient case, then random programs, until the time is over."""
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
    """Run the official suite once, with as many inputs as the time allows."""
    # Imported late: needs pytest plugins, which our suite does not.
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
    """Return a result for JSON."""
    return {
        "case": f"{result.function}: {result.aspect}",
        "status": result.status,
        "examples": result.examples,
        "example": result.example,
        "message": result.message,
        "reason": result.reason,
        "served": result.served,
    }


if __name__ == "__main__":
    flag = {"action": "store_true"}
    folder = {"type": Path, "metavar": "FOLDER"}
    options = arguments(__doc__, "device", official=folder, programs=flag, gradients=flag)
    with Writer(options.out) as out:
        if options.official is not None:
            official(options.device, options.official, out, options.seconds)
        else:
            run = programs if options.programs else gradients if options.gradients else ours
            run(options.device, out, options.seconds)
