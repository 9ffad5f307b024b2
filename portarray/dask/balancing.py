"""Load is balanced by measured speed: a slow worker gets fewer tasks.

The scheduler of ``distributed`` keeps one duration for each kind of task, whichever worker ran it,
and has no hook for another rule; so the plugin puts its own in the place of methods of the
scheduler that it is added to.
"""

from __future__ import annotations

from typing import Any

from distributed import SchedulerPlugin

__all__ = ["BalancePlugin"]


class BalancePlugin(SchedulerPlugin):  # type: ignore[misc]
    """Gives tasks that may run on several workers to the one that ends them first.

    Durations are measured for each kind of task on each worker, recent ones counting more. Where a
    worker has not run a kind yet, its ratio to the others in other kinds is taken.
    """

    name = "portarray-balance"
    idempotent = True

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], float] = {}
        self.ratio: dict[str, float] = {}
        self.last: Any = None  # kind of the task that was done last

    async def start(self, scheduler: Any) -> None:
        """Begin on a scheduler."""
        self.scheduler = scheduler
        scheduler.worker_objective = self.objective
        self.choose = scheduler.decide_worker_non_rootish
        scheduler.decide_worker_non_rootish = self.first_to_end
        self.pick = scheduler.decide_worker_rootish_queuing_enabled
        scheduler.decide_worker_rootish_queuing_enabled = self.next_for_queue
        stealing = scheduler.extensions.get("stealing")
        if stealing is not None:
            stealing._get_thief = self.thief

    def transition(
        self, key: Any, start: str, finish: str, *_: Any, worker: str = "", **options: Any
    ) -> None:
        """Measure a task that was computed."""
        if (start, finish) != ("processing", "memory"):
            return
        spent = sum(
            one["stop"] - one["start"]
            for one in options.get("startstops") or ()
            if one["action"] == "compute"
        )
        self.last = prefix = self.scheduler.tasks[key].prefix
        before = self.seconds.get((prefix.name, worker), spent)
        self.seconds[prefix.name, worker] = mean = (before + spent) / 2
        others = [
            self.seconds[prefix.name, one]
            for one in self.scheduler.workers
            if (prefix.name, one) in self.seconds
        ]
        if len(others) > 1 and min(others) > 0:
            self.ratio[worker] = mean * len(others) / sum(others)

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Forget a worker that has gone."""
        self.seconds = {key: one for key, one in self.seconds.items() if key[1] != worker}
        self.ratio.pop(worker, None)

    def duration(self, prefix: Any, ws: Any) -> float:
        """Return the seconds that a kind of task takes on a worker, as far as is known."""
        found = self.seconds.get((prefix.name, ws.address))
        if found is not None:
            return found
        known = float(self.scheduler._get_prefix_duration(prefix))
        return known * self.ratio.get(ws.address, 1.0)

    def busy(self, ws: Any) -> float:
        """Return the seconds until a worker has done what it was given."""
        prefixes = self.scheduler.task_prefixes
        seconds = sum(
            count * self.duration(prefixes[name], ws)
            for name, count in ws.task_prefix_count.items()
        )
        return float(seconds / ws.nthreads)

    def end(self, ts: Any, ws: Any) -> float:
        """Return in how many seconds a task would be done on a worker."""
        cost = float(self.scheduler.get_comm_cost(ts, ws))
        return self.busy(ws) + cost + self.duration(ts.prefix, ws)

    def objective(self, ts: Any, ws: Any) -> tuple[float, ...]:
        """Choose among workers for a task: in the place of ``Scheduler.worker_objective``."""
        actors = (float(len(ws.actors)),) if ts.actor else ()
        return (*actors, self.end(ts, ws), float(ws.nbytes))

    def first_to_end(self, ts: Any) -> Any:
        """Choose the worker of a task, also of one that needs nothing and may run anywhere."""
        running = self.scheduler.running
        free = not ts.dependencies and self.scheduler.valid_workers(ts) is None
        if free and 0 < len(running) < 20:
            return min(running, key=lambda ws: self.objective(ts, ws))
        return self.choose(ts)

    def thief(
        self, scheduler: Any, ts: Any, potential_thieves: set[Any], *, occupancies: Any
    ) -> Any:
        """Choose who takes a task off its worker; None where nobody ends it sooner."""
        valid = scheduler.valid_workers(ts)
        if valid is not None and not (ts.loose_restrictions and not potential_thieves & valid):
            potential_thieves = potential_thieves & valid
        best = min(potential_thieves, key=lambda ws: self.end(ts, ws), default=None)
        if best is None or self.end(ts, best) >= self.busy(ts.processing_on):
            return None
        return best

    def next_for_queue(self) -> Any:
        """Choose the worker for the next task of the queue; None leaves it there.

        A free worker takes none that the others, busy now, will have done before it would.
        """
        scheduler = self.scheduler
        prefix = scheduler.queued.peek().prefix if scheduler.queued else self.last
        if not scheduler.idle_task_count or prefix is None:
            return self.pick()

        def end(ws: Any) -> float:
            return self.busy(ws) + self.duration(prefix, ws)

        free = min(scheduler.idle_task_count, key=end)
        others = [ws for ws in scheduler.running if ws is not free and ws.processing]
        speeds = {ws: ws.nthreads / max(self.duration(prefix, ws), 1e-6) for ws in others}
        if others:
            ahead = sum(self.busy(ws) * speed for ws, speed in speeds.items())
            if (ahead + len(scheduler.queued)) / sum(speeds.values()) < end(free):
                return None
        return free
