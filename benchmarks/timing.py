"""Timing that the programs of this folder share."""

from __future__ import annotations

from collections.abc import Mapping

from portarray._cli.bench.timing import Action, turns


def shortest_times(
    actions: Mapping[str, Action],
    repeats: int,
    seconds: float,
    pause: float = 0.0,
    before_turn: Action | None = None,
) -> dict[str, float]:
    """Return the shortest time of one call of each action; see :func:`turns`."""
    results = turns(actions, repeats, seconds, pause=pause, before_turn=before_turn)
    return {name: times.shortest for name, times in results.items()}
