"""User kernels compared with Numba's compiled loops and NumPy, on one CPU.

Every candidate gets the same values and number of threads, writes into the same arrays and waits
for completion. Candidates alternate in one process; the shortest time of each counts. Results are
ratios to Numba's ``njit(parallel=True)`` with ``fastmath=False``, which rounds as kernels do; below
1 is faster. Compare ratios of the same run only.

    python benchmarks/user_kernels.py [--json user_kernels.json] [--repeats N] [--threads 2]
    python benchmarks/user_kernels.py --read user_kernels.json

``--only NAME`` selects rows by name; ``--read`` prints an earlier report.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import reports
from command_line import SLEEPING, parser_of, require_positive, set_threads
from promises import Target, show_targets

SIZE = 1 << 24
SIDE = 4096
TILE = 32
GROUP = 256
PARTS = 1024  # groups of the reduction
IMAGE = 1024
MOST = 200  # iterations of the Mandelbrot set
TINY = 1000
MANY_KEYS = 1 << 20

OURS = ("clarray", "NumPy memory")

Action = Callable[[], object]
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Row:
    """One computation; a target is (candidate, peer, largest ratio)."""

    name: str
    actions: Mapping[str, Action]
    targets: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """The shortest time of one call, in seconds."""

    row: str
    candidate: str
    seconds: float
    ratio: float


def kernels() -> dict[str, Any]:
    """Return the kernels."""
    import portarray as pa
    import portarray.kernel_language as kl

    @pa.kernel
    def saxpy(y: Any, a: Any, x: Any) -> None:
        i = kl.index()
        y[i] = a * x[i] + y[i]

    @pa.kernel
    def stencil(out: Any, x: Any) -> None:
        i, j = kl.index()
        if 0 < i < x.shape[0] - 1 and 0 < j < x.shape[1] - 1:
            around = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
            out[i, j] = x[i, j] + 0.1 * (around - 4.0 * x[i, j])

    @pa.kernel
    def mandelbrot(out: Any, most: Any) -> None:
        i, j = kl.index()
        cx = kl.float32(-2.0) + kl.float32(3.0) * j / out.shape[1]
        cy = kl.float32(-1.5) + kl.float32(3.0) * i / out.shape[0]
        zx = kl.float32(0.0)
        zy = kl.float32(0.0)
        count = kl.int32(0)
        while count < most and zx * zx + zy * zy < 4.0:
            zx, zy = zx * zx - zy * zy + cx, 2.0 * zx * zy + cy
            count += 1
        out[i, j] = count

    @pa.kernel
    def transpose(out: Any, x: Any) -> None:
        tile = kl.local((TILE, TILE + 1), kl.float32)
        i, j = kl.local_index()
        row, column = kl.group_index()
        tile[i, j] = x[column * TILE + i, row * TILE + j]
        kl.barrier()
        out[row * TILE + i, column * TILE + j] = tile[j, i]

    @pa.kernel
    def total(parts: Any, x: Any) -> None:
        sums = kl.local(GROUP, kl.float32)
        i = kl.local_index()
        partial_sum = kl.float32(0.0)
        share = x.size // PARTS
        for k in range(kl.group_index() * share + i, (kl.group_index() + 1) * share, GROUP):
            partial_sum += x[k]
        sums[i] = partial_sum
        kl.barrier()
        step = GROUP // 2
        while step > 0:
            if i < step:
                sums[i] += sums[i + step]
            kl.barrier()
            step //= 2
        if i == 0:
            parts[kl.group_index()] = sums[0]

    return {
        "saxpy": saxpy, "stencil": stencil, "mandelbrot": mandelbrot, "transpose": transpose,
        "total": total,
    }  # fmt: skip


def farther(a: Any, b: Any) -> Any:
    """Return the operand farther from zero, an operator that no library has."""
    return a if abs(a) >= abs(b) else b


def nearer(a: Any, b: Any) -> Any:
    """Return whether a is nearer to zero."""
    return abs(a) < abs(b)


def compiled_loops() -> dict[str, Any]:
    """Return the loops of a Numba user."""
    import numpy as np

    # Numba is not installed everywhere that types are checked.
    numba: Any = importlib.import_module("numba")
    jit: Callable[[Function], Function] = numba.njit(parallel=True, fastmath=False)
    serial: Callable[[Function], Function] = numba.njit(fastmath=False)  # not parallel
    tenth, four, two = np.float32(0.1), np.float32(4), np.float32(2)
    zero, x_min, y_min, three = np.float32(0), np.float32(-2), np.float32(-1.5), np.float32(3)
    int_one, prange = np.int32(1), numba.prange

    @jit
    def saxpy(y: Any, a: Any, x: Any) -> None:
        for i in prange(y.shape[0]):
            y[i] = a * x[i] + y[i]

    # The kernel's text: literals are float64 in Numba, and so are products with float32.
    @jit
    def stencil(out: Any, x: Any) -> None:
        for i in prange(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                around = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
                out[i, j] = x[i, j] + 0.1 * (around - 4.0 * x[i, j])

    @jit
    def stencil_single(out: Any, x: Any) -> None:
        for i in prange(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                around = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1]
                out[i, j] = x[i, j] + tenth * (around - four * x[i, j])

    @jit
    def mandelbrot(out: Any, most: Any) -> None:
        height, width = np.float32(out.shape[0]), np.float32(out.shape[1])
        for i in prange(out.shape[0]):
            for j in range(out.shape[1]):
                cx = x_min + three * np.float32(j) / width
                cy = y_min + three * np.float32(i) / height
                zx = zero
                zy = zero
                count = np.int32(0)
                while count < most and zx * zx + zy * zy < four:
                    zx, zy = zx * zx - zy * zy + cx, two * zx * zy + cy
                    count += int_one
                out[i, j] = count

    @jit
    def transpose(out: Any, x: Any) -> None:
        for tile in prange((x.shape[0] // 32) * (x.shape[1] // 32)):
            first_row = tile // (x.shape[1] // 32) * 32
            first = tile % (x.shape[1] // 32) * 32
            for i in range(first_row, first_row + 32):
                for j in range(first, first + 32):
                    out[i, j] = x[j, i]

    @jit
    def total(x: Any) -> Any:
        out = zero
        for i in prange(x.shape[0]):
            out += x[i]
        return out

    # Numba reduces only +, *, min and max in parallel; others are written in parts.
    @jit
    def farthest(x: Any) -> Any:
        share = x.shape[0] // PARTS
        parts = np.empty(PARTS, x.dtype)
        for part in prange(PARTS):
            best = x[part * share]
            for k in range(part * share + 1, (part + 1) * share):
                best = best if abs(best) >= abs(x[k]) else x[k]
            parts[part] = best
        best = parts[0]
        for k in range(1, PARTS):
            best = best if abs(best) >= abs(parts[k]) else parts[k]
        return best

    @serial
    def farthest_so_far(x: Any) -> Any:
        out = np.empty_like(x)
        best = x[0]
        for k in range(x.shape[0]):
            best = best if abs(best) >= abs(x[k]) else x[k]
            out[k] = best
        return out

    @serial
    def sorted_by_key(keys: Any, values: Any) -> Any:
        places = np.argsort(np.abs(keys), kind="mergesort")
        return values[places]

    return {
        "saxpy": saxpy, "stencil": stencil, "stencil_single": stencil_single,
        "mandelbrot": mandelbrot, "transpose": transpose, "total": total, "farthest": farthest,
        "farthest_so_far": farthest_so_far, "sorted_by_key": sorted_by_key,
    }  # fmt: skip


def promise(ratio: float, peer: str = "Numba") -> tuple[tuple[str, str, float], ...]:
    """Return the targets of a row: the largest ratio to a peer, for each of our candidates."""
    return tuple((candidate, peer, ratio) for candidate in OURS)


def rows(only: str) -> list[Row]:
    """Return the rows after checking that all candidates agree."""
    import numpy as np

    import portarray as pa
    from portarray.kernel_language.algorithms import accumulate, reduce, sort_by_key

    ours, loops = kernels(), compiled_loops()
    rng = np.random.default_rng(7)
    devices = {"clarray": pa.device("opencl"), "NumPy memory": pa.device("numpy")}
    cases: list[Row] = []

    def put(x: Any, name: str) -> Any:
        return pa.asarray(x, device=devices[name], copy=name != "NumPy memory")

    def add(
        name: str,
        inputs: Callable[[], tuple[Any, ...]],
        numpy: Callable[..., object] | None,
        loop: Callable[..., object],
        kernel: Callable[..., Any],
        targets: tuple[tuple[str, str, float], ...],
        tolerance: float = 1e-5,
        single: Callable[..., object] | None = None,
    ) -> None:
        """Add a row. The result is the first input or the returned array."""
        if only not in name:
            return
        actions: dict[str, Action] = {}
        results = {}
        for who, run in (("NumPy", numpy), ("Numba", loop), ("Numba float32", single)):
            if run is None:
                continue
            data = inputs()
            out = run(*data)
            results[who] = np.asarray(data[0] if out is None else out).copy()
            actions[who] = partial(run, *data)
            if who == "Numba":
                shared, writes = data, out is None
        for who in OURS:
            # Numba and NumPy memory share arrays: the location of pages matters.
            arguments = shared if who == "NumPy memory" else inputs()
            if writes:
                arguments[0][...] = 0
            data = tuple(put(x, who) if isinstance(x, np.ndarray) else x for x in arguments)
            results[who] = np.asarray(kernel(*data)).copy()

            def action(data: Any = data, device: Any = devices[who]) -> None:
                kernel(*data)
                pa.synchronize(device)

            actions[who] = action
        want = results["Numba"].astype(np.float64)
        for who, got in results.items():
            np.testing.assert_allclose(got, want, rtol=tolerance, err_msg=f"{name}: {who}")
        cases.append(Row(name, actions, targets))

    x = rng.random(SIZE, np.float32)
    scratch = np.empty(SIZE, np.float32)

    def saxpy_numpy(y: Any, a: float, x: Any) -> None:
        np.multiply(x, np.float32(a), out=scratch)
        np.add(y, scratch, out=y)

    both = (*promise(1.05), *promise(0.6, "NumPy"))
    add(
        "saxpy", lambda: (np.zeros(SIZE, np.float32), 2.0, x),
        saxpy_numpy, lambda y, a, x: loops["saxpy"](y, np.float32(a), x), ours["saxpy"], both,
    )  # fmt: skip
    square = rng.random((SIDE, SIDE), np.float32)

    def stencil_numpy(out: Any, x: Any) -> None:
        inner = x[1:-1, 1:-1]
        around = x[:-2, 1:-1] + x[2:, 1:-1]
        around += x[1:-1, :-2]
        around += x[1:-1, 2:]
        around -= np.float32(4) * inner
        around *= np.float32(0.1)
        np.add(inner, around, out=out[1:-1, 1:-1])

    add(
        "stencil", lambda: (np.zeros_like(square), square), stencil_numpy, loops["stencil"],
        ours["stencil"], promise(0.7), 1e-4,
        loops["stencil_single"],
    )  # fmt: skip
    add(
        "mandelbrot", lambda: (np.zeros((IMAGE, IMAGE), np.int32), MOST), None,
        loops["mandelbrot"], ours["mandelbrot"], promise(0.1),
    )  # fmt: skip
    add(
        "transpose", lambda: (np.zeros_like(square), square),
        lambda out, x: np.copyto(out, x.T), loops["transpose"],
        lambda out, x: ours["transpose"](out, x, ndrange=x.shape, group=(TILE, TILE)),
        promise(1.0),
    )  # fmt: skip

    def reduced(parts: Any, x: Any) -> Any:
        parts = ours["total"](parts, x, ndrange=PARTS * GROUP, group=GROUP)
        return pa.sum(parts)

    add(
        "reduction", lambda: (np.zeros(PARTS, np.float32), x), lambda parts, x: np.sum(x),
        lambda parts, x: loops["total"](x), reduced, promise(1.0),
        1e-3,
    )  # fmt: skip

    signed = x - np.float32(0.5)
    add(
        "own reduction", lambda: (signed,), lambda x: x[np.argmax(np.abs(x))], loops["farthest"],
        lambda x: reduce(farther, x), promise(1.0),
    )  # fmt: skip
    add(
        "own scan", lambda: (signed,), None, loops["farthest_so_far"],
        lambda x: accumulate(farther, x), promise(1.0),
    )  # fmt: skip

    def sorted_numpy(keys: Any, values: Any) -> Any:
        return values[np.argsort(np.abs(keys), kind="stable")]

    some = signed[:MANY_KEYS]
    add(
        "own order", lambda: (some, np.arange(MANY_KEYS, dtype=np.int32)), sorted_numpy,
        loops["sorted_by_key"], lambda keys, values: sort_by_key(keys, values, less=nearer)[1],
        promise(1.0),
    )  # fmt: skip
    return cases


def built_in(repeats: int) -> dict[str, float]:
    """Return ratios of algorithms with a built-in operator to the library's functions."""
    import operator

    import numpy as np
    from timing import shortest_times

    import portarray as pa
    from portarray.kernel_language.algorithms import accumulate, reduce, sort_by_key

    def in_order(x: Any) -> Any:
        return pa.take(x, pa.argsort(x))

    values = np.random.default_rng(7).random(SIZE, np.float32)
    ratios: dict[str, float] = {}
    for name, device in (("clarray", "opencl"), ("NumPy memory", "numpy")):
        x = pa.asarray(values, device=device, copy=True)
        keys = x[:MANY_KEYS]
        pairs: dict[str, tuple[Action, Action]] = {
            "reduce(operator.add)": (partial(reduce, operator.add, x), partial(pa.sum, x)),
            "reduce(max)": (partial(reduce, max, x), partial(pa.max, x)),
            "accumulate(operator.add)": (
                partial(accumulate, operator.add, x), partial(pa.cumulative_sum, x)
            ),
            "sort_by_key": (partial(sort_by_key, keys), partial(in_order, keys)),
        }  # fmt: skip
        for label, both in pairs.items():
            actions: dict[str, Action] = {}
            for who, run in zip(("ours", "own"), both, strict=True):

                def action(run: Action = run, device: Any = x.device) -> None:
                    run()
                    pa.synchronize(device)

                actions[who] = action
            best = shortest_times(actions, repeats, 5e-3)
            ratios[f"{label} on {name}"] = best["ours"] / best["own"]
    return ratios


def measured(cases: list[Row], repeats: int) -> list[Measured]:
    """Measure the rows and print them."""
    from timing import shortest_times

    out: list[Measured] = []
    for row in cases:
        best = shortest_times(row.actions, repeats, 5e-3)
        base = best["Numba"]
        out += [
            Measured(row.name, name, shortest, shortest / base) for name, shortest in best.items()
        ]
        figures = "  ".join(f"{name} {shortest / base:6.3f}" for name, shortest in best.items())
        print(f"{row.name:<12} {figures}   (Numba {base * 1e3:.2f} ms)", flush=True)
    return out


def launches(repeats: int) -> dict[str, float]:
    """Return the seconds of one call on 1,000 elements, and of clarray's own addition in place."""
    import numpy as np
    from installed import optional
    from timing import shortest_times

    import portarray as pa
    from portarray import clarray

    saxpy = kernels()["saxpy"]
    values = np.ones(TINY, np.float32)
    actions: dict[str, Action] = {}
    first, second = clarray.asarray(values), clarray.asarray(values)

    def added() -> None:
        for _ in range(100):
            first + second
        clarray.synchronize()

    actions["clarray's add"] = added
    names = {"clarray": "opencl", "NumPy memory": "numpy"}
    if optional("torch") is not None:
        names["PyTorch memory"] = "torch"
    for name, device in names.items():
        x, y = (pa.asarray(values, device=device, copy=True) for _ in range(2))

        def launched(x: Any = x, y: Any = y) -> None:
            for _ in range(100):
                saxpy(y, 0.0, x)
            pa.synchronize(x.device)

        actions[name] = launched
    return {
        name: shortest / 100 for name, shortest in shortest_times(actions, repeats, 5e-3).items()
    }


FIRST = """
import sys
from time import perf_counter
from typing import Any
import numpy as np
import portarray as pa, portarray.kernel_language as kl
x = pa.ones(8, dtype=pa.float32, device=sys.argv[1])
y = pa.exp(x)
pa.synchronize(x.device)

@pa.kernel
def saxpy(y: Any, a: Any, x: Any) -> None:
    i = kl.index()
    y[i] = a * x[i] + y[i]

if len(sys.argv) > 2:
    # Another kernel first, which finds and loads the device's runtime.
    @pa.kernel
    def double(y: Any) -> None:
        i = kl.index()
        y[i] = 2.0 * y[i]
    double(y)
    pa.synchronize(x.device)
begin = perf_counter()
saxpy(y, 2.0, x)
pa.synchronize(x.device)
print(perf_counter() - begin)
"""


def first_calls(repeats: int) -> dict[str, dict[str, float]]:
    """Return the seconds of a kernel's first call in a process, by device and cache."""
    by_device: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        # Bytecode is cached, as for installed packages.
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        # For NumPy memory, OpenCL is loaded by a process's first kernel.
        for name in ("opencl", "numpy", "numpy, second kernel"):
            first_call(name, environment)
            turns = [first_call(name, environment) for _ in range(repeats)]
            by_device[name] = {cache: min(turn[cache] for turn in turns) for cache in turns[0]}
    return by_device


def first_call(name: str, environment: Mapping[str, str]) -> dict[str, float]:
    """Return the seconds of a kernel's first call, without and with a cache."""
    by_cache = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "first.py"
        file.write_text(FIRST)
        # Folders where portarray and OpenCL runtimes cache programs.
        below = ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "POCL_CACHE_DIR", "CLARRAY_CACHE_DIR")
        for cache in ("nothing cached", "cached on disk"):
            run = subprocess.run(
                [sys.executable, str(file), *name.split(", ")],
                capture_output=True, text=True, check=True,
                env={**environment, **dict.fromkeys(below, folder)},
            )  # fmt: skip
            by_cache[cache] = float(run.stdout)
    return by_cache


def front_end(repeats: int) -> dict[str, float]:
    """Return the seconds to translate a kernel to OpenCL."""
    import portarray as pa

    x = pa.ones((8, 8), dtype=pa.float32, device="numpy")
    flat = pa.ones(8, dtype=pa.float32, device="numpy")
    count = pa.ones((8, 8), dtype=pa.int32, device="numpy")
    arguments_by_name = {
        "saxpy": (flat, 2.0, flat), "stencil": (x, x), "mandelbrot": (count, 5),
        "transpose": (x, x), "total": (flat, flat),
    }  # fmt: skip
    best = dict.fromkeys(arguments_by_name, float("inf"))
    for _ in range(repeats):
        compiled = kernels()
        for name, arguments in arguments_by_name.items():
            start = perf_counter()
            compiled[name].source("opencl", *arguments)
            best[name] = min(best[name], perf_counter() - start)
    return best


def targets(
    cases: list[Row], figures: list[Measured], tiny: Mapping[str, float],
    first: Mapping[str, Mapping[str, float]], front: Mapping[str, float],
    library_ratios: Mapping[str, float],
) -> list[Target]:  # fmt: skip
    """Check the targets."""
    seconds = {
        (measurement.row, measurement.candidate): measurement.seconds for measurement in figures
    }
    out: list[Target] = []
    for row in cases:
        for who, peer, most in row.targets:
            ratio = seconds[row.name, who] / seconds[row.name, peer]
            promise = f"{row.name} on {who}: at most {most} of {peer}'s time"
            out.append(Target(promise, f"{ratio:.3f}", ratio <= most))
    if tiny:
        ratio = tiny["clarray"] / tiny["clarray's add"]
        promise = f"a launch on {TINY:,} elements: at most 1.1 of clarray's add"
        out.append(Target(promise, f"{ratio:.3f}", ratio <= 1.1))
    for name in ("NumPy memory", "PyTorch memory"):
        if name in tiny:
            promise = f"a launch on {TINY:,} elements in {name}: at most 7 us"
            out.append(Target(promise, f"{tiny[name] * 1e6:.2f} us", tiny[name] <= 7e-6))
    most_of = {"nothing cached": 300e-3, "cached on disk": 30e-3}
    for device, times in first.items():
        for cache, took in times.items():
            promise = f"first call on {device}, {cache}: at most {most_of[cache] * 1e3:.0f} ms"
            out.append(Target(promise, f"{took * 1e3:.1f} ms", took <= most_of[cache]))
    for name, took in front.items():
        promise = f"front end and printer of {name}: at most 2 ms"
        out.append(Target(promise, f"{took * 1e3:.2f} ms", took <= 2e-3))
    for name, ratio in library_ratios.items():
        promise = f"{name}: at most 1.05 of the library's own function"
        out.append(Target(promise, f"{ratio:.3f}", ratio <= 1.05))
    return out


def tables(report: Mapping[str, Any]) -> str:
    """Return a report as Markdown: ratios to Numba, then the targets."""
    names = list(dict.fromkeys(entry["candidate"] for entry in report["rows"]))
    ratios = {(entry["row"], entry["candidate"]): entry["ratio"] for entry in report["rows"]}
    lines = [f"| kernel | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    for row in dict.fromkeys(entry["row"] for entry in report["rows"]):
        cells = [f"{ratios[row, name]:.2f}" if (row, name) in ratios else "" for name in names]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    lines += ["", "| target | measured | |", "| --- | --- | --- |"]
    for entry in report["targets"]:
        promise = f"{entry['promise'][0].upper()}{entry['promise'][1:]}"
        lines.append(f"| {promise} | {entry['figure']} | {'' if entry['holds'] else 'missed'} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print and write JSON."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=20, help="turns of each candidate")
    parser.add_argument("--threads", type=int, default=2, help="threads of every candidate")
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    parser.add_argument("--read", type=Path, help="show the figures in this file instead")
    options = parser.parse_args()
    if options.read is not None:
        finish(json.loads(options.read.read_text("utf-8")), None)
        return
    require_positive(parser, options, "repeats", "threads")
    # Libraries read these when they are imported.
    set_threads(options.threads, "NUMBA_NUM_THREADS")
    os.environ.update(SLEEPING)
    warnings.filterwarnings("ignore", module="pyopencl")
    cases = rows(options.only)
    figures = measured(cases, options.repeats)
    tiny = launches(options.repeats) if options.only in "launch" else {}
    for name, entry in tiny.items():
        print(f"launch: {name:<16} {entry * 1e6:6.2f} us")
    first = first_calls(3) if options.only in "first" else {}
    front = front_end(options.repeats) if options.only in "front end" else {}
    ratios = built_in(options.repeats) if options.only in "built in" else {}
    from importlib.metadata import version

    import portarray as pa
    from portarray._cli.bench.report import environment

    devices = (pa.device("numpy"), pa.device("opencl"))
    report = {
        **environment(devices, threads=options.threads, numba=version("numba")),
        "rows": [asdict(entry) for entry in figures],
        "launch": tiny,
        "first_call": first,
        "front_end": front,
        "built_in": ratios,
        "targets": [asdict(entry) for entry in targets(cases, figures, tiny, first, front, ratios)],
    }
    finish(report, options.json)


def finish(report: Mapping[str, Any], file: Path | None) -> None:
    """Print the targets and write the report."""
    show_targets([Target(**target) for target in report["targets"]])
    reports.write(report, file)


if __name__ == "__main__":
    main()
