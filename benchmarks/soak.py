"""Thousands of random moves between devices: values stay correct, and memory stays constant.

Walks (``random_walks.py``) move arrays between random devices: first sequentially, then in several
threads that exchange arrays. A rehearsal moves every dtype, layout and view once on every device,
and warm-up runs follow until memory settles, because libraries cache much (dpnp two megabytes per
kernel). Each run has a different seed. After each run, ``gc.collect()`` and ``pa.reclaim()``, the
resident size is compared with the one before the first measured run; ``--rounds`` adds runs, so
that slow leaks add up. The bytes in use by libraries and the number of Python objects are printed,
too: they show leaks earlier. All threads share one heap, because glibc keeps freed memory on the
heaps of threads.

The exit status is 1 if a value was wrong, a call raised an unexpected error, or memory grew. A run
without a move for ``--stall`` seconds prints the stacks of all threads and exits with 1.

    python benchmarks/soak.py [--moves N] [--threads N] [--rounds N] [--seed N] [--stall SECONDS]
                              [--device DEVICE ...] [--no-rehearsal] [--json soak.json]
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import reports
from command_line import devices_of, parser_of
from installed import optional
from random_walks import Mailbox, Tally, Walk, rehearse

import portarray as pa

GROWTH = 0.02  # allowed growth of the resident size after the warm-up
WARM_UPS = 6  # maximum runs before measuring; the first few fill the heaps of threads
STALL = 60.0  # seconds without a move after which the run counts as hanging

Run = Callable[[int], Tally]
"""Makes moves from a seed."""


@dataclass(frozen=True, slots=True)
class Held:
    """Memory in use while no array is alive."""

    resident: int  # resident bytes of this process
    objects: int  # tracked by Python's garbage collector
    used: dict[str, int]  # bytes in use, by each device that reports them

    def growth(self, earlier: Held) -> float:
        """Return the relative growth of the resident size."""
        return self.resident / earlier.resident - 1


@dataclass(slots=True)
class Phase:
    """One part of the run, with the memory before and after it."""

    name: str
    start: Held  # before the first part
    end: Held
    seconds: float
    tally: Tally

    @property
    def growth(self) -> float:
        """The relative growth of the resident size."""
        return self.end.growth(self.start)

    def report(self) -> dict[str, Any]:
        """Return the phase for JSON."""
        return {
            "name": self.name,
            "moves": self.tally.moves,
            "seconds": self.seconds,
            "refused": self.tally.refused,
            "wrong": self.tally.wrong,
            "errors": self.tally.errors,
            "resident_before": self.start.resident,
            "resident_after": self.end.resident,
            "growth": self.growth,
            "objects_before": self.start.objects,
            "objects_after": self.end.objects,
            "used_before": self.start.used,
            "used_after": self.end.used,
            "routes": dict(sorted(self.tally.routes.items())),
        }


@dataclass(slots=True)
class Watchdog:
    """Prints all stacks and ends the process if nothing moves for too long.

    Its thread runs without Python, so it also works while another thread holds the GIL.
    """

    stall: float  # seconds; 0 never ends it
    _set: float = field(default=0.0, init=False)

    def moved(self) -> None:
        """Record a move; callable from any thread."""
        now = time.monotonic()
        # Each reset ends a thread and starts another one.
        if self.stall and now - self._set > self.stall / 20:
            self._set = now
            faulthandler.dump_traceback_later(self.stall, exit=True)

    def stop(self) -> None:
        """Stop watching."""
        if self.stall:
            faulthandler.cancel_dump_traceback_later()


def share_one_heap() -> None:
    """Make all threads allocate from one heap; call it before other threads allocate.

    glibc never returns freed memory of the threads' heaps, up to 64 MB each, which hides leaks.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


_M_ARENA_MAX = -8  # as malloc.h has it


def held(devices: Sequence[pa.Device]) -> Held:
    """Return the memory in use after releasing everything."""
    for _ in range(2):  # objects of one library may keep those of another alive
        gc.collect()
        pa.synchronize()
        pa.reclaim()
    gc.collect()
    used = {str(device): pa.memory(device).used for device in devices}
    return Held(
        _resident(),
        len(gc.get_objects()),
        {name: nbytes for name, nbytes in used.items() if nbytes is not None},
    )


def _resident() -> int:
    psutil = optional("psutil")
    if psutil is not None:
        return int(psutil.Process().memory_info().rss)
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def in_threads(
    moves: int, threads: int, seed: str, devices: Sequence[pa.Device], moved: Callable[[], None]
) -> Tally:
    """Make moves in several threads that exchange arrays."""
    mailbox = Mailbox()
    walkers = [Walk(f"{seed}/{index}", devices, mailbox, moved) for index in range(threads)]
    per_thread = max(1, moves // threads)
    running = [threading.Thread(target=walk.run, args=(per_thread,)) for walk in walkers]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    total = Tally()
    for walk in walkers:
        total.add(walk.tally)
    return total


def soak(
    moves: int,
    threads: int,
    seed: int,
    devices: Sequence[pa.Device],
    *,
    rounds: int = 1,
    stall: float = STALL,
    rehearsed: bool = True,
    tell: Callable[[Phase], None] = lambda phase: None,
) -> list[Phase]:
    """Make moves sequentially, then in threads, in each round; return all phases.

    Parameters
    ----------
    moves, threads, seed, devices
        The moves of each part, the threads (0 omits that part), the first seed and the devices.
    rounds : int
        Repetitions of both parts once memory has settled.
    stall : float
        Seconds without a move after which the process ends; 0 waits forever.
    rehearsed : bool
        Whether to move every dtype, layout and view once first.
    tell : callable
        Called with each finished phase.
    """
    watchdog = Watchdog(stall)

    def in_a_row(index: int) -> Tally:
        walk = Walk(f"{seed}/{index}", devices, moved=watchdog.moved)
        walk.run(moves)
        return walk.tally

    parts: dict[str, Run] = {"in a row": in_a_row}
    if threads:
        parts[f"{threads} threads"] = lambda run_index: in_threads(
            moves, threads, f"{seed}/{run_index}", devices, watchdog.moved
        )
    watchdog.moved()
    try:
        if rehearsed:
            rehearse(devices, watchdog.moved)
        return _measured(parts, rounds, devices, watchdog, tell)
    finally:
        watchdog.stop()


def _measured(
    parts: dict[str, Run],
    rounds: int,
    devices: Sequence[pa.Device],
    watchdog: Watchdog,
    tell: Callable[[Phase], None],
) -> list[Phase]:
    """Run every part until memory settles, then the measured rounds."""
    numbers = count()
    warm_up = Tally()
    held_before: Held | None = None
    for _ in range(WARM_UPS):
        earlier = held_before
        for run in parts.values():
            warm_up.add(run(next(numbers)))
        held_before = held(devices)
        watchdog.moved()
        if earlier is not None and held_before.growth(earlier) < GROWTH / 4:
            break
    assert held_before is not None
    phases: list[Phase] = []
    for _ in range(rounds):
        for name, run in parts.items():
            started = time.perf_counter()
            tally = run(next(numbers))
            seconds = time.perf_counter() - started
            if not phases:  # errors of the warm-up count, too
                tally.wrong += warm_up.wrong
                tally.errors[:0] = warm_up.errors
            phases.append(Phase(name, held_before, held(devices), seconds, tally))
            watchdog.moved()
            tell(phases[-1])
    return phases


def show(phase: Phase) -> None:
    """Print a phase and its errors."""
    tally, start, end = phase.tally, phase.start, phase.end
    more = {name: end.used[name] - nbytes for name, nbytes in start.used.items()}
    in_use = ", ".join(f"{name} {nbytes:+,}" for name, nbytes in more.items() if nbytes)
    print(
        f"{phase.name}: {tally.moves:,} moves in {phase.seconds:.1f} s, {tally.refused:,} "
        f"refused as they must be, {tally.wrong} wrong; resident {start.resident / 2**20:.1f} → "
        f"{end.resident / 2**20:.1f} MiB ({phase.growth:+.2%}), objects "
        f"{end.objects - start.objects:+,}, bytes in use {in_use or 'as before'}",
        flush=True,
    )
    for text in tally.errors:
        print(f"  {text}")


def main() -> int:
    """Run, print and write JSON; return 1 if anything was wrong."""
    parser = parser_of(__doc__, "--device")
    parser.add_argument("--moves", type=int, default=10_000, help="moves in a row, and at once")
    parser.add_argument("--threads", type=int, default=8, help="0 leaves the threads out")
    parser.add_argument("--rounds", type=int, default=1, help="how often, with new moves each time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--no-rehearsal",
        action="store_true",
        help="start with random moves, for a short run that ignores memory",
    )
    parser.add_argument(
        "--stall",
        type=float,
        default=STALL,
        metavar="SECONDS",
        help="time without a move after which the run ends; 0 waits forever",
    )
    options = parser.parse_args()
    if options.moves < 1 or options.threads < 0 or options.rounds < 1 or options.stall < 0:
        parser.error("--moves and --rounds must be at least 1, --threads and --stall at least 0")
    devices = devices_of(parser, options.device)
    phases: list[Phase] = []

    def tell(phase: Phase) -> None:
        show(phase)
        phases.append(phase)
        reports.write(_report(options.seed, devices, phases), options.json)

    soak(
        options.moves,
        options.threads,
        options.seed,
        devices,
        rounds=options.rounds,
        stall=options.stall,
        rehearsed=not options.no_rehearsal,
        tell=tell,
    )
    return int(any(phase.tally.wrong for phase in phases) or phases[-1].growth > GROWTH)


def _report(seed: int, devices: Sequence[pa.Device], phases: Sequence[Phase]) -> dict[str, Any]:
    return {
        "machine": {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "portarray": pa.__version__,
        },
        "devices": {str(d): {"name": d.name, "version": d._backend.version()} for d in devices},
        "seed": seed,
        "phases": [phase.report() for phase in phases],
    }


if __name__ == "__main__":
    share_one_heap()
    sys.exit(main())
