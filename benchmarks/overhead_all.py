"""What a call of portarray adds, for every function and operator of the standard.

``overhead.py --all`` runs this; ``overhead.py --all --help`` tells its options. Each statement of
``overhead_rows`` is timed through portarray and through the library itself on the same numbers: its
namespace as array_api_compat gives it (MLX's own, which has no wrapper). The two take turns in
short blocks, and the shortest block of each counts. Nothing is waited for: what is measured is when
Python goes on. An MLX call only notes down what to compute, so its share is of the same call with
its result computed.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import timeit
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import array_api_compat
import numpy as np
from overhead_rows import OWN_SPELLING, ROWS
from promises import Target, show_targets

import portarray as pa

BLOCK = 400_000  # nanoseconds that one block takes, about
LONGEST = 300_000_000  # nanoseconds after which a row of slow calls gets no more blocks
FEWEST = 5  # blocks of each that it gets nevertheless

ADDED = {"numpy": (0.5, 2.0, 6.0), "torch": (0.8, 3.0, 10.0)}
"""Library to the microseconds that portarray may add: median, nine rows of ten, any row."""
SHARE = 0.1
"""The part of their own call that it may add to the others, in the median."""
SHARED = ("mlx", "jax", "dpnp")


@dataclass(frozen=True, slots=True)
class Row:
    """One statement: the shortest times of one call, in microseconds."""

    name: str
    statement: str
    ours: float
    own: float
    computed: float
    """The library's own call; for MLX with its result computed, for the others the same again."""

    @property
    def added(self) -> float:
        """What portarray adds, in microseconds."""
        return self.ours - self.own

    @property
    def ratio(self) -> float:
        """Time through portarray for one unit of the library's own."""
        return self.ours / self.own

    @property
    def share(self) -> float:
        """What portarray adds, as a part of the library's own call and its computation."""
        return self.added / self.computed


@dataclass(frozen=True, slots=True)
class Summary:
    """What portarray adds over all rows, in microseconds, and its share of the own calls."""

    rows: int
    median: float
    ninth: float
    worst: float
    share: float


def summary(rows: Sequence[Row]) -> Summary:
    """Sum up the rows of one device, of which there is at least one."""
    added = sorted(row.added for row in rows)
    return Summary(
        len(added),
        statistics.median(added),
        added[math.ceil(0.9 * len(added)) - 1],
        added[-1],
        statistics.median(row.share for row in rows),
    )


@dataclass(frozen=True, slots=True)
class Skipped:
    """A statement that cannot be compared, and why."""

    name: str
    statement: str
    reason: str


def values() -> dict[str, np.ndarray[Any, Any]]:
    """Return what the statements compute with; see ``overhead_rows``."""
    f = np.float32
    s = np.array([[2.0, 0.5, 0.1], [0.5, 1.5, 0.2], [0.1, 0.2, 1.0]], f)
    return {
        "x": np.linspace(0.1, 0.9, 8, dtype=f),
        "y": np.array([0.5, 0.2, 0.8, 0.3, 0.7, 0.1, 0.9, 0.4], f),
        "p": np.linspace(1.1, 1.9, 8, dtype=f),
        "i": np.array([3, 1, 4, 1, 5, 9, 2, 6]),
        "j": np.array([2, 0, 1, 3, 7, 5, 4, 6]),
        "b": np.array([True, False, True, True, False, False, True, False]),
        "z": np.exp(1j * np.arange(8)).astype(np.complex64),
        "m": np.linspace(0.1, 0.9, 8, dtype=f).reshape(2, 4),
        "k": np.array([[1, 0, 1, 0], [0, 1, 0, 1]]),
        "s": s,
        "r": s[0],
        "one": np.ones(8, f),
        "nil": np.zeros(8, f),
        "zero": np.zeros(8, int),
        "ident": np.eye(3, dtype=f),
        "o": np.asarray(0.5, f),
        "n": np.asarray(1),
    }


def scopes(device: pa.Device) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the names that statements see: through portarray, and of the library itself."""
    integral = pa.__array_namespace_info__().default_dtypes(device=device)["integral"]

    def arrays() -> dict[str, pa.Array]:
        return {
            name: pa.asarray(
                value, dtype=integral if value.dtype.kind == "i" else None, device=device, copy=True
            )
            for name, value in values().items()
        }

    # Each has arrays of its own: in-place operators write into them.
    ours = arrays()
    own = {name: array.native for name, array in arrays().items()}
    x = own["x"]
    if device.library == "mlx":
        xp, place = import_module("mlx.core"), None
    else:
        xp, place = array_api_compat.array_namespace(x), array_api_compat.device(x)
    return (
        {**ours, "xp": pa, "d": device},
        {**own, "xp": xp, "d": place, "array_namespace": array_api_compat.array_namespace},
    )


Block = Callable[[int], int]
"""Runs a statement so often, and returns the nanoseconds it took."""


def block(statement: str, scope: Mapping[str, Any], wait: Callable[[], object]) -> Block:
    """Return a block of a statement; ``wait`` is called behind it, and not timed."""
    # The names are the loop's own variables, so that in-place operators can bind them.
    setup = "; ".join(f"{name} = scope[{name!r}]" for name in scope)
    timer = timeit.Timer(statement, setup, timer=perf_counter_ns, globals={"scope": scope})

    def run(times: int) -> int:
        took = timer.timeit(times)
        wait()
        return int(took)

    return run


def blocks(device: pa.Device, statement: str) -> list[Block]:
    """Return the blocks to compare: through portarray, of the library itself, and computed."""
    ours, own = scopes(device)
    spelled = OWN_SPELLING.get(device.library, {}).get(statement, statement)
    if device.library != "mlx":

        def wait() -> None:
            pa.synchronize(device)

        return [block(statement, ours, wait), block(spelled, own, wait)]
    evaluate = import_module("mlx.core").eval
    written = [value for value in ours.values() if isinstance(value, pa.Array)]

    def settle() -> None:
        # What in-place operators noted down would grow with every block.
        evaluate([array.native for array in written])

    try:
        compile(spelled, "", "eval")
        computed = f"evaluate({spelled})"
    except SyntaxError:  # an assignment, whose target is a single letter
        computed = f"{spelled}; evaluate({spelled[0]})"
    return [
        block(statement, ours, settle),
        block(spelled, own, settle),
        block(computed, {**own, "evaluate": evaluate}, settle),
    ]


def once(run: Block) -> str:
    """Try a statement, and return what is wrong with it, if anything."""
    try:
        run(1)
    except Exception as error:  # noqa: BLE001  (any library may refuse in its own way)
        lines = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {lines[0][:90]}"
    return ""


def loops(run: Block) -> int:
    """Return how many calls fill a block."""
    took = run(2) / 2
    if took < BLOCK / 10:
        took = min(run(10), run(10)) / 10
    return max(1, int(BLOCK / max(took, 1.0)))


def compare(candidates: Sequence[Block], repeats: int) -> list[float]:
    """Return the shortest times of one call of each, in microseconds."""
    turns = [(which, run, loops(run)) for which, run in enumerate(candidates)]
    best = [math.inf] * len(turns)
    spent = 0
    for turn in range(repeats):
        if spent > LONGEST and turn >= FEWEST:
            break
        for which, run, times in turns if turn % 2 else reversed(turns):
            took = run(times)
            spent += took
            best[which] = min(best[which], took / times / 1e3)
    return best


def statements(wanted: re.Pattern[str] | None) -> Iterator[tuple[str, str]]:
    """Yield every name with each of its statements, or those that a pattern finds."""
    for name, several in ROWS.items():
        for statement in several:
            if wanted is None or wanted.search(name) or wanted.search(statement):
                yield name, statement


@contextmanager
def creating_on(device: pa.Device) -> Iterator[None]:
    """Create arrays on a device by default, and let its library compute with one thread."""
    if device.library == "torch":
        import_module("torch").set_num_threads(1)
    pa.set_default_device(device)
    try:
        yield
    finally:
        pa.set_default_device(None)


def measure(
    device: pa.Device, repeats: int, wanted: re.Pattern[str] | None = None
) -> tuple[list[Row], list[Skipped]]:
    """Measure all statements on one device, the most added first."""
    rows: list[Row] = []
    skipped: list[Skipped] = []
    with creating_on(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, statement in statements(wanted):
            ours, *others = candidates = blocks(device, statement)
            if reason := once(ours):
                skipped.append(Skipped(name, statement, f"not on this device: {reason}"))
            elif reason := next(filter(None, map(once, others)), ""):
                skipped.append(Skipped(name, statement, f"no peer: {reason}"))
            else:
                first, own, *computed = compare(candidates, repeats)
                rows.append(Row(name, statement, first, own, *computed or [own]))
    rows.sort(key=lambda row: -row.added)
    return rows, skipped


def judge(device: pa.Device, found: Summary) -> list[Target]:
    """Judge what is promised for a device."""
    title = device._backend.info.title
    most = ADDED.get(device.library, ())
    judged = [
        Target(
            f"at most {limit:g} us added to {title}, {what}", f"{figure:.2f} us", figure <= limit
        )
        for what, figure, limit in zip(
            ("the median row", "nine rows of ten", "any row"),
            (found.median, found.ninth, found.worst),
            most,
            strict=False,  # of most devices nothing is promised in microseconds
        )
    ]
    if device.library in SHARED:
        promise = f"at most a tenth of {title}'s own call added, the median row"
        judged.append(Target(promise, f"{found.share:.3f}", found.share <= SHARE))
    return judged


def show(
    device: pa.Device, rows: Sequence[Row], skipped: Sequence[Skipped], worst: int | None
) -> None:
    """Print the rows that add most, and what all of them come to."""
    print(f"\n{device}: microseconds of one call")
    print(f"{'added':>9} {'ratio':>7} {'portarray':>10} {'own':>9}  statement")
    for row in rows[:worst]:
        print(
            f"{row.added:>+9.2f} {row.ratio:>7.2f} {row.ours:>10.2f} {row.own:>9.2f}  "
            f"{row.statement}"
        )
    if worst is None:
        for one in skipped:
            print(f"{'not compared':>38}  {one.statement}: {one.reason}")
    if rows:
        found = summary(rows)
        print(
            f"{device}: {found.rows} rows, {len(skipped)} not compared; added: median "
            f"{found.median:.2f} us, 90th percentile {found.ninth:.2f}, worst {found.worst:.2f}; "
            f"median share of the library's own call {found.share:.3f}"
        )
    else:
        print(f"{device}: no row, {len(skipped)} not compared")


def run(
    devices: Sequence[pa.Device],
    repeats: int,
    wanted: re.Pattern[str] | None,
    worst: int | None,
    file: Path | None,
) -> None:
    """Measure and print device after device, and write JSON where it is asked for."""
    report: dict[str, object] = {}
    for device in devices:
        rows, skipped = measure(device, repeats, wanted)
        show(device, rows, skipped, worst)
        # Promises are about all calls, not about some of them.
        judged = judge(device, summary(rows)) if rows and wanted is None else []
        if judged:
            show_targets(judged)
        report[str(device)] = {
            "summary": asdict(summary(rows)) if rows else None,
            "rows": [asdict(row) for row in rows],
            "skipped": [asdict(one) for one in skipped],
            "targets": [asdict(target) for target in judged],
        }
    if file is not None:
        file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description="What a call of portarray adds, for every name.")
    parser.add_argument("--all", action="store_true", help="as overhead.py takes it")
    parser.add_argument(
        "--devices",
        metavar="DEVICE,...",
        help="the devices, as portarray.device takes them; by default every functional CPU",
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--repeats", type=int, default=60, help="blocks of each candidate")
    parser.add_argument("--filter", metavar="REGEX", help="names or statements where it is found")
    parser.add_argument("--worst", type=int, metavar="N", help="print the N rows that add most")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats}: at least 1 is needed")
    try:
        wanted = None if options.filter is None else re.compile(options.filter)
    except re.error as error:
        parser.error(f"--filter {options.filter}: not a regular expression: {error}")
    try:
        if options.devices is None:
            devices = [device for device in pa.devices() if device.kind == "cpu"]
        else:
            devices = [pa.device(text) for text in options.devices.split(",")]
    except pa.errors.PortarrayError as error:
        parser.error(f"--devices: {error}")
    run(devices, options.repeats, wanted, options.worst, options.json)


if __name__ == "__main__":
    main()
