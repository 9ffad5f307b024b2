"""Checking and printing the results of kernels.py."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promises import Target, show_targets

__all__ = ["Line", "markdown", "merged", "show", "targets"]

TARGET_TORCH = 1.05
TARGET_OTHERS = 1.10  # JAX, MLX
TARGET_CLARRAY: Mapping[str, float] = {
    **dict.fromkeys(("softmax", "rms_norm", "silu", "rope"), 1.0),
    "attention": 1.5,
}
TARGET_NUMPY = 2.0  # speed-up of attention over the generic version at the greatest length
GREATEST = "4096x"
MOST_NOISE = 0.10  # with more, the machine was busy and nothing is proved


@dataclass(frozen=True, slots=True)
class Line:
    """One row on one device."""

    row: str
    kernel: str
    dtype: str
    device: str
    version: str  # "tuned" or "generic"
    function: str
    seconds: float  # shortest time of one call through portarray
    spread: float  # (median - shortest) / shortest
    # Ratios to the generic version, the library's own function, and PyTorch on the same platform.
    to_generic: float | None
    to_hand: float | None
    to_torch: float | None
    hand: str  # the library's own function, as Python text
    noise: float  # relative difference between two measurements of the library's own function
    bandwidth: float  # gigabytes per second: arguments and result once each
    promised: bool  # whether targets apply to this row


def show(row: str, lines: Sequence[Line]) -> None:
    """Print one measured row."""
    print(f"\n{row}")
    if not lines:
        print("  not run: no device here has this dtype, or all failed")
    for line in lines:
        figures = "  ".join(
            f"{'      -' if value is None else f'{value:7.2f}'} x {name}"
            for name, value in (
                ("torch", line.to_torch),
                ("by hand", line.to_hand),
                ("generic", line.to_generic),
            )
        )
        print(
            f"  {line.device:<19} {line.seconds * 1e6:>10.1f} us +{line.spread:<4.0%} {figures}  "
            f"{line.bandwidth:>6.1f} GB/s  {line.function}"
        )
    sys.stdout.flush()


def targets(lines: Sequence[Line]) -> list[Target]:
    """Check the targets; noise counts in portarray's favour.

    clarray's targets apply to its first device only: other drivers may be slower.
    """
    judged = []
    first = next((line.device for line in lines if line.device.startswith("clarray:")), "")
    for line in lines:
        if not line.promised:
            continue
        library = line.device.partition(":")[0]
        noise = min(line.noise, MOST_NOISE)
        most = TARGET_TORCH if library == "torch" else TARGET_OTHERS
        if library in ("torch", "jax", "mlx") and line.to_hand is not None:
            promise = f"at most {most} of the time by hand: {line.row}, {line.device}"
            shown = f"{line.to_hand:.3f}, noise {noise:.3f}"
            judged.append(Target(promise, shown, line.to_hand - noise <= most))
        limit = TARGET_CLARRAY.get(line.kernel)
        if line.device == first and limit is not None and line.to_torch is not None:
            promise = f"at most {limit} of PyTorch's time: {line.row}, {line.device}"
            shown = f"{line.to_torch:.3f}"
            judged.append(Target(promise, shown, line.to_torch <= limit + 0.03))
        greatest = line.kernel == "attention" and GREATEST in line.row
        if library == "numpy" and greatest and line.to_generic is not None:
            promise = f"at least {TARGET_NUMPY} times as fast as generic: {line.row}, {line.device}"
            shown = f"{1 / line.to_generic:.2f}"
            judged.append(Target(promise, shown, 1 / line.to_generic >= TARGET_NUMPY))
    return judged


def merged(files: Sequence[Path]) -> dict[str, Any]:
    """Merge the reports of several runs; later rows replace earlier ones."""
    report: dict[str, Any] = {}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    judged: dict[str, dict[str, Any]] = {}
    for file in files:
        part = json.loads(file.read_text("utf-8"))
        if not isinstance(part, dict) or not {"machine", "devices", "rows", "targets"} <= set(part):
            raise ValueError(f"{file} is not a report of kernels.py")
        if report and {**part["machine"], "date": None} != {**report["machine"], "date": None}:
            raise ValueError(f"{file} was measured on another machine, or with other settings")
        devices = {**report.get("devices", {}), **part["devices"]}
        report = {**part, "devices": devices}
        rows.update({(row["row"], row["device"]): row for row in part["rows"]})
        judged.update({target["promise"]: target for target in part["targets"]})
    return {**report, "rows": list(rows.values()), "targets": list(judged.values())}


def show_all(report: Mapping[str, Any]) -> None:
    """Print a report."""
    lines = [Line(**row) for row in report["rows"]]
    for name in dict.fromkeys(line.row for line in lines):
        show(name, [line for line in lines if line.row == name])
    show_targets([Target(**target) for target in report["targets"]])


def markdown(report: Mapping[str, Any]) -> str:
    """Return a table of rows by devices for a page, as multiples of PyTorch's time on the CPU.

    A dash means that PyTorch has no such function; generic versions are in italics.
    """
    lines = {(row["row"], row["device"]): Line(**row) for row in report["rows"]}
    devices = [shown for shown in report["devices"] if any(device == shown for _, device in lines)]
    head = ["kernel", *(f"`{device}`" for device in devices)]
    out = [_cells(head), _cells(["---", *("---:" for _ in devices)])]
    for name in dict.fromkeys(row for row, _ in lines):
        out.append(_cells([name, *(_cell(lines.get((name, device))) for device in devices)]))
    return "\n".join(out) + "\n"


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(line: Line | None) -> str:
    if line is None:
        return ""
    if line.to_torch is None:
        return "-"
    text = f"{line.to_torch:.2f}" if line.to_torch < 10 else f"{line.to_torch:.0f}"
    return text if line.version == "tuned" else f"*{text}*"
