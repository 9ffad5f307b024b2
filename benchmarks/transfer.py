"""The cost of moving an array between every pair of devices.

For each ordered pair of devices, ``x.to_device(device)`` on a large array is compared with NumPy's
copies of the same bytes and with the code that users write (by_hand.py). The copies are the units:

- *warm*: ``np.copyto(y, x)`` into memory that was written before;
- *fresh*: ``x.copy()`` into newly allocated memory, as every move needs. NumPy asks for huge pages
  (2 MiB);
- *pages*: a copy into new memory with the system's usual pages (4 KiB), which ``malloc`` gives to
  libraries such as MLX. Mapping the pages then takes longer than the copy. On Linux,
  ``GLIBC_TUNABLES=glibc.malloc.hugetlb=1`` changes that.

The same calls on four elements measure moves that copy nothing.

Candidates alternate in random order in one process; results are waited for and released. The
shortest times count, and results are ratios. A copy into fresh memory is measured twice under two
names; the difference is noise. Missed targets are printed and raise no error.

    python benchmarks/transfer.py [--devices DEVICE ...] [--repeats N] [--megabytes N]
        [--json transfer.json] [--picture transfer.svg]

``--read transfer.json`` prints or draws the results of an earlier run.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from by_hand import by_hand, function
from command_line import SLEEPING, devices_of, parser_of, require_positive
from overhead import finisher
from promises import Target, show_targets
from timing import shortest_times

import portarray as pa
from portarray._cli.bench.report import environment

TINY = 4
MEGABYTE = 1_000_000
TARGET_COPY = 1.2  # times one copy into fresh memory
TARGET_CALL = 15e-6
NOISE = 0.05  # minimum difference between two measurements of one call
MOST_NOISE = 0.15  # with more, the machine was busy and nothing is proved

WARM = "np.copyto(y, x)"
FRESH = "x.copy()"
AGAIN = "x.copy() again"
PAGES = "a copy into small pages"
OURS = "x.to_device(device)"


@dataclass(frozen=True, slots=True)
class Other:
    """A move by hand: its shortest time in seconds, and the guarantee that it lacks."""

    text: str
    note: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One pair of devices."""

    source: str  # the devices
    target: str
    route: str  # as :func:`portarray.transfer_plan` says
    copies: int
    why: str
    seconds: float  # of ``x.to_device(device)``, the shortest
    fresh: float  # seconds of one copy into fresh memory
    to_warm: float  # portarray's time as a multiple of one copy into memory of each kind
    to_fresh: float
    to_pages: float
    noise: float  # by how much two measurements of one copy differed, relatively
    others: list[Other]  # what is written by hand
    # The time as a multiple of the fastest way by hand that promises the same.
    to_hand: float | None


@dataclass(frozen=True, slots=True)
class Call:
    """One call on four elements without a copy; times in seconds."""

    source: str
    target: str
    seconds: float
    others: list[Other]


def pairs(devices: Sequence[pa.Device]) -> list[tuple[pa.Device, pa.Device]]:
    """Return every ordered pair of different devices."""
    return [(a, b) for a in devices for b in devices if a is not b]


def ways_to_move(
    x: pa.Array, target: pa.Device, *, finished: bool
) -> dict[str, Callable[[], object]]:
    """Return the candidates of a move: portarray first, then by hand."""
    native = x.native
    finish = finisher(target) if finished else None
    ours = x.to_device
    actions: dict[str, Callable[[], object]] = {
        OURS: (lambda: ours(target)) if finish is None else (lambda: finish(ours(target).native))
    }
    for method in by_hand(x.device, target):
        run = function(method, target)
        actions[method.text] = _run(run, native, finish)
    return actions


def _run(
    run: Callable[[Any], Any], native: Any, finish: Callable[[Any], object] | None
) -> Callable[[], object]:
    if finish is None:
        return lambda: run(native)
    return lambda: finish(run(native))


def large(
    devices: Sequence[pa.Device], nbytes: int, repeats: int, tell: Callable[[Row], object]
) -> list[Row]:
    """Measure a large array on every pair of devices."""
    values = np.random.default_rng(7).random(max(1, nbytes // 4), np.float32)
    destination = np.empty_like(values)
    rows = []
    for source, target in pairs(devices):
        x = pa.asarray(values, device=source, copy=True)
        pa.synchronize(source)
        plan = pa.transfer_plan(x, target)
        ways = {**copies(_read(x), destination), **ways_to_move(x, target, finished=True)}
        best = shortest_times(ways, repeats, 0.0)
        ours, fresh = best[OURS], min(best[FRESH], best[AGAIN])
        others = [
            Other(method.text, method.note, best[method.text]) for method in by_hand(source, target)
        ]
        fair = [way_by_hand.seconds for way_by_hand in others if not way_by_hand.note]
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


def copies(
    x: np.ndarray[Any, Any], destination: np.ndarray[Any, Any]
) -> dict[str, Callable[[], object]]:
    """Return copies of an array into each kind of memory."""
    return {
        WARM: lambda: np.copyto(destination, x),
        FRESH: x.copy,
        AGAIN: x.copy,
        PAGES: lambda: np.copyto(_pages(x.size), x),
    }


def _read(x: pa.Array) -> np.ndarray[Any, Any]:
    """Return an array's memory without a copy where NumPy can read it."""
    transfer = x.device._backend
    if transfer.on_host(x.device.native):
        return transfer.to_host(x.native, copy=False)
    return np.asarray(x.to_device("numpy"))


def _pages(size: int) -> np.ndarray[Any, Any]:
    """Return new float32 memory in the system's usual pages."""
    private: dict[str, int] = {}
    if hasattr(mmap, "MAP_PRIVATE"):  # not on Windows
        private["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return np.frombuffer(mmap.mmap(-1, 4 * size, **private), np.float32)


def calls(devices: Sequence[pa.Device], repeats: int) -> list[Call]:
    """Measure calls on a tiny array, on pairs that copy nothing."""
    values = np.ones(TINY, np.float32)
    rows = []
    for source, target in pairs(devices):
        x = pa.asarray(values, device=source, copy=True)
        pa.synchronize(source)
        if pa.transfer_plan(x, target).copies:
            continue
        best = shortest_times(ways_to_move(x, target, finished=False), repeats, 1e-3)
        others = [
            Other(method.text, method.note, best[method.text]) for method in by_hand(source, target)
        ]
        rows.append(Call(str(source), str(target), best[OURS], others))
    return rows


def targets(rows: Sequence[Row], tiny: Sequence[Call]) -> list[Target]:
    """Check the targets; noise counts in portarray's favour."""
    judged = []
    for row in rows:
        pair = f"{row.source} to {row.target}"
        noise = min(max(NOISE, row.noise), MOST_NOISE)
        if row.copies == 1:
            promise = f"at most {TARGET_COPY} copies' time for one copy: {pair}"
            shown = f"{row.to_fresh:.2f}, noise {row.noise:.2f}"
            judged.append(Target(promise, shown, row.to_fresh - noise <= TARGET_COPY))
        if row.copies and row.to_hand is not None:
            promise = f"no slower than by hand: {pair}"
            shown = f"{row.to_hand:.2f}, noise {row.noise:.2f}"
            judged.append(Target(promise, shown, row.to_hand <= 1 + noise))
    for call in tiny:
        promise = f"at most {TARGET_CALL * 1e6:.0f} µs for no copy: {call.source} to {call.target}"
        shown = f"{call.seconds * 1e6:.1f} µs"
        judged.append(Target(promise, shown, call.seconds <= TARGET_CALL))
    return judged


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
        f"{method.seconds / row.fresh:>5.2f} {method.text}"
        + (f"  ({method.note})" if method.note else "")
        for method in row.others
    ] or ["    -"]
    print(
        f"{row.source:<17} {row.target:<17} {row.route:<8} {row.copies:>6} "
        f"{row.to_warm:>5.2f} {row.to_fresh:>5.2f} {row.to_pages:>5.2f}  {ways[0]}",
        *(f"{'':<70}{line}" for line in ways[1:]),
        sep="\n",
        flush=True,
    )


def show_calls(tiny: Sequence[Call]) -> None:
    print("\none call on four elements that copies nothing, in µs\n")
    for call in tiny:
        ways = "; ".join(f"{method.seconds * 1e6:.2f} {method.text}" for method in call.others)
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
        show(Row(**{**row, "others": [Other(**method) for method in row["others"]]}))
    return report


def show_rest(report: dict[str, Any]) -> None:
    """Print the calls and the targets of a report."""
    show_calls(
        [
            Call(**{**call, "others": [Other(**method) for method in call["others"]]})
            for call in report["calls"]
        ]
    )
    show_targets([Target(**target) for target in report["targets"]])


def main() -> None:
    """Measure, print, write JSON and draw the picture."""
    parser = parser_of(__doc__, "--devices")
    parser.add_argument("--repeats", type=int, default=20, help="turns of each candidate")
    parser.add_argument("--megabytes", type=int, default=64, help="size of the large array")
    parser.add_argument("--picture", type=Path, help="also draw them: a name that ends in .svg")
    parser.add_argument("--read", type=Path, help="take the figures of this file; measure nothing")
    options = parser.parse_args()
    require_positive(parser, options, "repeats", "megabytes")
    os.environ.update(SLEEPING)
    if options.read is not None:
        try:
            report = read(options.read)
        except (OSError, ValueError) as error:
            parser.error(f"--read: {error}")
    else:
        devices = devices_of(parser, options.devices, "--devices")
        if len(devices) < 2:
            parser.error(f"--devices: needs two devices, got only {devices[0]}")
        report = measured(devices, options.megabytes * MEGABYTE, options.repeats)
    show_rest(report)
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", "utf-8")
    if options.picture is not None:
        from picture import draw  # what it needs is not installed everywhere

        draw(report, options.picture)


if __name__ == "__main__":
    main()
