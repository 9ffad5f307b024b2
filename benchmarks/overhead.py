"""The overhead of a call through portarray, compared with the libraries' own calls.

Candidates alternate in random order in one run; the shortest time of each counts. Times depend on
the machine; ratios and differences hardly do. Each library is measured twice under two names; the
difference is noise. Small arrays show the cost of the call itself, also for libraries that compute
later (MLX) or asynchronously (JAX, GPUs); calls on large arrays are waited for. Missed targets are
printed and raise no error.

    python benchmarks/overhead.py [--device DEVICE ...] [--json overhead.json] [--repeats N]
    python benchmarks/overhead.py --all [--devices numpy,torch] [--filter REGEX] [--worst N]

``--all`` measures every function and operator of the standard; see ``overhead_all.py``.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import array_api_compat
import numpy as np
import overhead_all
from command_line import devices_of, parser_of, require_positive
from installed import optional
from promises import Target, show_targets
from timing import shortest_times

import portarray as pa
from portarray._cli.bench.report import environment
from portarray._cli.bench.timing import Action

TINY = 4
LARGE = 1_000_000
HUGE = 100_000_000  # on GPUs, which smaller arrays do not fill
TARGET_ADDED = 0.5e-6
TARGET_ADDED_TO_NUMPY = 0.35e-6  # to its x + y and sin(x)
TARGET_NAMESPACE = 0.1e-6
TARGET_IMPORT = 30e-3
NOISE = 0.03  # minimum difference between two measurements of one call
AGAIN = " again"
OURS = "portarray on "

# The module with a library's functions, unless it has the library's name.
MODULES = {"mlx": "mlx.core", "jax": "jax.numpy", "clarray": "portarray.clarray"}


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table; the shortest times of one call, in seconds."""

    size: str
    what: str
    candidate: str
    seconds: float
    baseline: str
    ratio: float
    difference: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two arrays, the module with the functions for them, and how to wait for a result."""

    x: Any
    y: Any
    xp: Any
    baseline: str
    finish: Callable[[Any], object]


def names_of(devices: Sequence[pa.Device]) -> dict[pa.Device, str]:
    """Return a unique title of each device's library."""
    times = Counter(device.library for device in devices)
    return {
        device: device._backend.info.title
        if times[device.library] == 1
        else f"{device._backend.info.title} {device}"
        for device in devices
    }


def finisher(device: pa.Device) -> Callable[[Any], object]:
    """Return a function that waits until a native array of a device is computed."""
    if device.library == "mlx":
        evaluate: Callable[[Any], object] = importlib.import_module("mlx.core").eval
        return evaluate
    if device.library == "jax":
        return lambda x: x.block_until_ready()
    return lambda x: pa.synchronize(device)


def candidates(devices: Sequence[pa.Device], size: int) -> dict[str, Candidate]:
    """Return two arrays of the same values for every library, and portarray on each."""
    # Every device has this dtype and computes with it natively.
    x = np.linspace(0.1, 1.1, size, dtype=np.float32)
    y = np.linspace(1.1, 0.1, size, dtype=np.float32)
    by_name: dict[str, Candidate] = {}
    for device, name in names_of(devices).items():
        ours = [pa.asarray(values, device=device, copy=True) for values in (x, y)]
        xp = importlib.import_module(MODULES.get(device.library, device.library))
        finish = finisher(device)
        if device.library == "torch" and device.kind == "cpu":
            # Threads would add noise.
            xp.set_num_threads(1)
        native = Candidate(ours[0].native, ours[1].native, xp, name, finish)
        by_name[name] = by_name[name + AGAIN] = native
        by_name[OURS + name] = Candidate(ours[0], ours[1], pa, name, _behind(finish))
    strict = optional("array_api_strict")
    if strict is not None and "NumPy" in by_name:
        by_name["array_api_strict"] = Candidate(
            strict.asarray(x), strict.asarray(y), strict, "NumPy", lambda x: None
        )
    return by_name


def _behind(finish: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda x: finish(x.native)


def operations_on(candidate: Candidate, *, finished: bool) -> dict[str, Action]:
    """Return the operations as users of each library write them."""
    x, y, finish = candidate.x, candidate.y, candidate.finish
    sin, total = candidate.xp.sin, candidate.xp.sum
    if finished:
        return {
            "x + y": lambda: finish(x + y),
            "sin(x)": lambda: finish(sin(x)),
            "sum(x)": lambda: finish(total(x)),
        }
    return {
        "x + y": lambda: x + y,
        "x + 1.0": lambda: x + 1.0,
        "sin(x)": lambda: sin(x),
        "sum(x)": lambda: total(x),
        "x[0]": lambda: x[0],
    }


def operations(devices: Sequence[pa.Device], size: int, repeats: int) -> list[Measured]:
    """Measure the operations at one size."""
    tiny = size == TINY
    label = "tiny" if tiny else f"{size:,}"
    measured = candidates(devices, size)
    actions = {
        name: operations_on(candidate, finished=not tiny) for name, candidate in measured.items()
    }
    busy = [device for device in devices if device.kind != "cpu"]

    def wait() -> None:
        for device in busy:
            pa.synchronize(device)

    rows: list[Measured] = []
    for operation in next(iter(actions.values())):
        best = shortest_times(
            {name: table[operation] for name, table in actions.items()},
            repeats,
            2e-3,
            before_turn=wait,
        )
        for name, seconds in best.items():
            baseline = measured[name].baseline
            base = best[baseline]
            rows.append(
                Measured(label, operation, name, seconds, baseline, seconds / base, seconds - base)
            )
    return rows


def namespaces(repeats: int) -> list[Measured]:
    """Measure how library code gets its namespace."""
    values = np.ones(TINY)
    ours = pa.asarray(values, device="numpy")
    best = shortest_times(
        {
            "array_api_compat.array_namespace(x), NumPy": lambda: array_api_compat.array_namespace(
                values
            ),
            "array_api_compat.array_namespace(x), portarray": lambda: (
                array_api_compat.array_namespace(ours)
            ),
            "x.__array_namespace__(), NumPy": lambda: values.__array_namespace__(),
            "x.__array_namespace__(), portarray": lambda: ours.__array_namespace__(),
            "an empty call": lambda: None,
        },
        repeats,
        0.002,
    )
    # Subtract the cost of timing.
    empty = best.pop("an empty call")
    base = best["array_api_compat.array_namespace(x), NumPy"] - empty
    return [
        Measured(
            "tiny",
            "namespace of x",
            name,
            seconds - empty,
            "array_namespace(x), NumPy",
            (seconds - empty) / base,
            seconds - empty - base,
        )
        for name, seconds in best.items()
    ]


def creation(repeats: int) -> list[Measured]:
    """Measure creation beside an array, and what forwarding any arguments would cost."""
    xp: Any = pa.ones(TINY, device="numpy").__array_namespace__()
    default, dtype = pa.device("numpy"), pa.float32

    def forwarded(*args: Any, device: Any = None, **options: Any) -> Any:
        return pa.zeros(*args, device=default if device is None else device, **options)

    with default:
        best = shortest_times(
            {
                "pa.zeros": lambda: pa.zeros(TINY, dtype=dtype),
                "x.__array_namespace__().zeros": lambda: xp.zeros(TINY, dtype=dtype),
                "forwarding any arguments": lambda: forwarded(TINY, dtype=dtype),
            },
            repeats,
            0.002,
        )
    base = best["pa.zeros"]
    return [
        Measured(
            "tiny", f"zeros({TINY})", name, seconds, "pa.zeros", seconds / base, seconds - base
        )
        for name, seconds in best.items()
    ]


def imports(repeats: int) -> list[Measured]:
    """Measure imports in new processes, without the interpreter's start."""
    best = dict.fromkeys(("numpy", "portarray"), float("inf"))
    # The first import of each fills a bytecode cache and does not count.
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        settings["PYTHONPYCACHEPREFIX"] = folder
        for turn in range(repeats + 1):
            for name in best:
                code = f"from time import perf_counter as t; b = t(); import {name}; print(t() - b)"
                command = [sys.executable, "-c", code]
                run = subprocess.run(
                    command, env=settings, capture_output=True, text=True, check=True
                )
                if turn:
                    best[name] = min(best[name], float(run.stdout))
    base = best["numpy"]
    return [
        Measured("", "import", name, seconds, "numpy", seconds / base, seconds - base)
        for name, seconds in best.items()
    ]


def targets(rows: list[Measured]) -> list[Target]:
    """Check the targets; noise counts in portarray's favour."""
    by_key = {(row.size, row.what, row.candidate): row for row in rows}
    large = {f"{LARGE:,}", f"{HUGE:,}"}
    out: list[Target] = []
    for (size, operation, name), row in by_key.items():
        if not name.startswith(OURS):
            continue
        again = by_key.get((size, operation, row.baseline + AGAIN))
        if size == "tiny":
            strict = row.baseline == "NumPy" and operation in ("x + y", "sin(x)")
            most = TARGET_ADDED_TO_NUMPY if strict else TARGET_ADDED
            noise = 0.0 if again is None else abs(again.difference)
            promise = f"at most {most * 1e6:.2f} us added to {row.baseline}'s {operation}, tiny"
            shown = f"{row.difference * 1e6:.2f} us, noise {noise * 1e6:.2f} us"
            out.append(Target(promise, shown, row.difference - noise <= most))
        elif size in large:
            relative = NOISE if again is None else max(NOISE, 2 * abs(again.ratio - 1))
            promise = f"no difference beyond noise: {operation}, {name}, {size}"
            shown = f"ratio {row.ratio:.3f}, noise {relative:.3f}"
            out.append(Target(promise, shown, row.ratio <= 1 + relative))
    torch = by_key.get(("tiny", "x + y", "PyTorch"))
    ours = by_key.get(("tiny", "x + y", OURS + "NumPy"))
    if torch is not None and ours is not None:
        promise = "x + y on NumPy faster than PyTorch's own, tiny"
        shown = f"ratio {ours.seconds / torch.seconds:.2f}"
        out.append(Target(promise, shown, ours.seconds < torch.seconds))
    name_of = by_key.get(("tiny", "namespace of x", "x.__array_namespace__(), portarray"))
    if name_of is not None:
        promise = "x.__array_namespace__() under 0.1 us"
        shown = f"{name_of.seconds * 1e6:.3f} us"
        out.append(Target(promise, shown, name_of.seconds < TARGET_NAMESPACE))
    imported = by_key.get(("", "import", "portarray"))
    if imported is not None:
        promise = "import portarray at most 30 ms over import numpy"
        shown = f"{imported.difference * 1e3:.1f} ms"
        out.append(Target(promise, shown, imported.difference <= TARGET_IMPORT))
    return out


def show(rows: list[Measured], judged: list[Target]) -> None:
    """Print the tables."""
    print(f"{'size':>10}  {'what':<15} {'candidate':<47} {'time':>10} {'ratio':>8} {'added':>11}")
    previous = ("", "")
    for row in rows:
        if (row.size, row.what) != previous:
            print()
        previous = (row.size, row.what)
        print(
            f"{row.size:>10}  {row.what:<15} {row.candidate:<47} {row.seconds * 1e6:>7.2f} us "
            f"{row.ratio:>8.2f} {row.difference * 1e6:>+8.2f} us  vs {row.baseline}"
        )
    show_targets(judged)


def sizes(devices: Sequence[pa.Device]) -> dict[int, list[pa.Device]]:
    """Return the large sizes with the devices to measure."""
    gpus = []
    for device in devices:
        free = pa.memory(device).free
        if device.kind == "gpu" and (free is None or free > 8 * 8 * HUGE):
            gpus.append(device)
    by_size = {LARGE: list(devices)}
    return {**by_size, HUGE: gpus} if gpus else by_size


def main() -> None:
    """Measure, print and write JSON."""
    if "--all" in sys.argv[1:]:
        overhead_all.main()
        return
    parser = parser_of(__doc__, "--device")
    parser.add_argument(
        "--all",
        action="store_true",
        help="measure every function and operator of the standard instead; has its own --help",
    )
    parser.add_argument("--repeats", type=int, default=200, help="turns of each candidate")
    options = parser.parse_args()
    require_positive(parser, options, "repeats")
    devices = devices_of(parser, options.device)
    rows = operations(devices, TINY, options.repeats)
    if not options.device:
        rows += namespaces(options.repeats) + creation(options.repeats)
    for size, places in sizes(devices).items():
        rows += operations(places, size, options.repeats)
    if not options.device:
        rows += imports(max(1, options.repeats // 20))
    judged = targets(rows)
    show(rows, judged)
    if options.json is not None:
        report = {
            **environment(devices),
            "rows": [asdict(row) for row in rows],
            "targets": [asdict(target) for target in judged],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
