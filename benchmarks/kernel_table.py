"""Measuring the kernels' table; see kernels.py, which starts it."""

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

TURN = 5e-3  # seconds that one turn of a candidate takes at least
LIMIT = 2.0  # seconds of measuring after which a candidate gets no more turns

OURS = "portarray"
GENERIC = "generic"
BY_HAND = "by hand"
AGAIN = "by hand again"

# By how much results may differ, as a share of the greatest: a wrong result has no time.
AGREE = {"float64": 1e-6, "float32": 1e-3, "float16": 2e-2, "bfloat16": 6e-2}


@dataclass(frozen=True, slots=True)
class Candidates:
    """What one device brings to a row."""

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
    texts: Sequence[str] | None,
    dtypes: Sequence[str] | None,
    growing: bool,
) -> list[Row]:
    """Return the rows that are asked for; None asks for all."""
    unknown = set(kernels or ()) - set(GROWTH)
    if unknown:
        raise ValueError(f"--kernel {', '.join(sorted(unknown))}: known are {', '.join(GROWTH)}")
    if growing:
        found = [growth(kernel, size) for kernel in kernels or GROWTH for size in GROWTH[kernel]]
    else:
        found = [row for row in all_rows() if not kernels or row.kernel in kernels]
    if dtypes:
        found = [row for row in found if row.dtype in dtypes]
    if texts:
        found = [row for row in found if any(f" {text}" in f" {row.name}" for text in texts)]
    if not found:
        raise ValueError("no row is of this kernel, dtype and name; --list prints them all")
    return found


def measured(
    rows: Sequence[Row],
    devices: Sequence[pa.Device],
    repeats: int,
    threads: int,
    *,
    growing: bool = False,
    keep: Callable[[dict[str, Any]], object],
) -> dict[str, Any]:
    """Measure, print, and return the report; hand it out after each row too."""
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
        found = measure(row, devices, repeats)
        show(row.name, found)
        lines += found
        report["rows"] += [asdict(line) for line in found]
        keep(report)
    judged = [] if growing else targets(lines)
    if not growing and any(device.library == "numpy" for device in devices):
        judged += memory_of_attention(rows)
    show_targets(judged)
    report["targets"] = [asdict(target) for target in judged]
    return report


def measure(row: Row, devices: Sequence[pa.Device], repeats: int) -> list[Line]:
    """Measure one row on the devices that have its dtype, side by side."""
    arrays = row.arrays()
    places = [*dict.fromkeys([*devices, *torch_devices(devices)])]
    brought = []
    for place in places:
        try:
            one = candidates(row, arrays, place)
        except Exception as error:  # noqa: BLE001  (told; the other devices are measured)
            say("FAILS", row, f"on {place}", error)
            continue
        if one is not None:
            brought.append(one)
    if not brought:
        return []
    check(row, brought)
    actions = {
        (str(one.device), how): action
        for one in brought
        for how, action in one.actions.items()
        if one.device in devices or how in (BY_HAND, AGAIN)
    }
    names = {f"{device} {how}": (device, how) for device, how in actions}
    first = {(str(one.device), how): took for one in brought for how, took in one.first.items()}
    times = turns(
        {name: actions[key] for name, key in names.items()},
        repeats,
        TURN,
        limit=LIMIT,
        known={name: first[key] for name, key in names.items()},
    )
    by_key = {key: times[name] for name, key in names.items()}
    return [line(row, one, by_key) for one in brought if one.device in devices]


def torch_devices(devices: Sequence[pa.Device]) -> list[pa.Device]:
    """Return PyTorch's devices of the kinds that are measured, and its CPU."""
    platforms = {"cpu", *(device.platform for device in devices)}
    return [one for one in pa.devices() if one.library == "torch" and one.platform in platforms]


def candidates(row: Row, arrays: Mapping[str, Any], device: pa.Device) -> Candidates | None:
    """Return what a device brings to a row; None where it lacks the dtype."""
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
        begin = time.perf_counter()
        results[how] = host(call(), device)
        first[how] = time.perf_counter() - begin

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
    """Return NumPy's names of the dtypes that a device has."""
    return {one.name for one in device._backend.dtypes(device.platform, device.index)}


def put(x: np.ndarray[Any, Any], dtype: str, device: pa.Device) -> pa.Array:
    """Return an array of values on a device, in memory of its own."""
    if x.dtype.kind == "f":
        narrow = dtype in ("float16", "bfloat16")  # which NumPy has not, or computes slowly
        wanted = getattr(pa, dtype)
        found = pa.asarray(x, dtype=pa.float32 if narrow else wanted, device=device, copy=True)
        return pa.astype(found, wanted)
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


def say(what: str, row: Row, where: str, why: object) -> None:
    """Tell of a row that cannot be measured, or should not count."""
    reason = f"{type(why).__name__}: {why}" if isinstance(why, Exception) else str(why)
    print(f"{what} {row.name}: {where}: {reason}", file=sys.stderr)


def check(row: Row, brought: Iterable[Candidates]) -> None:
    """Say which results differ from the first, as far as they have one layout."""
    first: np.ndarray[Any, Any] | None = None
    for one in brought:
        for how, result in one.results.items():
            found = np.squeeze(result)
            if first is None:
                first = found
            if found.shape != first.shape:
                continue
            worst = float(np.max(np.abs(found - first), initial=0.0))
            if not worst <= AGREE[row.dtype] * float(np.max(np.abs(first), initial=1.0)):
                print(f"DIFFERS {row.name}: {how} on {one.device}, by {worst:.3g}", file=sys.stderr)


def line(row: Row, one: Candidates, times: Mapping[tuple[str, str], Times]) -> Line:
    """Return what is told of one row on one device."""
    device = str(one.device)
    ours = times[device, OURS]
    seconds = ours.shortest

    def ratio(key: tuple[str, str]) -> float | None:
        return seconds / times[key].shortest if key in times else None

    hand = [times[device, how].shortest for how in (BY_HAND, AGAIN) if (device, how) in times]
    torch = f"torch:{one.device.platform}:0" if one.device.kind == "gpu" else "torch:cpu:0"
    eager = [times[torch, how].shortest for how in (BY_HAND, AGAIN) if (torch, how) in times]
    return Line(
        row.name,
        row.kernel,
        row.dtype,
        device,
        one.version,
        one.function,
        seconds,
        ours.spread,
        ratio((device, GENERIC)),
        # Of two measurements, so that theirs are not the best of twice as many turns.
        seconds / statistics.mean(hand) if hand else None,
        seconds / statistics.mean(eager) if eager else None,
        one.hand,
        max(hand) / min(hand) - 1 if hand else 0.0,
        one.nbytes / seconds / 1e9,
        row.promised,
    )


def memory_of_attention(rows: Sequence[Row]) -> list[Target]:
    """Judge whether attention's memory grows linearly with the length, where it is measured.

    NumPy tells Python of its memory, so this is the device where it can be seen.
    """
    if not any(row.kernel == "attention" for row in rows):
        return []
    peaks = []
    for length in GROWTH["attention"][-2:]:
        row = growth("attention", length)
        arrays = {name: put(x, row.dtype, pa.device("numpy")) for name, x in row.arrays().items()}
        positional, options = row.arguments(arrays)
        pa.kernels.attention(*positional, **options)  # buffers that are kept are no part of it
        tracemalloc.start()
        pa.kernels.attention(*positional, **options)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    short, long = GROWTH["attention"][-2:]
    ratio = peaks[1] / peaks[0]
    return [
        Target(
            f"memory of attention linear in length, {short} to {long} keys, numpy",
            f"{ratio:.2f} times as much for {long / short:g} times the length",
            ratio <= 1.1 * long / short,
        )
    ]
