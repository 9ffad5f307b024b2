"""clarray compared with NumPy, PyTorch, dpnp and pyopencl.array on one CPU.

Every candidate gets the same values and number of threads, creates a new result in every call and
waits for it. Candidates alternate in one process, and the shortest time of each counts. Results are
ratios to NumPy; below 1 is faster. Compare ratios of the same run only.

    python benchmarks/clarray.py [--json clarray.json] [--repeats N] [--threads 2] [--growth]

``--growth`` measures NumPy and clarray at growing sizes, ``--size N`` measures all rows at one
size, and ``--only NAME`` selects rows by name. Targets are checked at the rows' own sizes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from command_line import SLEEPING, parser_of, require_positive, set_threads
from promises import Target, show_targets

SIZE = 1 << 24
GROWTH = (1_000, 100_000, 10_000_000, 100_000_000)
TARGET_TINY = 7e-6
TARGET_FIRST = 10e-3
TARGET_PEAK = 1.2

Namespace = Any
Inputs = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One array library: how to create arrays, and how to wait for results."""

    name: str
    xp: Namespace
    put: Callable[[Any], Any]
    wait: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Row:
    """One operation."""

    name: str  # what is measured
    inputs: Callable[[int], Inputs]  # the number of elements to NumPy arrays by name
    # The standard's namespace and the inputs to a result.
    run: Callable[[Namespace, Inputs], object]
    target: float | None = None  # the ratio to NumPy that is promised at :data:`SIZE`
    beats: tuple[str, ...] = ()  # candidates that are to be no faster
    size: int = SIZE  # elements, where it is not :data:`SIZE`
    # What users of one library write instead of ``run``.
    variants: Mapping[str, Callable[[Namespace, Inputs], object]] | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """The shortest time of one call, in seconds."""

    row: str
    size: int
    candidate: str
    seconds: float
    ratio: float


def rows() -> list[Row]:
    """Return every operation of the table."""
    import numpy as np

    rng = np.random.default_rng(7)

    def two(n: int) -> Inputs:
        return {"x": rng.random(n, np.float32) + 0.1, "y": rng.random(n, np.float32)}

    def square(n: int, dtype: Any = np.float32) -> Inputs:
        side = int(n**0.5)
        return {
            "x": rng.random((side, side)).astype(dtype),
            "y": rng.random((side, side)).astype(dtype),
            "row": rng.random((1, side)).astype(dtype),
            "column": rng.random((side, 1)).astype(dtype),
        }

    def picked(n: int) -> Inputs:
        x = rng.random(n, np.float32)
        return {"x": x, "mask": x > 0.5, "at": rng.integers(0, n, n)}

    def doubles(n: int) -> Inputs:
        return square(n, np.float64)

    def unary(name: str) -> Callable[[Namespace, Inputs], object]:
        return lambda xp, d: getattr(xp, name)(d["x"])

    both = ("pyopencl.array", "PyTorch")
    level = ("PyTorch", "dpnp")
    # array_api_compat calls torch.amax for several axes; people write torch.max.
    largest = {"PyTorch": lambda xp, d: d["x"].max()}
    return [
        Row("add", two, lambda xp, d: d["x"] + d["y"], 0.9, both),
        Row("multiply", two, lambda xp, d: d["x"] * d["y"], 0.9, both),
        *(Row(name, two, unary(name), 0.45, ("PyTorch",)) for name in ("exp", "sin", "tanh")),
        Row(
            "sum of all",
            two,
            unary("sum"),
            0.6,
            level,
            variants={"pyopencl.array": lambda xp, d: xp.sum(d["x"])},
        ),
        Row("max of all", two, unary("max"), 0.6, level, variants=largest),
        *(Row(f"max over axis {axis}", square, _along("max", axis), 0.5) for axis in (0, 1)),
        Row("cumulative_sum", two, lambda xp, d: xp.cumulative_sum(d["x"]), 0.25),
        Row("add a row", square, lambda xp, d: d["x"] + d["row"], 1.0),
        Row("add a column", square, lambda xp, d: d["x"] + d["column"], 1.0),
        Row(
            "transposed copy",
            square,
            lambda xp, d: xp.asarray(d["x"].T, copy=True),
            1.0,
            variants={
                "NumPy": lambda xp, d: xp.ascontiguousarray(d["x"].T),
                "PyTorch": lambda xp, d: d["x"].T.contiguous(),
                "dpnp": lambda xp, d: xp.ascontiguousarray(d["x"].T),
            },
        ),
        Row(
            "strided copy",
            square,
            lambda xp, d: xp.asarray(d["x"][:, ::2], copy=True),
            1.0,
            variants={
                "NumPy": lambda xp, d: xp.ascontiguousarray(d["x"][:, ::2]),
                "PyTorch": lambda xp, d: d["x"][:, ::2].contiguous(),
                "dpnp": lambda xp, d: xp.ascontiguousarray(d["x"][:, ::2]),
            },
        ),
        Row("boolean indexing", picked, lambda xp, d: d["x"][d["mask"]], 1.0),
        Row("take", picked, lambda xp, d: xp.take(d["x"], d["at"], axis=0), 1.0),
        Row("where", picked, lambda xp, d: xp.where(d["mask"], d["x"], d["x"]), 1.0),
        Row("matmul 1024", square, lambda xp, d: d["x"] @ d["y"], 1.0, size=1024**2),
        Row("matmul 2048", square, lambda xp, d: d["x"] @ d["y"], 1.0, size=2048**2),
        Row("matmul 1024 float64", doubles, lambda xp, d: d["x"] @ d["y"], 1.0, size=1024**2),
        Row("sort", two, unary("sort"), 1.1, variants={"PyTorch": lambda xp, d: d["x"].sort()}),
    ]


def _along(name: str, axis: int) -> Callable[[Namespace, Inputs], object]:
    return lambda xp, d: getattr(xp, name)(d["x"], axis=axis)


def candidates(threads: int) -> list[Candidate]:
    """Return NumPy, clarray, and what else is installed."""
    import numpy as np
    from installed import optional

    from portarray import clarray

    libraries = [
        Candidate("NumPy", np, lambda x: x, _nothing),
        Candidate("clarray", clarray, clarray.asarray, clarray.synchronize),
    ]
    torch = optional("torch")
    if torch is not None:
        import array_api_compat.torch as compat

        torch.set_num_threads(threads)
        # A copy: with shared memory, one candidate would fill the cache for the other.
        libraries.append(
            Candidate("PyTorch", compat, lambda x: torch.from_numpy(x.copy()), _nothing)
        )
    dpctl, dpnp = optional("dpctl"), optional("dpnp")
    if dpnp is not None and dpctl is not None:
        native = clarray.default_device().native
        # Use the same OpenCL runtime as clarray; dpnp's default may be another one.
        device = next(
            (
                opencl_device
                for opencl_device in dpctl.get_devices()
                if opencl_device.driver_version == native.driver_version
            ),
            None,
        )
        if device is not None:
            queue = dpctl.SyclQueue(device, property="in_order")
            libraries.append(
                Candidate("dpnp", dpnp, lambda x: dpnp.asarray(x, sycl_queue=queue), queue.wait)
            )
    libraries.append(_pyopencl_array())
    return libraries


def _nothing() -> None:
    """Do nothing: calls of this library are synchronous."""


def _pyopencl_array() -> Candidate:
    import types

    import pyopencl
    import pyopencl.array
    import pyopencl.clmath
    import pyopencl.tools

    from portarray import clarray

    context = pyopencl.Context([clarray.default_device().native])
    queue = pyopencl.CommandQueue(context)
    pool = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))
    xp = types.SimpleNamespace(
        exp=pyopencl.clmath.exp,
        sin=pyopencl.clmath.sin,
        tanh=pyopencl.clmath.tanh,
        sum=lambda x: pyopencl.array.sum(x, queue=queue),
        max=lambda x: pyopencl.array.max(x, queue=queue),
    )

    def put(x: Any) -> Any:
        return pyopencl.array.to_device(queue, x, allocator=pool)

    return Candidate("pyopencl.array", xp, put, queue.finish)


def actions(row: Row, size: int, libraries: list[Candidate]) -> dict[str, Callable[[], object]]:
    """Return the calls to time, for each library that has the operation."""
    values = row.inputs(size)
    results: dict[str, Callable[[], object]] = {}
    for library in libraries:
        run = (row.variants or {}).get(library.name, row.run)
        if library.name == "pyopencl.array" and row.name not in (
            "add",
            "multiply",
            "exp",
            "sin",
            "tanh",
            "sum of all",
            "max of all",
        ):
            continue  # not available in this form
        data = {name: library.put(value) for name, value in values.items()}

        def action(run: Any = run, library: Candidate = library, data: Inputs = data) -> None:
            result = run(library.xp, data)
            library.wait()
            del result

        results[library.name] = action
    return results


def table(
    libraries: list[Candidate], repeats: int, only: str, sizes: tuple[int, ...] | None
) -> list[Measured]:
    """Measure every row at its own size or at the given sizes."""
    from timing import shortest_times

    measurements: list[Measured] = []
    for row in rows():
        if only not in row.name:
            continue
        for size in sizes or (row.size,):
            if sizes and row.name.startswith("matmul"):
                size = min(size, 4096**2)
            # OpenBLAS's threads spin for milliseconds after a product.
            pause = 0.1 if "matmul" in row.name else 0.0
            best = shortest_times(actions(row, size, libraries), repeats, 5e-3, pause)
            for name, seconds in best.items():
                measurements.append(
                    Measured(row.name, size, name, seconds, seconds / best["NumPy"])
                )
            print_row(row, size, best)
    return measurements


def print_row(row: Row, size: int, best: Mapping[str, float]) -> None:
    """Print one measured row."""
    base = best["NumPy"]
    figures = "  ".join(f"{name} {seconds / base:6.3f}" for name, seconds in best.items())
    nanoseconds = best["clarray"] / size * 1e9
    print(f"{row.name:<20} {size:>11,}  {figures}   ({nanoseconds:.3f} ns an element)", flush=True)


def tiny(libraries: list[Candidate], repeats: int) -> dict[str, float]:
    """Return the time of adding three elements without waiting between calls."""
    import numpy as np
    from timing import shortest_times

    def adding(x: Any, y: Any, wait: Callable[[], object]) -> Callable[[], None]:
        def action() -> None:
            for _ in range(100):
                x + y
            wait()

        return action

    values = np.ones(3, np.float32)
    best = shortest_times(
        {
            library.name: adding(library.put(values), library.put(values), library.wait)
            for library in libraries
        },
        repeats,
        1e-3,
    )
    return {name: seconds / 100 for name, seconds in best.items()}


FIRST = """
from time import perf_counter
import numpy as np
from portarray import clarray as cl
x = cl.asarray(np.ones(8, np.float32)); cl.synchronize()
for name in ("exp", "sum", "cumulative_sum"):
    begin = perf_counter()
    getattr(cl, name)(x); cl.synchronize()
    print(name, perf_counter() - begin)
"""


def first_use(repeats: int) -> dict[str, float]:
    """Return the time of a function's first call in a new process, with cached kernels."""
    best: dict[str, float] = {}
    for turn in range(repeats + 1):
        run = subprocess.run(
            [sys.executable, "-c", FIRST], capture_output=True, text=True, check=True
        )
        if turn:  # The first one fills the disk cache.
            for line in run.stdout.splitlines():
                name, seconds = line.split()
                best[name] = min(best.get(name, float("inf")), float(seconds))
    return best


def peak() -> float:
    """Return the peak memory of an expression, relative to its live arrays."""
    from portarray import clarray as cl

    code_size = 1 << 26
    x = cl.ones((code_size,), dtype=cl.float32)
    cl.synchronize()
    cl.reclaim()
    # x and two temporaries are alive at the same time.
    live = 3 * 4 * code_size
    y = cl.sqrt(x * x + 1.0)
    cl.synchronize()
    figures = cl.memory()
    held = (figures.used or 0) + (figures.pooled or 0)
    del x, y
    return held / live


def targets(
    measured: list[Measured],
    tiny_times: Mapping[str, float],
    first: Mapping[str, float],
    peak_ratio: float,
) -> list[Target]:
    """Check the targets."""
    figures = {(measurement.row, measurement.candidate): measurement for measurement in measured}
    judged: list[Target] = []
    for row in rows():
        ours = figures.get((row.name, "clarray"))
        if ours is None:
            continue
        if row.target is not None:
            promise = f"{row.name}: at most {row.target} of NumPy's time"
            shown = f"{ours.ratio:.3f}"
            judged.append(Target(promise, shown, ours.ratio <= row.target))
        for name in row.beats:
            peer = figures.get((row.name, name))
            if peer is not None:
                ratio = ours.seconds / peer.seconds
                # 5 % are allowed for noise.
                judged.append(
                    Target(f"{row.name}: no slower than {name}", f"{ratio:.3f}", ratio <= 1.05)
                )
    if tiny_times:
        seconds = tiny_times["clarray"]
        promise = "a tiny add takes at most 7 us"
        shown = f"{seconds * 1e6:.2f} us"
        judged.append(Target(promise, shown, seconds <= TARGET_TINY))
    for name, seconds in first.items():
        promise = f"first {name} of a process takes at most 10 ms, kernels on disk"
        shown = f"{seconds * 1e3:.1f} ms"
        judged.append(Target(promise, shown, seconds <= TARGET_FIRST))
    if peak_ratio:
        promise = "an expression holds at most 1.2 times what is alive"
        shown = f"{peak_ratio:.3f}"
        judged.append(Target(promise, shown, peak_ratio <= TARGET_PEAK))
    return judged


def main() -> None:
    """Measure, print and write JSON."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=20, help="turns of each candidate")
    parser.add_argument("--threads", type=int, default=2, help="threads of every candidate")
    parser.add_argument("--growth", action="store_true", help="measure at growing sizes")
    parser.add_argument("--size", type=int, help="measure every row at this many elements")
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    options = parser.parse_args()
    require_positive(parser, options, "repeats", "threads", "size")
    sizes = GROWTH if options.growth else (options.size,) if options.size else None
    # Libraries read these when they are imported.
    set_threads(options.threads)
    os.environ.update(SLEEPING)
    warnings.filterwarnings("ignore", module="pyopencl")
    libraries = candidates(options.threads)
    if options.growth:
        libraries = libraries[:2]
    measured = table(libraries, options.repeats, options.only, sizes)
    judged: list[Target] = []
    tiny_times: dict[str, float] = {}
    first: dict[str, float] = {}
    if sizes is None:
        if not options.only:
            tiny_times = tiny(libraries, options.repeats)
            base = tiny_times["NumPy"]
            for name, seconds in tiny_times.items():
                print(
                    f"tiny add: {name:<16} {seconds * 1e6:6.2f} us, {seconds / base:6.1f} of NumPy"
                )
            first = first_use(3)
        judged = targets(measured, tiny_times, first, 0.0 if options.only else peak())
        show_targets(judged)
    if options.json is not None:
        import portarray as pa
        from portarray._cli.bench.report import environment

        named = {
            "numpy": "NumPy",
            "opencl": "clarray",
            "torch:cpu": "PyTorch",
            "dpnp:oneapi": "dpnp",
        }
        there = {library.name for library in libraries}
        devices = [pa.device(name) for name, shown in named.items() if shown in there]
        report = {
            **environment(devices, threads=options.threads),
            "rows": [asdict(entry) for entry in measured],
            "aims": {row.name: row.target for row in rows() if row.target is not None},
            "tiny": tiny_times,
            "first_use": first,
            "targets": [asdict(entry) for entry in judged],
            "peak_resident_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
