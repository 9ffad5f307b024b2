"""Targets of the benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Target", "show_targets"]


@dataclass(frozen=True, slots=True)
class Target:
    """A target, the measured value, and whether the target is met."""

    promise: str
    figure: str
    holds: bool


def show_targets(judged: Sequence[Target]) -> None:
    """Print every target."""
    print()
    for target in judged:
        print(f"{'holds' if target.holds else 'MISSED':<7} {target.promise}: {target.figure}")
