"""The overhead of a portarray call, for every function and operator of the standard.

``overhead.py --all`` runs this module. Each statement of ``overhead_rows`` is timed through
portarray and through the library's own namespace (array_api_compat's; MLX's own) on the same
values. The two alternate in short blocks; the shortest block of each counts. Results are not waited
for. An MLX call only records what to compute, so its share is relative to the call with its result
computed.
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
from overhead_rows import OTHER_ROWS, OWN_SPELLING, STANDARD_ROWS
from promises import Target, show_targets

import portarray as pa
import portarray.kernel_language as kl
from portarray._cli.bench.report import environment

BLOCK = 400_000  # approximate nanoseconds of one block
LONGEST = 300_000_000  # nanoseconds after which a row of slow calls gets no more blocks
MIN_BLOCKS = 5  # even then

ADDED = {"numpy": (0.3, 1.0, 4.0), "torch": (0.4, 2.0, 6.0)}
"""Allowed overhead in microseconds: median, 90th percentile, maximum."""
SHARE = 0.1
"""Allowed median overhead of the other libraries, relative to their own call."""
SHARED = ("mlx", "jax", "dpnp")


@dataclass(frozen=True, slots=True)
class Row:
    """One statement; the shortest times of one call, in microseconds."""

    name: str
    statement: str
    ours: float
    own: float
    computed: float
    """The library's own call; for MLX including the computation."""

    @property
    def added(self) -> float:
        """The overhead in microseconds."""
        return self.ours - self.own

    @property
    def ratio(self) -> float:
        """The time relative to the library's own call."""
        return self.ours / self.own

    @property
    def share(self) -> float:
        """The overhead relative to the library's own call, including the computation."""
        return self.added / self.computed


@dataclass(frozen=True, slots=True)
class Summary:
    """The overhead over all rows, in microseconds, and its median share."""

    rows: int
    median: float
    ninth: float
    worst: float
    share: float


def summary(rows: Sequence[Row]) -> Summary:
    """Summarize the rows of one device."""
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
    """A statement that cannot be compared, with the reason."""

    name: str
    statement: str
    reason: str


def values() -> dict[str, np.ndarray[Any, Any]]:
    """Return the variables of the statements; see ``overhead_rows``."""
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
    """Return the variables of portarray's and of the library's statements."""
    host = {"np": np, "v": values()["x"], "three": three}
    integral = pa.__array_namespace_info__().default_dtypes(device=device)["integral"]

    def arrays() -> dict[str, pa.Array]:
        return {
            name: pa.asarray(
                value, dtype=integral if value.dtype.kind == "i" else None, device=device, copy=True
            )
            for name, value in values().items()
        }

    # Separate arrays: in-place operators write into them.
    ours = arrays()
    native = {name: array.native for name, array in arrays().items()}
    x = native["x"]
    if device.library == "mlx":
        xp, native_device = import_module("mlx.core"), None
    else:
        xp, native_device = array_api_compat.array_namespace(x), array_api_compat.device(x)
    return (
        {
            **ours,
            **host,
            "xp": pa,
            "d": device,
            "key": pa.random.key(0, device=device),
            "gradient": pa.grad(three),
            "scale": scale,
        },
        {
            **native,
            **host,
            "rng": np.random.default_rng(0),
            "gradient": torch_gradient,
            "xp": xp,
            "d": native_device,
            "array_namespace": array_api_compat.array_namespace,
        },
    )


def three(x: Any) -> Any:
    """Make three calls that follow an array's methods and operators on every library."""
    return (x * x + x).sum()


def torch_gradient(x: Any) -> Any:
    """Return the gradient of :func:`three` by PyTorch."""
    leaf = x.detach().requires_grad_()
    (gradient,) = import_module("torch").autograd.grad(three(leaf), leaf)
    return gradient


@pa.kernel
def scale(x: Any, y: Any) -> None:
    """Write twice the elements of an array into another."""
    y[kl.index()] = x[kl.index()] * 2


Block = Callable[[int], int]
"""Runs a statement that many times and returns the nanoseconds."""


def block(statement: str, scope: Mapping[str, Any], wait: Callable[[], object]) -> Block:
    """Return a block of a statement; ``wait`` runs after it and is not timed."""
    # The names are local variables, so that in-place operators can bind them.
    setup = "; ".join(f"{name} = scope[{name!r}]" for name in scope)
    timer = timeit.Timer(statement, setup, timer=perf_counter_ns, globals={"scope": scope})

    def run(times: int) -> int:
        took = timer.timeit(times)
        wait()
        return int(took)

    return run


def blocks(device: pa.Device, statement: str) -> list[Block]:
    """Return the blocks of portarray, the library and, for MLX, the library's computation."""
    ours, native = scopes(device)
    spelled = OWN_SPELLING.get(device.library, {}).get(statement, statement)
    if device.library != "mlx":

        def wait() -> None:
            pa.synchronize(device)

        return [block(statement, ours, wait), block(spelled, native, wait)]
    evaluate = import_module("mlx.core").eval
    written = [value for value in ours.values() if isinstance(value, pa.Array)]

    def settle() -> None:
        # The recorded graph of in-place operators would grow with every block.
        evaluate([array.native for array in written])

    try:
        compile(spelled, "", "eval")
        computed = f"evaluate({spelled})"
    except SyntaxError:  # an assignment, whose target is a single letter
        computed = f"{spelled}; evaluate({spelled[0]})"
    return [
        block(statement, ours, settle),
        block(spelled, native, settle),
        block(computed, {**native, "evaluate": evaluate}, settle),
    ]


def once(run: Block) -> str:
    """Run a statement once; return its error, if any."""
    try:
        run(1)
    except Exception as error:  # noqa: BLE001  (any library may refuse in its own way)
        lines = str(error).strip().splitlines() or [""]
        return f"{type(error).__name__}: {lines[0][:90]}"
    return ""


def loops(run: Block) -> int:
    """Return the number of calls in a block."""
    took = min(run(2), run(2)) / 2  # the first launch of a kernel wakes threads
    if took < BLOCK / 10:
        took = min(run(10), run(10)) / 10
    return max(1, int(BLOCK / max(took, 1.0)))


def compare(candidates: Sequence[Block], repeats: int) -> list[float]:
    """Return the shortest times of one call of each, in microseconds."""
    turns = [(which, run, loops(run)) for which, run in enumerate(candidates)]
    best = [math.inf] * len(turns)
    spent = 0
    for turn in range(repeats):
        if spent > LONGEST and turn >= MIN_BLOCKS:
            break
        for which, run, times in turns if turn % 2 else reversed(turns):
            took = run(times)
            spent += took
            best[which] = min(best[which], took / times / 1e3)
    return best


def statements(pattern: re.Pattern[str] | None) -> Iterator[tuple[str, str]]:
    """Yield names and statements that match a pattern."""
    for name, several in {**STANDARD_ROWS, **OTHER_ROWS}.items():
        for statement in several:
            if pattern is None or pattern.search(name) or pattern.search(statement):
                yield name, statement


@contextmanager
def creating_on(device: pa.Device) -> Iterator[None]:
    """Use a default device, and one thread of its library."""
    if device.library == "torch":
        import_module("torch").set_num_threads(1)
    pa.set_default_device(device)
    key = pa.random.key(0)
    for _ in range(600):  # after some hundred small draws, kernels make random numbers
        pa.random.bits(key)
    try:
        yield
    finally:
        pa.set_default_device(None)


def measure(
    device: pa.Device, repeats: int, pattern: re.Pattern[str] | None = None
) -> tuple[list[Row], list[Skipped]]:
    """Measure all statements on one device; sort by overhead."""
    rows: list[Row] = []
    skipped: list[Skipped] = []
    with creating_on(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, statement in statements(pattern):
            ours, *others = candidates = blocks(device, statement)
            if reason := once(ours):
                skipped.append(Skipped(name, statement, f"not on this device: {reason}"))
            elif reason := next(filter(None, map(once, others)), ""):
                skipped.append(Skipped(name, statement, f"no peer: {reason}"))
            else:
                first, native, *computed = compare(candidates, repeats)
                rows.append(Row(name, statement, first, native, *computed or [native]))
    rows.sort(key=lambda row: -row.added)
    return rows, skipped


def judge(device: pa.Device, totals: Summary) -> list[Target]:
    """Check the targets of a device."""
    title = device._backend.info.title
    most = ADDED.get(device.library, ())
    judged = [
        Target(
            f"at most {limit:g} us added to {title}, {label}", f"{figure:.2f} us", figure <= limit
        )
        for label, figure, limit in zip(
            ("the median row", "nine rows of ten", "any row"),
            (totals.median, totals.ninth, totals.worst),
            most,
            strict=False,  # most devices have no target in microseconds
        )
    ]
    if device.library in SHARED:
        promise = f"at most a tenth of {title}'s own call added, the median row"
        judged.append(Target(promise, f"{totals.share:.3f}", totals.share <= SHARE))
    return judged


def show(
    device: pa.Device, rows: Sequence[Row], skipped: Sequence[Skipped], worst: int | None
) -> None:
    """Print the rows with the largest overhead, and a summary."""
    print(f"\n{device}: microseconds of one call")
    print(f"{'added':>9} {'ratio':>7} {'portarray':>10} {'own':>9}  statement")
    for row in rows[:worst]:
        print(
            f"{row.added:>+9.2f} {row.ratio:>7.2f} {row.ours:>10.2f} {row.own:>9.2f}  "
            f"{row.statement}"
        )
    if worst is None:
        for entry in skipped:
            print(f"{'not compared':>38}  {entry.statement}: {entry.reason}")
    if rows:
        totals = summary(rows)
        print(
            f"{device}: {totals.rows} rows, {len(skipped)} not compared; added: "
            f"median {totals.median:.2f} us, 90th percentile {totals.ninth:.2f}, "
            f"worst {totals.worst:.2f}; median share of the library's own call {totals.share:.3f}"
        )
    else:
        print(f"{device}: no row, {len(skipped)} not compared")


def run(
    devices: Sequence[pa.Device],
    repeats: int,
    pattern: re.Pattern[str] | None,
    worst: int | None,
    file: Path | None,
) -> None:
    """Measure and print every device, and write JSON."""
    results: dict[str, object] = {}
    for device in devices:
        rows, skipped = measure(device, repeats, pattern)
        show(device, rows, skipped, worst)
        # Targets apply to all calls, not to a selection.
        judged = judge(device, summary(rows)) if rows and pattern is None else []
        if judged:
            show_targets(judged)
        results[str(device)] = {
            "summary": asdict(summary(rows)) if rows else None,
            "rows": [asdict(row) for row in rows],
            "skipped": [asdict(entry) for entry in skipped],
            "targets": [asdict(target) for target in judged],
        }
    if file is not None:
        report = {**environment(devices), "results": results}
        file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description="What a call of portarray adds, for every name.")
    parser.add_argument("--all", action="store_true", help="accepted for overhead.py")
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
        parser.error(f"--repeats: must be at least 1, got {options.repeats}")
    try:
        pattern = None if options.filter is None else re.compile(options.filter)
    except re.error as error:
        parser.error(f"--filter: not a regular expression: {options.filter}: {error}")
    try:
        if options.devices is None:
            devices = [device for device in pa.devices() if device.kind == "cpu"]
        else:
            devices = [pa.device(text) for text in options.devices.split(",")]
    except pa.errors.PortarrayError as error:
        parser.error(f"--devices: {error}")
    run(devices, options.repeats, pattern, options.worst, options.json)


if __name__ == "__main__":
    main()
