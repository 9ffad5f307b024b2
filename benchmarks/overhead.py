"""What a call through portarray costs beside the libraries' own calls.

Everything is measured in one run, side by side: repetition after repetition, each candidate in
turn, in an order that is shuffled anew, and the shortest time of each counts. Bare times differ
from machine to machine; the table's ratios and differences differ little. NumPy and PyTorch are
measured twice, under two names: what lies between the two is noise. The targets are judged and
printed, and nothing fails: this is a measurement, not a test.

    python benchmarks/overhead.py [--json overhead.json] [--repeats N]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import array_api_compat
import numpy as np
from timing import Action, optional, side_by_side

import portarray as pa

TINY = 4
LARGE = 1_000_000
TARGET_ADDED = 0.35e-6
TARGET_NAMESPACE = 0.1e-6
TARGET_IMPORT = 30e-3
NOISE = 0.03  # the least that two measurements of one thing may differ
AGAIN = " again"


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table: times are the shortest, in seconds for one call."""

    size: str
    what: str
    candidate: str
    seconds: float
    baseline: str
    ratio: float
    difference: float


@dataclass(frozen=True, slots=True)
class Target:
    """A promise about portarray, with the figure that was measured."""

    promise: str
    figure: str
    holds: bool


def inputs(size: int) -> dict[str, tuple[Any, Any]]:
    """Return two arrays of the same values for every candidate that is installed."""
    x, y = np.linspace(0.1, 1.1, size), np.linspace(1.1, 0.1, size)
    found: dict[str, tuple[Any, Any]] = {
        "NumPy": (x, y),
        "NumPy" + AGAIN: (x, y),
        "portarray on NumPy": (pa.asarray(x, device="numpy"), pa.asarray(y, device="numpy")),
    }
    torch = optional("torch")
    if torch is not None:
        # What is measured is the way to the library; threads would add noise to its own work.
        torch.set_num_threads(1)
        native = torch.asarray(x.copy()), torch.asarray(y.copy())
        found["PyTorch"] = found["PyTorch" + AGAIN] = native
        found["portarray on PyTorch"] = pa.asarray(native[0]), pa.asarray(native[1])
    strict = optional("array_api_strict")
    if strict is not None:
        found["array_api_strict"] = strict.asarray(x), strict.asarray(y)
    return found


def operations_on(x: Any, y: Any) -> dict[str, Action]:
    """Return the operations, as the users of each library write them."""
    # The class tells the library: torch.Tensor, numpy.ndarray, array_api_strict._array_object.Array
    xp: Any = importlib.import_module(type(x).__module__.partition(".")[0])
    sin, total = xp.sin, xp.sum
    return {
        "x + y": lambda: x + y,
        "sin(x)": lambda: sin(x),
        "x[0]": lambda: x[0],
        "sum(x)": lambda: total(x),
    }


def operations(size: int, repeats: int) -> list[Measured]:
    """Measure the four operations at one size."""
    label = "tiny" if size == TINY else f"{size:,}"
    actions = {name: operations_on(x, y) for name, (x, y) in inputs(size).items()}
    rows: list[Measured] = []
    for what in actions["NumPy"]:
        best = side_by_side({name: table[what] for name, table in actions.items()}, repeats, 2e-3)
        for name, seconds in best.items():
            baseline = "PyTorch" if "PyTorch" in name else "NumPy"
            base = best[baseline]
            rows.append(
                Measured(label, what, name, seconds, baseline, seconds / base, seconds - base)
            )
    return rows


def namespaces(repeats: int) -> list[Measured]:
    """Measure how library code gets its namespace."""
    values = np.ones(TINY)
    ours = pa.asarray(values, device="numpy")
    best = side_by_side(
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
    # What timing the call costs by itself is no part of it.
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


def imports(repeats: int) -> list[Measured]:
    """Measure imports in fresh processes, without the interpreter's own start."""
    best = dict.fromkeys(("numpy", "portarray"), float("inf"))
    # Compiling is no part of it: the first import of each fills a cache of its own.
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
    """Judge the promises by the figures."""
    found = {(row.size, row.what, row.candidate): row for row in rows}
    out: list[Target] = []
    for what in ("x + y", "sin(x)"):
        row = found["tiny", what, "portarray on NumPy"]
        out.append(
            Target(
                f"at most 0.35 us added to NumPy's {what}, tiny",
                f"{row.difference * 1e6:.2f} us",
                row.difference <= TARGET_ADDED,
            )
        )
    torch = found.get(("tiny", "x + y", "PyTorch"))
    if torch is not None:
        ours = found["tiny", "x + y", "portarray on NumPy"]
        out.append(
            Target(
                "x + y on NumPy faster than PyTorch's own, tiny",
                f"ratio {ours.seconds / torch.seconds:.2f}",
                ours.seconds < torch.seconds,
            )
        )
    row = found["tiny", "namespace of x", "x.__array_namespace__(), portarray"]
    out.append(
        Target(
            "x.__array_namespace__() under 0.1 us",
            f"{row.seconds * 1e6:.3f} us",
            row.seconds < TARGET_NAMESPACE,
        )
    )
    for (size, what, name), row in found.items():
        if size == f"{LARGE:,}" and name.startswith("portarray") and what != "x[0]":
            again = found[size, what, row.baseline + AGAIN]
            noise = max(NOISE, 2 * abs(again.ratio - 1))
            out.append(
                Target(
                    f"no difference beyond noise: {what}, {name}, {size}",
                    f"ratio {row.ratio:.3f}, noise {noise:.3f}",
                    row.ratio <= 1 + noise,
                )
            )
    row = found["", "import", "portarray"]
    out.append(
        Target(
            "import portarray at most 30 ms over import numpy",
            f"{row.difference * 1e3:.1f} ms",
            row.difference <= TARGET_IMPORT,
        )
    )
    return out


def show(rows: list[Measured], judged: list[Target]) -> None:
    """Print the tables."""
    print(f"{'size':>10}  {'what':<15} {'candidate':<47} {'time':>10} {'ratio':>8} {'added':>11}")
    before = ("", "")
    for row in rows:
        if (row.size, row.what) != before:
            print()
        before = (row.size, row.what)
        print(
            f"{row.size:>10}  {row.what:<15} {row.candidate:<47} {row.seconds * 1e6:>7.2f} us "
            f"{row.ratio:>8.2f} {row.difference * 1e6:>+8.2f} us  vs {row.baseline}"
        )
    print()
    for target in judged:
        print(f"{'holds' if target.holds else 'MISSED':<7} {target.promise}: {target.figure}")


def main() -> None:
    """Measure, print, and write JSON where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--repeats", type=int, default=200, help="turns of each candidate")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats {options.repeats}: at least 1 is needed")
    rows = [
        *operations(TINY, options.repeats),
        *namespaces(options.repeats),
        *operations(LARGE, options.repeats),
        *imports(max(1, options.repeats // 20)),
    ]
    judged = targets(rows)
    show(rows, judged)
    if options.json is not None:
        machine = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "numpy": np.__version__,
            "portarray": pa.__version__,
        }
        report = {
            "machine": machine,
            "rows": [asdict(row) for row in rows],
            "targets": [asdict(target) for target in judged],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
