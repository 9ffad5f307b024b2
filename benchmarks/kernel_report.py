"""Judging and printing the kernels' table; see kernels.py, which starts it."""

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
TARGET_NUMPY = 2.0  # times as fast as the generic attention at the greatest length
GREATEST = "4096x"
MOST_NOISE = 0.10  # with more the machine was busy, and nothing is proved


@dataclass(frozen=True, slots=True)
class Line:
    """One row on one device.

    Parameters
    ----------
    row, kernel, dtype, device : str
        What was measured where.
    version, function : str
        ``"tuned"`` or ``"generic"``, and what serves the call.
    seconds : float
        Of one call through portarray, the shortest.
    spread : float
        How much longer the median was, relatively.
    to_generic, to_hand, to_torch : float or None
        The time as a multiple of the generic version's, of the library's own function's, and of
        PyTorch's on the same kind of device.
    hand : str
        The library's own function, as Python text.
    noise : float
        By how much two measurements of the library's own function differed, relatively.
    bandwidth : float
        Gigabytes per second: arguments and result once each.
    promised : bool
        Whether promises are about this row.
    """

    row: str
    kernel: str
    dtype: str
    device: str
    version: str
    function: str
    seconds: float
    spread: float
    to_generic: float | None
    to_hand: float | None
    to_torch: float | None
    hand: str
    noise: float
    bandwidth: float
    promised: bool


def show(row: str, lines: Sequence[Line]) -> None:
    """Print one row as soon as it is measured."""
    print(f"\n{row}")
    if not lines:
        print("  not run: no device here has this dtype, or all failed")
    for one in lines:
        figures = "  ".join(
            f"{'      -' if value is None else f'{value:7.2f}'} x {name}"
            for name, value in (
                ("torch", one.to_torch),
                ("by hand", one.to_hand),
                ("generic", one.to_generic),
            )
        )
        print(
            f"  {one.device:<19} {one.seconds * 1e6:>10.1f} us +{one.spread:<4.0%} {figures}  "
            f"{one.bandwidth:>6.1f} GB/s  {one.function}"
        )
    sys.stdout.flush()


def targets(lines: Sequence[Line]) -> list[Target]:
    """Judge the promises by the figures, whose noise counts in portarray's favour.

    Those about clarray are about the first of its devices: a machine may have slower drivers too.
    """
    found = []
    first = next((one.device for one in lines if one.device.startswith("clarray:")), "")
    for one in lines:
        if not one.promised:
            continue
        library = one.device.partition(":")[0]
        noise = min(one.noise, MOST_NOISE)
        most = TARGET_TORCH if library == "torch" else TARGET_OTHERS
        if library in ("torch", "jax", "mlx") and one.to_hand is not None:
            found.append(
                Target(
                    f"at most {most} of the time by hand: {one.row}, {one.device}",
                    f"{one.to_hand:.3f}, noise {noise:.3f}",
                    one.to_hand - noise <= most,
                )
            )
        limit = TARGET_CLARRAY.get(one.kernel)
        if one.device == first and limit is not None and one.to_torch is not None:
            found.append(
                Target(
                    f"at most {limit} of PyTorch's time: {one.row}, {one.device}",
                    f"{one.to_torch:.3f}",
                    one.to_torch <= limit + 0.03,
                )
            )
        greatest = one.kernel == "attention" and GREATEST in one.row
        if library == "numpy" and greatest and one.to_generic is not None:
            found.append(
                Target(
                    f"at least {TARGET_NUMPY} times as fast as generic: {one.row}, {one.device}",
                    f"{1 / one.to_generic:.2f}",
                    1 / one.to_generic >= TARGET_NUMPY,
                )
            )
    return found


def merged(files: Sequence[Path]) -> dict[str, Any]:
    """Return the reports of several runs as one; a row of a later one replaces the earlier's.

    Raises
    ------
    ValueError
        If a file holds something else, or a run had other settings.
    """
    report: dict[str, Any] = {}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    judged: dict[str, dict[str, Any]] = {}
    for file in files:
        one = json.loads(file.read_text("utf-8"))
        if not isinstance(one, dict) or not {"machine", "devices", "rows", "targets"} <= set(one):
            raise ValueError(f"{file} is no report of kernels.py")
        if report and {**one["machine"], "date": None} != {**report["machine"], "date": None}:
            raise ValueError(f"{file} was measured on another machine, or with other settings")
        devices = {**report.get("devices", {}), **one["devices"]}
        report = {**one, "devices": devices}
        rows.update({(row["row"], row["device"]): row for row in one["rows"]})
        judged.update({target["promise"]: target for target in one["targets"]})
    return {**report, "rows": list(rows.values()), "targets": list(judged.values())}


def show_all(report: Mapping[str, Any]) -> None:
    """Print a report."""
    lines = [Line(**row) for row in report["rows"]]
    for name in dict.fromkeys(line.row for line in lines):
        show(name, [line for line in lines if line.row == name])
    show_targets([Target(**target) for target in report["targets"]])


def markdown(report: Mapping[str, Any]) -> str:
    """Return a table of rows by devices for a page: times as multiples of PyTorch's on the CPU.

    Where PyTorch has no function, the cell has a dash; generic versions are in italics.
    """
    lines = {(row["row"], row["device"]): Line(**row) for row in report["rows"]}
    devices = [one for one in report["devices"] if any(device == one for _, device in lines)]
    head = ["kernel", *(f"`{device}`" for device in devices)]
    out = [_cells(head), _cells(["---", *("---:" for _ in devices)])]
    for name in dict.fromkeys(row for row, _ in lines):
        out.append(_cells([name, *(_cell(lines.get((name, device))) for device in devices)]))
    return "\n".join(out) + "\n"


def _cells(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _cell(line: Line | None) -> str:
    if line is None:
        return ""
    if line.to_torch is None:
        return "-"
    text = f"{line.to_torch:.2f}" if line.to_torch < 10 else f"{line.to_torch:.0f}"
    return text if line.version == "tuned" else f"*{text}*"
