"""Thousands of random moves between devices: values stay right, and memory stays flat.

Walks (``walks.py``) go from device to device at random: one after the other first, then in several
threads at once that also hand arrays to each other. Before anything is measured every dtype, layout
and view is moved once on every device, and then such runs are made until the resident size stays
the same, a few times at most: libraries load and build much that stays, dpnp two megabytes for each
of its kernels. Each run has moves of its own, drawn from a seed of its own. The resident size is
read after each run, after ``gc.collect()`` and ``pa.reclaim()``, and compared with that before the
first measured one; ``--rounds`` makes more runs, in which a slow leak adds up. What libraries count
as in use and how many objects Python has is printed too: both show a leak long before the size
does. (All threads share one heap, for glibc keeps what was freed on the heaps of threads, by random
amounts.)

The exit status is 1 where a value was wrong, a call raised what it should not, or memory grew. A
run that makes no move for ``--stall`` seconds prints what every thread does, and ends with 1 too.

    python benchmarks/soak.py [--moves N] [--threads N] [--rounds N] [--seed N] [--stall SECONDS]
                              [--device DEVICE ...] [--no-rehearsal] [--json soak.json]
"""

from __future__ import annotations

import argparse
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
from installed import optional
from walks import Mailbox, Tally, Walk, rehearse

import portarray as pa

GROWTH = 0.02  # of the resident size, that is allowed between warm-up and end
WARM_UPS = 6  # most runs before memory is looked at; threads have heaps that fill in the first few
STALL = 60.0  # seconds without a move after which something hangs

Run = Callable[[int], Tally]
"""Makes moves from a seed."""


@dataclass(frozen=True, slots=True)
class Held:
    """What is held while no array is alive any more."""

    resident: int  # bytes of this process that lie in memory
    objects: int  # that Python's garbage collector knows
    used: dict[str, int]  # bytes in use by the account of each device that keeps one

    def growth(self, earlier: Held) -> float:
        """By how much the resident size grew since, as a share."""
        return self.resident / earlier.resident - 1


@dataclass(slots=True)
class Phase:
    """What one part of the run did, and what was held before and after it."""

    name: str
    before: Held  # before the first part of all
    after: Held
    seconds: float
    tally: Tally

    @property
    def growth(self) -> float:
        """By how much the resident size grew since before the first part, as a share."""
        return self.after.growth(self.before)

    def report(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "name": self.name,
            "moves": self.tally.moves,
            "seconds": self.seconds,
            "refused": self.tally.refused,
            "wrong": self.tally.wrong,
            "errors": self.tally.errors,
            "resident_before": self.before.resident,
            "resident_after": self.after.resident,
            "growth": self.growth,
            "objects_before": self.before.objects,
            "objects_after": self.after.objects,
            "used_before": self.before.used,
            "used_after": self.after.used,
            "routes": dict(sorted(self.tally.routes.items())),
        }


@dataclass(slots=True)
class Watchdog:
    """Ends the process with all threads' stacks where nothing moves for long.

    It waits in a thread that needs no Python, so that it sees also who keeps the interpreter lock.
    """

    stall: float  # seconds; 0 never ends it
    _set: float = field(default=0.0, init=False)

    def moved(self) -> None:
        """Note that something moved; for any thread."""
        now = time.monotonic()
        # Each setting ends a thread and starts one.
        if self.stall and now - self._set > self.stall / 20:
            self._set = now
            faulthandler.dump_traceback_later(self.stall, exit=True)

    def stop(self) -> None:
        """Watch no longer."""
        if self.stall:
            faulthandler.cancel_dump_traceback_later()


def share_one_heap() -> None:
    """Let all threads allocate from one heap, where glibc would give each its own.

    What was freed at the end of those heaps stays resident, and no call gives it back: up to 64 MB
    each, more than the leaks that are looked for. To be called before other threads allocate.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


_M_ARENA_MAX = -8  # as malloc.h has it


def held(devices: Sequence[pa.Device]) -> Held:
    """Return what is held once all that can go is gone."""
    for _ in range(2):  # what one library lets go of may be what another one holds
        gc.collect()
        pa.synchronize()
        pa.reclaim()
    gc.collect()
    used = {str(one): pa.memory(one).used for one in devices}
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


def at_once(
    moves: int, threads: int, seed: str, devices: Sequence[pa.Device], moved: Callable[[], None]
) -> Tally:
    """Make so many moves in all, in several threads that hand arrays to each other."""
    mailbox = Mailbox()
    walks = [Walk(f"{seed}/{number}", devices, mailbox, moved) for number in range(threads)]
    each = max(1, moves // threads)
    running = [threading.Thread(target=walk.run, args=(each,)) for walk in walks]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    total = Tally()
    for walk in walks:
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
    """Make moves in a row and then from threads at once, as often as asked; return what each did.

    Parameters
    ----------
    moves, threads, seed, devices
        How many moves each part makes, in how many threads (0 leaves that part out), where the
        seeds begin, and among which devices.
    rounds : int
        How often both parts are made once memory has settled.
    stall : float
        Seconds without a move after which the process is ended; 0 waits for ever.
    rehearsed : bool
        Whether every dtype, layout and view is moved once before anything else.
    tell : callable
        Called with each part that is done.
    """
    watchdog = Watchdog(stall)

    def in_a_row(number: int) -> Tally:
        walk = Walk(f"{seed}/{number}", devices, moved=watchdog.moved)
        walk.run(moves)
        return walk.tally

    parts: dict[str, Run] = {"in a row": in_a_row}
    if threads:
        parts[f"{threads} threads"] = lambda number: at_once(
            moves, threads, f"{seed}/{number}", devices, watchdog.moved
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
    """Make every part until memory stays about the same, and then so many rounds that count."""
    numbers = count()
    warm = Tally()
    before: Held | None = None
    for _ in range(WARM_UPS):
        earlier = before
        for run in parts.values():
            warm.add(run(next(numbers)))
        before = held(devices)
        watchdog.moved()
        if earlier is not None and before.growth(earlier) < GROWTH / 4:
            break
    assert before is not None
    phases: list[Phase] = []
    for _ in range(rounds):
        for name, run in parts.items():
            started = time.perf_counter()
            tally = run(next(numbers))
            seconds = time.perf_counter() - started
            if not phases:  # what went wrong before counts too
                tally.wrong += warm.wrong
                tally.errors[:0] = warm.errors
            phases.append(Phase(name, before, held(devices), seconds, tally))
            watchdog.moved()
            tell(phases[-1])
    return phases


def show(phase: Phase) -> None:
    """Print what a part did and what went wrong."""
    tally, before, after = phase.tally, phase.before, phase.after
    more = {name: after.used[name] - nbytes for name, nbytes in before.used.items()}
    in_use = ", ".join(f"{name} {nbytes:+,}" for name, nbytes in more.items() if nbytes)
    print(
        f"{phase.name}: {tally.moves:,} moves in {phase.seconds:.1f} s, {tally.refused:,} "
        f"refused as they must be, {tally.wrong} wrong; resident {before.resident / 2**20:.1f} → "
        f"{after.resident / 2**20:.1f} MiB ({phase.growth:+.2%}), objects "
        f"{after.objects - before.objects:+,}, bytes in use {in_use or 'as before'}",
        flush=True,
    )
    for text in tally.errors:
        print(f"  {text}")


def main() -> int:
    """Run, print, and write JSON where it is asked for; return 1 where anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--moves", type=int, default=10_000, help="moves in a row, and at once")
    parser.add_argument("--threads", type=int, default=8, help="0 leaves the threads out")
    parser.add_argument("--rounds", type=int, default=1, help="how often, with new moves each time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--no-rehearsal",
        action="store_true",
        help="begin with random moves, for a short look in which memory does not matter",
    )
    parser.add_argument(
        "--stall",
        type=float,
        default=STALL,
        metavar="SECONDS",
        help="how long no move may be made until this ends with all stacks; 0 waits for ever",
    )
    parser.add_argument(
        "--device",
        action="append",
        metavar="DEVICE",
        help="move among these devices; may be repeated. By default every functional device",
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    if options.moves < 1 or options.threads < 0 or options.rounds < 1 or options.stall < 0:
        parser.error("--moves and --rounds are 1 or more, --threads and --stall 0 or more")
    try:
        devices = [pa.device(text) for text in options.device or map(str, pa.devices())]
    except pa.errors.PortarrayError as error:
        parser.error(f"--device: {error}")
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
