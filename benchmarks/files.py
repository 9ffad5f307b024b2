"""The cost of saving, loading and pickling trees of arrays on each device.

The tree *large* has four arrays of many megabytes, *many* has a thousand arrays of 64 elements. On
each device ``pa.save``, ``pa.load`` and ``pickle`` alternate with the code that users write for the
same native arrays (files_by_hand.py).

Saved files are complete and on disk when a call returns. By hand, the file is also written under a
temporary name, synchronized and renamed. The disk therefore dominates; ``--folder /dev/shm``
(memory on Linux) avoids it. Loaded and unpickled arrays are in memory when a call ends: each page
of host memory is read, other devices are waited for.

Candidates alternate in random order; the shortest time of each counts. Results are ratios.
portarray's call is measured twice under two names; the difference is noise. Missed targets are
printed and raise no error.

    python benchmarks/files.py [--devices DEVICE ...] [--repeats N] [--megabytes N]
        [--folder FOLDER] [--json files.json]
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import reports
from command_line import devices_of, parser_of, require_positive
from files_by_hand import by_hand, function
from overhead import finisher
from promises import Target, show_targets
from timing import shortest_times

import portarray as pa
from portarray._cli.bench.report import environment

MEGABYTE = 1_000_000
LARGE = 4  # arrays in the large tree
MANY = 1000  # arrays in the other tree
SMALL = 64  # elements of each of them
PAGE = 1024  # elements in the smallest memory page
TARGET_CALL = 15e-6  # seconds for each array, in addition to the time by hand
NOISE = 0.05  # minimum difference between two measurements of one call
MOST_NOISE = 0.15  # with more, the machine was busy and nothing is proved

OURS = {
    "save": "pa.save(path, x)",
    "load": "pa.load(path, device=device)",
    "pickle": "pickle.dumps(x, 5)",
    "unpickle": "pickle.loads(data)",
}
READ_BY_NUMPY = {"numpy", "torch", "mlx", "jax", "clarray"}
"""Libraries whose CPU arrays NumPy reads without a copy."""

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Other:
    """Code by hand, and its shortest time in seconds."""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One operation on one tree on one device."""

    device: str  # the device
    tree: str  # ``"large"`` or ``"many"``
    operation: str  # ``"save"``, ``"load"``, ``"pickle"`` or ``"unpickle"``
    arrays: int  # how many arrays the tree has, and how many bytes
    nbytes: int
    seconds: float  # of portarray's call, the shortest
    noise: float  # by how much its two measurements differed, relatively
    others: list[Other]  # what is written by hand

    @property
    def hand(self) -> float | None:
        """The time of the fastest way by hand, None where there is none."""
        return min((method.seconds for method in self.others), default=None)


def trees(nbytes: int) -> dict[str, Tree]:
    """Return the trees' values."""
    rng = np.random.default_rng(7)
    elements = max(1, nbytes // 4 // LARGE)
    return {
        "large": {f"w{i}": rng.random(elements, np.float32) for i in range(LARGE)},
        "many": {f"layers.{i}.w": rng.random(SMALL, np.float32) for i in range(MANY)},
    }


def actions(device: pa.Device, x: Tree, folder: Path) -> dict[str, dict[str, Callable[[], object]]]:
    """Return the candidates of each operation: portarray twice, and the code by hand."""
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
    by_operation = {}
    for operation, run in runs.items():
        ways = {OURS[operation]: run, f"{OURS[operation]} again": run}
        for text in by_hand(device, operation):
            call = function(text, device)
            written = f"{text} by hand"
            if operation == "save":
                ways[written] = _whole(call, native, theirs)
            elif operation == "pickle":
                ways[written] = _with(call, native, "", b"")
            else:
                ways[written] = _behind(_with(call, native, ours, data), done)
        by_operation[operation] = ways
    return by_operation


def _natives(x: Mapping[str, pa.Array]) -> Tree:
    return {name: array.native for name, array in x.items()}


def _with(call: Callable[..., Any], *arguments: object) -> Callable[[], Any]:
    return lambda: call(*arguments)


def _behind(run: Callable[[], Any], done: Callable[[Tree], object]) -> Callable[[], object]:
    return lambda: done(run())


def _whole(call: Callable[..., Any], x: Tree, path: str) -> Callable[[], None]:
    """Return an atomic version of a function that saves."""
    part = f"{path}.part.safetensors"

    def save() -> None:
        call(x, part, b"")
        descriptor = os.open(part, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(part, path)

    return save


def reader(device: pa.Device) -> Callable[[Tree], object]:
    """Return a function that waits until the arrays of a tree are in memory, and returns them.

    The result stays alive until the call has been timed, as in a program that uses it.
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
    """Check the target; noise counts in portarray's favour."""
    judged = []
    for row in rows:
        if row.hand is None:
            continue
        noise = min(max(NOISE, row.noise), MOST_NOISE)
        beyond = (row.seconds - row.hand) / row.arrays
        promise = (
            f"by hand's time and {TARGET_CALL * 1e6:.0f} µs for an array at most: "
            f"{row.operation}, {row.tree}, {row.device}"
        )
        shown = (
            f"{row.seconds / row.hand:.2f} times, {beyond * 1e6:+.1f} µs for an array, "
            f"noise {row.noise:.2f}"
        )
        judged.append(
            Target(promise, shown, row.seconds <= row.hand * (1 + noise) + TARGET_CALL * row.arrays)
        )
    return judged


def show_head(nbytes: int) -> None:
    print(
        f"large: {LARGE} arrays, {nbytes / MEGABYTE:g} MB; many: {MANY} arrays of {SMALL} numbers"
    )
    print("to hand: portarray's time as a multiple of the fastest way by hand")
    print(f"by hand: multiples of {', '.join(OURS.values())}\n")
    print(f"{'device':<17} {'tree':<6} {'operation':<9} {'ms':>8}  to hand  by hand")


def show(row: Row) -> None:
    """Print one operation."""
    ways = [f"{method.seconds / row.seconds:>6.2f} {method.text}" for method in row.others]
    ratio = "-" if row.hand is None else f"{row.seconds / row.hand:.2f}"
    print(
        f"{row.device:<17} {row.tree:<6} {row.operation:<9} {row.seconds * 1e3:>8.2f}  {ratio:>7}"
        f" {ways[0] if ways else '     -'}",
        *(f"{'':<52}{line}" for line in ways[1:]),
        sep="\n",
        flush=True,
    )


def main() -> None:
    """Measure, print and write JSON."""
    parser = parser_of(__doc__, "--devices")
    parser.add_argument("--repeats", type=int, default=10, help="turns of each candidate")
    parser.add_argument("--megabytes", type=int, default=500, help="size of the large tree")
    parser.add_argument(
        "--folder", type=Path, help="where to save; by default where temporary files go"
    )
    options = parser.parse_args()
    require_positive(parser, options, "repeats", "megabytes")
    if options.folder is not None and not options.folder.is_dir():
        parser.error(f"--folder: {options.folder} does not exist")
    devices = devices_of(parser, options.devices, "--devices")
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
