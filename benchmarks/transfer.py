"""What it costs to move an array from each device to each other.

For each ordered pair of devices, ``x.to_device(device)`` of one large array is measured beside
NumPy's copies of the same bytes, out of the same memory where NumPy can read it, and what a user
would write by hand (by_hand.py). The copies are the units:

- *warm*: ``np.copyto(y, x)`` into memory that was written before;
- *fresh*: ``x.copy()`` into memory that the system hands out while it is written, as it must for
  every move. NumPy asks for huge pages (2 MiB), of which that takes few;
- *pages*: a copy into fresh memory of the system's usual pages (4 KiB), which is what ``malloc``
  gives to libraries that do not ask for more, such as MLX. Handing out the pages then takes longer
  than the copy. ``GLIBC_TUNABLES=glibc.malloc.hugetlb=1`` in the environment changes that on Linux.

Then the same calls on four elements show what a call costs that copies nothing.

Everything about a pair is measured side by side in one process: turn after turn, each candidate
once in an order that is shuffled anew, each result waited for and released, and the shortest time
of each counts. Figures are ratios; bare times differ from machine to machine. A copy into fresh
memory is measured twice, under two names: what lies between the two is noise. The targets are
judged and printed, and nothing fails: this is a measurement, not a test.

    python benchmarks/transfer.py [--devices DEVICE ...] [--repeats N] [--megabytes N]
        [--json transfer.json] [--picture transfer.svg]

``--read transfer.json`` takes the figures of an earlier run, to print or draw them.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from by_hand import by_hand, function
from overhead import finisher
from promises import Target, show_targets

import portarray as pa
from portarray._cli.bench.report import environment
from timing import shortest_times

TINY = 4
MEGABYTE = 1_000_000
TARGET_COPY = 1.2  # times one copy into fresh memory
TARGET_CALL = 15e-6
NOISE = 0.05  # the least that two measurements of one thing may differ
MOST_NOISE = 0.15  # the most that counts; with more the machine was busy, and nothing is proved

# Read by libraries when they are imported. Threads that wait by spinning take the processor from
# the candidate whose turn is next.
WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}

WARM = "np.copyto(y, x)"
FRESH = "x.copy()"
AGAIN = "x.copy() again"
PAGES = "a copy into small pages"
OURS = "x.to_device(device)"


@dataclass(frozen=True, slots=True)
class Other:
    """A move by hand: the shortest time in seconds, and what it does not promise."""

    text: str
    note: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One pair of devices.

    Parameters
    ----------
    source, target : str
        The devices.
    route, copies, why
        As :func:`portarray.transfer_plan` says.
    seconds : float
        Of ``x.to_device(device)``, the shortest.
    fresh : float
        Seconds of one copy into fresh memory.
    to_warm, to_fresh, to_pages : float
        portarray's time as a multiple of one copy into memory of each kind.
    noise : float
        By how much two measurements of one copy differed, relatively.
    others : list of Other
        What is written by hand.
    to_hand : float or None
        The time as a multiple of the fastest way by hand that promises the same.
    """

    source: str
    target: str
    route: str
    copies: int
    why: str
    seconds: float
    fresh: float
    to_warm: float
    to_fresh: float
    to_pages: float
    noise: float
    others: list[Other]
    to_hand: float | None


@dataclass(frozen=True, slots=True)
class Call:
    """One call on four elements that copies nothing; times in seconds."""

    source: str
    target: str
    seconds: float
    others: list[Other]


def pairs(devices: Sequence[pa.Device]) -> list[tuple[pa.Device, pa.Device]]:
    """Return every ordered pair of different devices."""
    return [(a, b) for a in devices for b in devices if a is not b]


def moves(x: pa.Array, target: pa.Device, *, finished: bool) -> dict[str, Callable[[], object]]:
    """Return ways to bring an array to a device: portarray's first, then those by hand."""
    native = x.native
    finish = finisher(target) if finished else None
    ours = x.to_device
    found: dict[str, Callable[[], object]] = {
        OURS: (lambda: ours(target)) if finish is None else (lambda: finish(ours(target).native))
    }
    for way in by_hand(x.device, target):
        run = function(way, target)
        found[way.text] = _run(run, native, finish)
    return found


def _run(
    run: Callable[[Any], Any], native: Any, finish: Callable[[Any], object] | None
) -> Callable[[], object]:
    if finish is None:
        return lambda: run(native)
    return lambda: finish(run(native))


def large(
    devices: Sequence[pa.Device], nbytes: int, repeats: int, tell: Callable[[Row], object]
) -> list[Row]:
    """Measure every pair with a large array."""
    values = np.random.default_rng(7).random(max(1, nbytes // 4), np.float32)
    warm = np.empty_like(values)
    rows = []
    for source, target in pairs(devices):
        x = pa.asarray(values, device=source, copy=True)
        pa.synchronize(source)
        plan = pa.transfer_plan(x, target)
        ways = {**copies(_read(x), warm), **moves(x, target, finished=True)}
        best = shortest_times(ways, repeats, 0.0)
        ours, fresh = best[OURS], min(best[FRESH], best[AGAIN])
        others = [Other(way.text, way.note, best[way.text]) for way in by_hand(source, target)]
        fair = [other.seconds for other in others if not other.note]
        row = Row(
            str(source),
            str(target),
            plan.route,
            plan.copies,
            plan.why,
            seconds=ours,
            fresh=fresh,
            to_warm=ours / best[WARM],
            to_fresh=ours / fresh,
            to_pages=ours / best[PAGES],
            noise=abs(best[FRESH] - best[AGAIN]) / fresh,
            others=others,
            to_hand=ours / min(fair) if fair else None,
        )
        tell(row)
        rows.append(row)
    return rows


def copies(x: np.ndarray[Any, Any], warm: np.ndarray[Any, Any]) -> dict[str, Callable[[], object]]:
    """Return the units: copies of an array into memory of each kind."""
    return {
        WARM: lambda: np.copyto(warm, x),
        FRESH: x.copy,
        AGAIN: x.copy,
        PAGES: lambda: np.copyto(_pages(x.size), x),
    }


def _read(x: pa.Array) -> np.ndarray[Any, Any]:
    """Return the very memory of an array where NumPy can read it: how it lies there matters too."""
    transfer = x.device._backend
    if transfer.on_host(x.device.native):
        return transfer.to_host(x.native, copy=False)
    return np.asarray(x.to_device("numpy"))


def _pages(size: int) -> np.ndarray[Any, Any]:
    """Return fresh memory in the system's usual pages, as an array of float32."""
    private: dict[str, int] = {}
    if hasattr(mmap, "MAP_PRIVATE"):  # not on Windows
        private["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return np.frombuffer(mmap.mmap(-1, 4 * size, **private), np.float32)


def calls(devices: Sequence[pa.Device], repeats: int) -> list[Call]:
    """Measure the pairs that copy nothing with an array so small that the call is all there is."""
    values = np.ones(TINY, np.float32)
    found = []
    for source, target in pairs(devices):
        x = pa.asarray(values, device=source, copy=True)
        pa.synchronize(source)
        if pa.transfer_plan(x, target).copies:
            continue
        best = shortest_times(moves(x, target, finished=False), repeats, 1e-3)
        others = [Other(way.text, way.note, best[way.text]) for way in by_hand(source, target)]
        found.append(Call(str(source), str(target), best[OURS], others))
    return found


def targets(rows: Sequence[Row], tiny: Sequence[Call]) -> list[Target]:
    """Judge the promises by the figures, whose noise counts in portarray's favour."""
    found = []
    for row in rows:
        pair = f"{row.source} to {row.target}"
        noise = min(max(NOISE, row.noise), MOST_NOISE)
        if row.copies == 1:
            found.append(
                Target(
                    f"at most {TARGET_COPY} copies' time for one copy: {pair}",
                    f"{row.to_fresh:.2f}, noise {row.noise:.2f}",
                    row.to_fresh - noise <= TARGET_COPY,
                )
            )
        if row.copies and row.to_hand is not None:
            found.append(
                Target(
                    f"no slower than by hand: {pair}",
                    f"{row.to_hand:.2f}, noise {row.noise:.2f}",
                    row.to_hand <= 1 + noise,
                )
            )
    for call in tiny:
        found.append(
            Target(
                f"at most {TARGET_CALL * 1e6:.0f} µs for no copy: {call.source} to {call.target}",
                f"{call.seconds * 1e6:.1f} µs",
                call.seconds <= TARGET_CALL,
            )
        )
    return found


def show_head(nbytes: int) -> None:
    print(f"{nbytes / MEGABYTE:g} MB of float32; times as multiples of one copy of the same bytes")
    print(f"  warm   {WARM}, into memory that was written before")
    print(f"  fresh  {FRESH}, into memory that the system hands out for it, as for every move")
    print("  pages  the same in the system's usual pages, as most libraries' malloc has them")
    print("by hand: multiples of fresh too\n")
    print(f"{'from':<17} {'to':<17} {'route':<8} copies  warm fresh pages  by hand")


def show(row: Row) -> None:
    """Print one pair."""
    ways = [
        f"{other.seconds / row.fresh:>5.2f} {other.text}"
        + (f"  ({other.note})" if other.note else "")
        for other in row.others
    ] or ["    -"]
    print(
        f"{row.source:<17} {row.target:<17} {row.route:<8} {row.copies:>6} "
        f"{row.to_warm:>5.2f} {row.to_fresh:>5.2f} {row.to_pages:>5.2f}  {ways[0]}",
        *(f"{'':<70}{way}" for way in ways[1:]),
        sep="\n",
        flush=True,
    )


def show_calls(tiny: Sequence[Call]) -> None:
    print("\none call on four elements that copies nothing, in µs\n")
    for call in tiny:
        ways = "; ".join(f"{other.seconds * 1e6:.2f} {other.text}" for other in call.others)
        print(f"{call.source:<17} {call.target:<17} {call.seconds * 1e6:>6.2f}  by hand {ways}")


def measured(devices: Sequence[pa.Device], nbytes: int, repeats: int) -> dict[str, Any]:
    """Measure, print, and return the report."""
    nbytes = max(1, nbytes // 4) * 4
    show_head(nbytes)
    rows = large(devices, nbytes, repeats, show)
    tiny = calls(devices, repeats)
    judged = targets(rows, tiny)
    return {
        **environment(devices),
        "nbytes": nbytes,
        "repeats": repeats,
        "rows": [asdict(row) for row in rows],
        "calls": [asdict(call) for call in tiny],
        "targets": [asdict(target) for target in judged],
    }


def read(file: Path) -> dict[str, Any]:
    """Return an earlier report, and print its pairs."""
    report: dict[str, Any] = json.loads(file.read_text("utf-8"))
    show_head(report["nbytes"])
    for row in report["rows"]:
        show(Row(**{**row, "others": [Other(**other) for other in row["others"]]}))
    return report


def show_rest(report: dict[str, Any]) -> None:
    """Print the calls and the targets of a report."""
    show_calls(
        [
            Call(**{**call, "others": [Other(**other) for other in call["others"]]})
            for call in report["calls"]
        ]
    )
    show_targets([Target(**target) for target in report["targets"]])


def main() -> None:
    """Measure, print, and write JSON and the picture where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--devices",
        nargs="+",
        metavar="DEVICE",
        help="measure between these, as portarray.device takes them. By default every functional "
        "device",
    )
    parser.add_argument("--repeats", type=int, default=20, help="turns of each candidate")
    parser.add_argument("--megabytes", type=int, default=64, help="size of the large array")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--picture", type=Path, help="also draw them: a name that ends in .svg")
    parser.add_argument("--read", type=Path, help="take the figures of this file; measure nothing")
    options = parser.parse_args()
    for name in ("repeats", "megabytes"):
        value = getattr(options, name)
        if value < 1:
            parser.error(f"--{name} {value}: at least 1 is needed")
    os.environ.update(WAITING)
    if options.read is not None:
        try:
            report = read(options.read)
        except (OSError, ValueError) as error:
            parser.error(f"--read: {error}")
    else:
        try:
            named = map(pa.device, options.devices or map(str, pa.devices()))
            devices = list(dict.fromkeys(named))
        except pa.errors.PortarrayError as error:
            parser.error(f"--devices: {error}")
        if len(devices) < 2:
            parser.error(f"--devices: at least two are needed, not {devices[0]} alone")
        report = measured(devices, options.megabytes * MEGABYTE, options.repeats)
    show_rest(report)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
    if options.picture is not None:
        from picture import draw  # what it needs is not installed everywhere

        draw(report, options.picture)


if __name__ == "__main__":
    main()
