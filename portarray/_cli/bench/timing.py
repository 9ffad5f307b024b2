"""Timing candidates side by side: in turns, in one process, the shortest time of each counts."""

from __future__ import annotations

import random
import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Action = Callable[[], object]

FEWEST = 3
"""Turns that a candidate gets even where they take longer than its limit."""


@dataclass(slots=True)
class Times:
    """The times of one candidate, in seconds for one call."""

    each: list[float] = field(default_factory=list)

    @property
    def shortest(self) -> float:
        """The shortest time, which other processes disturbed least."""
        return min(self.each)

    @property
    def spread(self) -> float:
        """How much longer the median is than the shortest, as a fraction of it."""
        return statistics.median(self.each) / self.shortest - 1


def turns(
    actions: Mapping[str, Action],
    repeats: int,
    seconds: float,
    *,
    rest: float = 0.0,
    before: Action | None = None,
    limit: float = float("inf"),
    known: Mapping[str, float] | None = None,
) -> dict[str, Times]:
    """Measure actions in turns, in an order that is shuffled anew each time.

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
    limit : float
        Seconds after which an action gets no more turns, unless it had fewer than
        :data:`FEWEST`.
    known : mapping, optional
        Seconds that actions took which have been called already. Those that took longer than the
        limit get one turn alone.

    Returns
    -------
    dict of str to Times
        By the actions' names.
    """
    timers = {
        name: timeit.Timer(action, timer=time.perf_counter) for name, action in actions.items()
    }
    loops = dict.fromkeys(timers, 1)
    fewest = dict.fromkeys(timers, FEWEST)
    for name, timer in timers.items():
        if known is not None and known[name] > limit:
            fewest[name] = 1
            continue
        timer.timeit(1)  # warm up
        once = timer.timeit(1)
        if once < seconds:
            once = timer.timeit(5) / 5
        loops[name] = max(1, int(seconds / max(once, 1e-9)))
    found = {name: Times() for name in timers}
    spent = dict.fromkeys(timers, 0.0)
    order = list(timers)
    for _ in range(repeats):
        random.shuffle(order)
        for name in order:
            if spent[name] > limit and len(found[name].each) >= fewest[name]:
                continue
            if before is not None:
                before()
            if rest:
                time.sleep(rest)
                timers[name].timeit(1)  # warm up again after the pause
            took = timers[name].timeit(loops[name])
            spent[name] += took
            found[name].each.append(took / loops[name])
    return found


def side_by_side(
    actions: Mapping[str, Action],
    repeats: int,
    seconds: float,
    rest: float = 0.0,
    before: Action | None = None,
) -> dict[str, float]:
    """Return the shortest time of one call of each action; see :func:`turns`."""
    found = turns(actions, repeats, seconds, rest=rest, before=before)
    return {name: times.shortest for name, times in found.items()}
