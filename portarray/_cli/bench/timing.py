"""Timing several candidates alternately, in one process."""

from __future__ import annotations

import random
import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Action = Callable[[], object]

MIN_TURNS = 3  # even where they take longer than the limit


@dataclass(slots=True)
class Times:
    """The times of one candidate, in seconds per call."""

    turns: list[float] = field(default_factory=list)

    @property
    def shortest(self) -> float:
        """The shortest time, which other processes disturbed least."""
        return min(self.turns)

    @property
    def spread(self) -> float:
        """How much longer the median is than the shortest time, as a fraction."""
        return statistics.median(self.turns) / self.shortest - 1


def turns(
    actions: Mapping[str, Action],
    repeats: int,
    seconds: float,
    *,
    pause: float = 0.0,
    before_turn: Action | None = None,
    limit: float = float("inf"),
    known_seconds: Mapping[str, float] | None = None,
) -> dict[str, Times]:
    """Measure actions alternately, in a new random order each time.

    Parameters
    ----------
    actions : mapping
        Name to a function without arguments.
    repeats : int
        Turns of each action.
    seconds : float
        Approximate length of one turn; long turns are disturbed less.
    pause : float
        Seconds to wait before each turn, for libraries whose threads keep spinning after a call.
    before_turn : function, optional
        Called before each turn without being timed, for example to wait for remaining work.
    limit : float
        Seconds after which an action gets no more turns than :data:`MIN_TURNS`.
    known_seconds : mapping, optional
        Durations of actions that have already been called. Those above the limit get one turn.

    Returns
    -------
    dict of str to Times
        By the actions' names.
    """
    timers = {
        name: timeit.Timer(action, timer=time.perf_counter) for name, action in actions.items()
    }
    loops = dict.fromkeys(timers, 1)
    min_turns = dict.fromkeys(timers, MIN_TURNS)
    for name, timer in timers.items():
        if known_seconds is not None and known_seconds[name] > limit:
            min_turns[name] = 1
            continue
        timer.timeit(1)  # warm up
        duration = timer.timeit(1)
        if duration < seconds:
            duration = timer.timeit(5) / 5
        loops[name] = max(1, int(seconds / max(duration, 1e-9)))
    results = {name: Times() for name in timers}
    spent = dict.fromkeys(timers, 0.0)
    order = list(timers)
    for _ in range(repeats):
        random.shuffle(order)
        for name in order:
            if spent[name] > limit and len(results[name].turns) >= min_turns[name]:
                continue
            if before_turn is not None:
                before_turn()
            if pause:
                time.sleep(pause)
                timers[name].timeit(1)  # warm up again after the pause
            elapsed = timers[name].timeit(loops[name])
            spent[name] += elapsed
            results[name].turns.append(elapsed / loops[name])
    return results
