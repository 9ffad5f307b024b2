"""Timing candidates side by side, for the benchmarks of this folder."""

from __future__ import annotations

import importlib
import random
import time
import timeit
from collections.abc import Callable, Mapping
from typing import Any

Action = Callable[[], object]


def side_by_side(
    actions: Mapping[str, Action],
    repeats: int,
    seconds: float,
    rest: float = 0.0,
    before: Action | None = None,
) -> dict[str, float]:
    """Return the shortest time of one call of each action, measured in turns.

    Parameters
    ----------
    actions : mapping
        Name to a function without arguments.
    repeats : int
        Turns of each.
    seconds : float
        About how long one turn of one action takes; short turns are disturbed less often.
    rest : float
        Seconds to wait before each turn, for candidates whose threads go on spinning after a call
        and would take the processor from the next one.
    before : function, optional
        Called before each turn, without being timed: to wait for work that turns left behind.
    """
    timers = {
        name: timeit.Timer(action, timer=time.perf_counter) for name, action in actions.items()
    }
    loops = {}
    for name, timer in timers.items():
        timer.timeit(1)  # it may build or load something
        once = timer.timeit(1)
        if once < seconds:
            once = timer.timeit(5) / 5
        loops[name] = max(1, int(seconds / max(once, 1e-9)))
    best = dict.fromkeys(timers, float("inf"))
    order = list(timers)
    for _ in range(repeats):
        random.shuffle(order)
        for name in order:
            if before is not None:
                before()
            if rest:
                time.sleep(rest)
                timers[name].timeit(1)  # what rested is awake again
            best[name] = min(best[name], timers[name].timeit(loops[name]) / loops[name])
    return best


def optional(module: str) -> Any:
    """Return a module, or None where it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None
