"""Kernels and the language model on GPUs, relative to eager PyTorch, bandwidth and the CPU.

The benchmarks measure; this module selects rows and computes ratios.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["COMPUTING", "MOVING", "kernel_rows", "model_rows", "reference_cpu", "show"]

MOVING = (
    *("softmax 4096x", "log_softmax 4096x", "rms_norm 4096x", "layer_norm 4096x"),
    *("silu 4096x", "gelu 4096x", "rope 9x4096x"),
)
"""Rows that only bandwidth limits, at a size beyond a GPU's caches."""
COMPUTING = (
    *("attention 9x1024x64 causal", "attention 32x1024x128 causal", "attention decode"),
    *("linear prompt 4096x4096", "linear decode", "matmul 1024x", "cross_entropy 512x4096"),
)
"""Rows of a model's sizes."""


def reference_cpu(report: Mapping[str, Any]) -> str:
    """Return the CPU device to compare GPUs with: PyTorch's, else NumPy's."""
    names = [device["device"] for library in report["libraries"] for device in library["devices"]]
    return next((name for name in names if name.startswith("torch:cpu")), "numpy:cpu:0")


def kernel_rows(
    measured: Sequence[Mapping[str, Any]], speeds: Mapping[str, float], cpu: str
) -> list[dict[str, Any]]:
    """Return rows of ``benchmarks/kernels.py`` with ratios to the bandwidth and to the CPU.

    ``speeds`` has each device's bandwidth in bytes per second.
    """
    slow = {row["row"]: row["seconds"] for row in measured if row["device"] == cpu}
    rows = []
    for row in measured:
        speed = speeds.get(row["device"])
        moving = any(f" {row['row']}".startswith(f" {text}") for text in MOVING)
        if row["device"] == cpu and cpu not in speeds:
            continue
        rows.append(
            {
                **row,
                "share_of_bandwidth": row["bandwidth"] * 1e9 / speed if speed and moving else None,
                "times_the_cpu": slow[row["row"]] / row["seconds"] if row["row"] in slow else None,
            }
        )
    return rows


def model_rows(
    report: Mapping[str, Any], speeds: Mapping[str, float], cpu: str
) -> list[dict[str, Any]]:
    """Return rows of ``benchmarks/model.py`` with ratios to the bandwidth and to the CPU."""
    rows = report.get("rows", [])
    slow = next((row["decode_rate"] for row in rows if row["device"] == cpu), None)
    return [
        {
            **row,
            "share_of_bandwidth": row["decode_rate"] * report["bytes_per_token"] / speed
            if (speed := speeds.get(row["device"]))
            else None,
            "times_the_cpu": row["decode_rate"] / slow if slow else None,
        }
        for row in rows
        if row["device"] != cpu or cpu in speeds
    ]


def show(report: Mapping[str, Any]) -> None:
    """Print kernels and the model."""
    kernels, model = report["kernels"], report["model"]
    print(f"  kernels: {len(kernels['rows'])} rows{_reason(kernels)}")
    for row in kernels["rows"]:
        print(
            f"    {row['row']:<40} {row['device']:<16} {row['seconds'] * 1e6:>9.1f} us"
            f"{_figure(row['to_torch'], 'of torch')}"
            f"{_figure(row['share_of_bandwidth'], 'of the bandwidth')}"
            f"{_figure(row['times_the_cpu'], 'times the CPU')}"
        )
    print(f"  model: {len(model['rows'])} rows{_reason(model)}")
    for row in model["rows"]:
        print(
            f"    {row['device']:<16} prompt {row['prompt_rate']:>9.1f}/s"
            f"{_figure(row['prompt_ratio'], 'of torch')}; decoding {row['decode_rate']:>7.1f}/s"
            f"{_figure(row['decode_ratio'], 'of torch')}"
            f"{_figure(row['share_of_bandwidth'], 'of the bandwidth')}"
            f"{_figure(row['times_the_cpu'], 'times the CPU')}; {row['same']} tokens the same"
        )


def _figure(value: float | None, name: str) -> str:
    return "" if value is None else f"  {value:.2f} {name}"


def _reason(part: Mapping[str, Any]) -> str:
    return f"; not run: {part['not_run']}" if part.get("not_run") else ""
