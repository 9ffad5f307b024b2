"""What it costs to save, load and pickle trees of arrays on each device.

Two trees are measured: *large*, of four arrays of many megabytes, and *many*, of a thousand arrays
of 64 numbers. On each device ``pa.save``, ``pa.load`` and ``pickle`` of portarray's arrays take
turns with what a user would write by hand for the same native arrays (files_by_hand.py).

What is saved is whole and on the disk when a call returns, by hand too: there the file is written
under another name, synchronized and renamed, as ``pa.save`` does. So the disk decides what saving
takes; ``--folder /dev/shm``, which is memory on Linux, leaves it out. What is loaded or unpickled
is in memory when a call ends: of what lies in host memory each page is read, the rest is waited
for.

Everything about an operation is measured side by side in one process: turn after turn, each
candidate once in an order that is shuffled anew, and the shortest time of each counts. Figures are
ratios; bare times differ from machine to machine. portarray's call is measured twice, under two
names: what lies between the two is noise. The targets are judged and printed, and nothing fails:
this is a measurement, not a test.

    python benchmarks/files.py [--devices DEVICE ...] [--repeats N] [--megabytes N]
        [--folder FOLDER] [--json files.json]
"""

from __future__ import annotations

import argparse
import os
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import reports
from files_by_hand import by_hand, function
from overhead import finisher
from promises import Target, show_targets

import portarray as pa
from portarray._cli.bench.report import environment
from timing import shortest_times

MEGABYTE = 1_000_000
LARGE = 4  # arrays in the large tree
MANY = 1000  # and in the other
SMALL = 64  # elements of each of those
PAGE = 1024  # elements in the smallest page that systems have
TARGET_CALL = 15e-6  # seconds for each array, beyond what it takes by hand
NOISE = 0.05  # the least that two measurements of one thing may differ
MOST_NOISE = 0.15  # the most that counts; with more the machine was busy, and nothing is proved

OURS = {
    "save": "pa.save(path, x)",
    "load": "pa.load(path, device=device)",
    "pickle": "pickle.dumps(x, 5)",
    "unpickle": "pickle.loads(data)",
}
READ_BY_NUMPY = {"numpy", "torch", "mlx", "jax", "clarray"}
"""Libraries whose arrays NumPy reads where they lie, on CPUs."""

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Other:
    """A way by hand, and the shortest time in seconds."""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One operation on one tree on one device.

    Parameters
    ----------
    device : str
        The device.
    tree : str
        ``"large"`` or ``"many"``.
    operation : str
        ``"save"``, ``"load"``, ``"pickle"`` or ``"unpickle"``.
    arrays, nbytes : int
        How many arrays the tree has, and how many bytes.
    seconds : float
        Of portarray's call, the shortest.
    noise : float
        By how much its two measurements differed, relatively.
    others : list of Other
        What is written by hand.
    """

    device: str
    tree: str
    operation: str
    arrays: int
    nbytes: int
    seconds: float
    noise: float
    others: list[Other]

    @property
    def hand(self) -> float | None:
        """The time of the fastest way by hand, None where there is none."""
        return min((other.seconds for other in self.others), default=None)


def trees(nbytes: int) -> dict[str, Tree]:
    """Return the trees' values."""
    rng = np.random.default_rng(7)
    each = max(1, nbytes // 4 // LARGE)
    return {
        "large": {f"w{i}": rng.random(each, np.float32) for i in range(LARGE)},
        "many": {f"layers.{i}.w": rng.random(SMALL, np.float32) for i in range(MANY)},
    }


def actions(device: pa.Device, x: Tree, folder: Path) -> dict[str, dict[str, Callable[[], object]]]:
    """Return the ways to do each operation with a tree: portarray's, the same again, by hand."""
    native = {name: array.native for name, array in x.items()}
    done = reader(device)
    ours, theirs = str(folder / "ours.safetensors"), str(folder / "theirs.safetensors")
    pa.save(ours, x)
    if device.library == "torch":
        function("torch.save(x, path + '.pt')", device)(native, ours, b"")
    pickled = pickle.dumps(x, 5)
    runs: dict[str, Callable[[], object]] = {
        "save": lambda: pa.save(ours, x),
        "load": lambda: done(_natives(pa.load(ours, device=device))),
        "pickle": lambda: pickle.dumps(x, 5),
        "unpickle": lambda: done(_natives(pickle.loads(pickled))),
    }
    data = b""
    for text in by_hand(device, "pickle"):
        data = function(text, device)(native, "", b"")
    found = {}
    for operation, run in runs.items():
        ways = {OURS[operation]: run, f"{OURS[operation]} again": run}
        for text in by_hand(device, operation):
            way = function(text, device)
            written = f"{text} by hand"
            if operation == "save":
                ways[written] = _whole(way, native, theirs)
            elif operation == "pickle":
                ways[written] = _with(way, native, "", b"")
            else:
                ways[written] = _behind(_with(way, native, ours, data), done)
        found[operation] = ways
    return found


def _natives(x: Mapping[str, pa.Array]) -> Tree:
    return {name: array.native for name, array in x.items()}


def _with(way: Callable[..., Any], *arguments: object) -> Callable[[], Any]:
    return lambda: way(*arguments)


def _behind(run: Callable[[], Any], done: Callable[[Tree], object]) -> Callable[[], object]:
    return lambda: done(run())


def _whole(way: Callable[..., Any], x: Tree, path: str) -> Callable[[], None]:
    """Return a way to save that leaves a whole file, or the earlier one, whatever happens."""
    part = f"{path}.part.safetensors"

    def save() -> None:
        way(x, part, b"")
        descriptor = os.open(part, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, path)

    return save


def reader(device: pa.Device) -> Callable[[Tree], object]:
    """Return a function that waits until the arrays of a tree are in memory, and gives them back.

    What is returned lives until the call has been timed, as in a program that uses it.
    """
    if device.kind == "cpu" and device.library in READ_BY_NUMPY:

        def read(x: Tree) -> Tree:
            for native in x.values():
                np.asarray(native)[::PAGE].sum()
            return x

        return read
    finish = finisher(device)

    def wait(x: Tree) -> Tree:
        for native in x.values():
            finish(native)
        return x

    return wait


def measured(
    devices: Sequence[pa.Device],
    nbytes: int,
    repeats: int,
    folder: Path,
    tell: Callable[[Row], object],
) -> list[Row]:
    """Measure every operation on every device."""
    rows = []
    for device in devices:
        for tree, values in trees(nbytes).items():
            x = {name: pa.asarray(v, device=device, copy=True) for name, v in values.items()}
            pa.synchronize(device)
            for operation, ways in actions(device, x, folder).items():
                best = shortest_times(ways, repeats, 0.0)
                ours = best.pop(OURS[operation])
                again = best.pop(f"{OURS[operation]} again")
                row = Row(
                    str(device),
                    tree,
                    operation,
                    len(values),
                    sum(v.nbytes for v in values.values()),
                    seconds=min(ours, again),
                    noise=abs(ours - again) / min(ours, again),
                    others=[
                        Other(text.removesuffix(" by hand"), seconds)
                        for text, seconds in best.items()
                    ],
                )
                tell(row)
                rows.append(row)
    return rows


def targets(rows: Sequence[Row]) -> list[Target]:
    """Judge the promise by the figures, whose noise counts in portarray's favour."""
    found = []
    for row in rows:
        if row.hand is None:
            continue
        noise = min(max(NOISE, row.noise), MOST_NOISE)
        beyond = (row.seconds - row.hand) / row.arrays
        found.append(
            Target(
                f"by hand's time and {TARGET_CALL * 1e6:.0f} µs for an array at most: "
                f"{row.operation}, {row.tree}, {row.device}",
                f"{row.seconds / row.hand:.2f} times, {beyond * 1e6:+.1f} µs for an array, "
                f"noise {row.noise:.2f}",
                row.seconds <= row.hand * (1 + noise) + TARGET_CALL * row.arrays,
            )
        )
    return found


def show_head(nbytes: int) -> None:
    print(
        f"large: {LARGE} arrays, {nbytes / MEGABYTE:g} MB; many: {MANY} arrays of {SMALL} numbers"
    )
    print("to hand: portarray's time as a multiple of the fastest way by hand")
    print(f"by hand: multiples of {', '.join(OURS.values())}\n")
    print(f"{'device':<17} {'tree':<6} {'operation':<9} {'ms':>8}  to hand  by hand")


def show(row: Row) -> None:
    """Print one operation."""
    ways = [f"{other.seconds / row.seconds:>6.2f} {other.text}" for other in row.others]
    ratio = "-" if row.hand is None else f"{row.seconds / row.hand:.2f}"
    print(
        f"{row.device:<17} {row.tree:<6} {row.operation:<9} {row.seconds * 1e3:>8.2f}  {ratio:>7}"
        f" {ways[0] if ways else '     -'}",
        *(f"{'':<52}{way}" for way in ways[1:]),
        sep="\n",
        flush=True,
    )


def main() -> None:
    """Measure, print, and write JSON where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--devices",
        nargs="+",
        metavar="DEVICE",
        help="measure on these, as portarray.device takes them. By default every functional device",
    )
    parser.add_argument("--repeats", type=int, default=10, help="turns of each candidate")
    parser.add_argument("--megabytes", type=int, default=500, help="size of the large tree")
    parser.add_argument(
        "--folder", type=Path, help="where to save; by default where temporary files go"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    for name in ("repeats", "megabytes"):
        value = getattr(options, name)
        if value < 1:
            parser.error(f"--{name} {value}: at least 1 is needed")
    if options.folder is not None and not options.folder.is_dir():
        parser.error(f"--folder {options.folder}: there is no such folder")
    try:
        named = map(pa.device, options.devices or map(str, pa.devices()))
        devices = list(dict.fromkeys(named))
    except pa.errors.PortarrayError as error:
        parser.error(f"--devices: {error}")
    nbytes = options.megabytes * MEGABYTE
    show_head(nbytes)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = measured(devices, nbytes, options.repeats, Path(folder), show)
    judged = targets(rows)
    show_targets(judged)
    report = {
        **environment(devices),
        "nbytes": nbytes,
        "repeats": options.repeats,
        "rows": [asdict(row) for row in rows],
        "targets": [asdict(target) for target in judged],
    }
    reports.write(report, options.json)


if __name__ == "__main__":
    main()
