"""Measuring the rows of kernels.py."""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from installed import optional
from kernel_report import Line, show, targets
from kernel_rows import GROWTH, Row, growth
from kernel_rows import rows as all_rows
from kernels_by_hand import by_hand
from overhead import finisher
from promises import Target, show_targets

import portarray as pa
from portarray._cli.bench.report import environment
from portarray._cli.bench.timing import Action, Times, turns

__all__ = ["measured", "selected"]

TURN = 5e-3  # minimum seconds of one turn
LIMIT = 2.0  # seconds of measuring after which a candidate gets no more turns

OURS = "portarray"
GENERIC = "generic"
BY_HAND = "by hand"
AGAIN = "by hand again"

# Largest difference between results, relative to the largest element.
AGREE = {"float64": 1e-6, "float32": 1e-3, "float16": 2e-2, "bfloat16": 6e-2}


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one device for a row."""

    device: pa.Device
    version: str
    function: str
    hand: str
    nbytes: int
    actions: Mapping[str, Action]
    results: Mapping[str, np.ndarray[Any, Any]]
    first: Mapping[str, float]


def selected(
    kernels: Sequence[str] | None,
    prefixes: Sequence[str] | None,
    dtypes: Sequence[str] | None,
    growing: bool,
) -> list[Row]:
    """Return the selected rows; None selects all."""
    unknown = set(kernels or ()) - set(GROWTH)
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"--kernel: unknown {names}; known: {', '.join(GROWTH)}")
    if growing:
        matches = [growth(kernel, size) for kernel in kernels or GROWTH for size in GROWTH[kernel]]
    else:
        matches = [row for row in all_rows() if not kernels or row.kernel in kernels]
    if dtypes:
        matches = [row for row in matches if row.dtype in dtypes]
    if prefixes:
        matches = [row for row in matches if any(f" {text}" in f" {row.name}" for text in prefixes)]
    if not matches:
        raise ValueError("no row has this kernel, dtype and name\nHint: --list prints all rows")
    return matches


def measured(
    rows: Sequence[Row],
    devices: Sequence[pa.Device],
    repeats: int,
    threads: int,
    *,
    growing: bool = False,
    keep: Callable[[dict[str, Any]], object],
) -> dict[str, Any]:
    """Measure, print and return the report; pass it to ``keep`` after each row."""
    torch = optional("torch")
    if torch is not None:
        torch.set_num_threads(threads)
    report: dict[str, Any] = {
        **environment(devices, threads=threads),
        "repeats": repeats,
        "rows": [],
        "targets": [],
    }
    lines: list[Line] = []
    for row in rows:
        row_lines = measure(row, devices, repeats)
        show(row.name, row_lines)
        lines += row_lines
        report["rows"] += [asdict(line) for line in row_lines]
        keep(report)
    judged = [] if growing else targets(lines)
    if not growing and any(device.library == "numpy" for device in devices):
        judged += memory_of_attention(rows)
    show_targets(judged)
    report["targets"] = [asdict(target) for target in judged]
    return report


def measure(row: Row, devices: Sequence[pa.Device], repeats: int) -> list[Line]:
    """Measure one row on the devices that have its dtype."""
    arrays = row.arrays()
    targets_measured = [*dict.fromkeys([*devices, *torch_devices(devices)])]
    brought = []
    for target in targets_measured:
        try:
            candidate = candidates(row, arrays, target)
        except Exception as error:  # noqa: BLE001  (told; the other devices are measured)
            say("FAILS", row, f"on {target}", error)
            continue
        if candidate is not None:
            brought.append(candidate)
    if not brought:
        return []
    check(row, brought)
    actions = {
        (str(candidate.device), how): action
        for candidate in brought
        for how, action in candidate.actions.items()
        if candidate.device in devices or how in (BY_HAND, AGAIN)
    }
    names = {f"{device} {how}": (device, how) for device, how in actions}
    first = {
        (str(candidate.device), how): took
        for candidate in brought
        for how, took in candidate.first.items()
    }
    times = turns(
        {name: actions[key] for name, key in names.items()},
        repeats,
        TURN,
        limit=LIMIT,
        known_seconds={name: first[key] for name, key in names.items()},
    )
    by_key = {key: times[name] for name, key in names.items()}
    return [line(row, candidate, by_key) for candidate in brought if candidate.device in devices]


def torch_devices(devices: Sequence[pa.Device]) -> list[pa.Device]:
    """Return PyTorch's CPU and its devices on the measured platforms."""
    platforms = {"cpu", *(device.platform for device in devices)}
    return [
        candidate
        for candidate in pa.devices()
        if candidate.library == "torch" and candidate.platform in platforms
    ]


def candidates(row: Row, arrays: Mapping[str, Any], device: pa.Device) -> Candidates | None:
    """Return the candidates of a device, or None if it lacks the dtype."""
    if row.dtype not in names_of_dtypes(device):
        return None
    ours = {name: put(x, row.dtype, device) for name, x in arrays.items()}
    natives = {name: x.native for name, x in ours.items()}
    pa.synchronize(device)
    finish = finisher(device)
    kernel = getattr(pa.kernels, row.kernel)

    positional, options = row.arguments(ours)

    def run() -> None:
        for x in several(kernel(*positional, **options)):
            finish(x.native)

    def generic() -> None:
        with pa.config(tuned_kernels=False):
            run()

    said = pa.kernels.explain(row.kernel, *positional, **options)
    actions: dict[str, Action] = {OURS: run}
    results: dict[str, np.ndarray[Any, Any]] = {}
    first: dict[str, float] = {}

    def once(how: str, call: Callable[[], Sequence[pa.Array]]) -> None:
        start = time.perf_counter()
        results[how] = host(call(), device)
        first[how] = time.perf_counter() - start

    once(OURS, lambda: several(kernel(*positional, **options)))
    if said.version == "tuned":
        actions[GENERIC] = generic
        with pa.config(tuned_kernels=False):
            once(GENERIC, lambda: several(kernel(*positional, **options)))
    hand = by_hand(row, device, natives)
    if hand is not None:
        try:
            once(BY_HAND, lambda: [pa.asarray(hand[1](), device=device)])
        except Exception as error:  # noqa: BLE001  (told; what remains is measured)
            say("FAILS", row, f"by hand on {device}", error)
        else:
            actions[BY_HAND] = actions[AGAIN] = finished(hand[1], finish)
            first[AGAIN] = first[BY_HAND]
    return Candidates(
        device,
        said.version,
        said.function,
        "" if hand is None else hand[0],
        row.touched(arrays, results[OURS].size),
        actions,
        results,
        first,
    )


def names_of_dtypes(device: pa.Device) -> set[str]:
    """Return the names of a device's dtypes."""
    return {dtype.name for dtype in device._backend.dtypes(device.platform, device.index)}


def put(x: np.ndarray[Any, Any], dtype: str, device: pa.Device) -> pa.Array:
    """Return a copy of the values on a device."""
    if x.dtype.kind == "f":
        narrow = dtype in ("float16", "bfloat16")  # missing or slow in NumPy
        target = getattr(pa, dtype)
        array = pa.asarray(x, dtype=pa.float32 if narrow else target, device=device, copy=True)
        return pa.astype(array, target)
    if x.dtype == np.int64 and "int64" not in names_of_dtypes(device):
        x = x.astype(np.int32)  # JAX's own, and Metal's
    return pa.asarray(x, device=device, copy=True)


def several(result: Any) -> Sequence[pa.Array]:
    """Return the arrays of a result: rope_tables has two."""
    return result if isinstance(result, tuple) else [result]


def host(arrays: Sequence[pa.Array], device: pa.Device) -> np.ndarray[Any, Any]:
    """Return the values of arrays of one shape in float64."""
    pa.synchronize(device)
    narrow = [pa.astype(x, pa.float32).to_device("numpy") for x in arrays]
    return np.stack([np.asarray(x) for x in narrow]).astype(np.float64)


def finished(run: Callable[[], Any], finish: Callable[[Any], object]) -> Action:
    return lambda: finish(run())


def say(status: str, row: Row, where: str, why: object) -> None:
    """Report a row that cannot be measured."""
    reason = f"{type(why).__name__}: {why}" if isinstance(why, Exception) else str(why)
    print(f"{status} {row.name}: {where}: {reason}", file=sys.stderr)


def check(row: Row, brought: Iterable[Candidates]) -> None:
    """Report results that differ from the first one of the same shape."""
    first: np.ndarray[Any, Any] | None = None
    for candidate in brought:
        for how, result in candidate.results.items():
            values = np.squeeze(result)
            if first is None:
                first = values
            if values.shape != first.shape:
                continue
            worst = float(np.max(np.abs(values - first), initial=0.0))
            if not worst <= AGREE[row.dtype] * float(np.max(np.abs(first), initial=1.0)):
                print(
                    f"DIFFERS {row.name}: {how} on {candidate.device}, by {worst:.3g}",
                    file=sys.stderr,
                )


def line(row: Row, candidate: Candidates, times: Mapping[tuple[str, str], Times]) -> Line:
    """Return the report of one row on one device."""
    device = str(candidate.device)
    ours = times[device, OURS]
    seconds = ours.shortest

    def ratio(key: tuple[str, str]) -> float | None:
        return seconds / times[key].shortest if key in times else None

    hand = [times[device, how].shortest for how in (BY_HAND, AGAIN) if (device, how) in times]
    torch = (
        f"torch:{candidate.device.platform}:0" if candidate.device.kind == "gpu" else "torch:cpu:0"
    )
    eager = [times[torch, how].shortest for how in (BY_HAND, AGAIN) if (torch, how) in times]
    return Line(
        row.name,
        row.kernel,
        row.dtype,
        device,
        candidate.version,
        candidate.function,
        seconds,
        ours.spread,
        ratio((device, GENERIC)),
        # The mean of two measurements: their minimum would be the best of twice as many turns.
        seconds / statistics.mean(hand) if hand else None,
        seconds / statistics.mean(eager) if eager else None,
        candidate.hand,
        max(hand) / min(hand) - 1 if hand else 0.0,
        candidate.nbytes / seconds / 1e9,
        row.promised,
    )


def memory_of_attention(rows: Sequence[Row]) -> list[Target]:
    """Check whether attention's memory on NumPy grows linearly with the length."""
    if not any(row.kernel == "attention" for row in rows):
        return []
    peaks = []
    for length in GROWTH["attention"][-2:]:
        row = growth("attention", length)
        arrays = {name: put(x, row.dtype, pa.device("numpy")) for name, x in row.arrays().items()}
        positional, options = row.arguments(arrays)
        pa.kernels.attention(*positional, **options)  # cached buffers do not count
        tracemalloc.start()
        pa.kernels.attention(*positional, **options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    few_keys, many_keys = GROWTH["attention"][-2:]
    ratio = peaks[1] / peaks[0]
    return [
        Target(
            f"memory of attention linear in length, {few_keys} to {many_keys} keys, numpy",
            f"{ratio:.2f} times as much for {many_keys / few_keys:g} times the length",
            ratio <= 1.1 * many_keys / few_keys,
        )
    ]
