"""What benchmarks promise, and whether it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Target", "show_targets"]


@dataclass(frozen=True, slots=True)
class Target:
    """A promise, with the figure that was measured."""

    promise: str
    figure: str
    holds: bool


def show_targets(judged: Sequence[Target]) -> None:
    """Print whether promises hold."""
    print()
    for target in judged:
        print(f"{'holds' if target.holds else 'MISSED':<7} {target.promise}: {target.figure}")
