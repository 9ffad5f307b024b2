"""Load balancing by measured speed: a slow worker gets fewer tasks.

The scheduler of ``distributed`` keeps one duration for each kind of task, regardless of the worker,
and has no hook for another rule. The plugin therefore replaces methods of its scheduler.
"""

from __future__ import annotations

from typing import Any

from distributed import SchedulerPlugin

__all__ = ["BalancePlugin"]


class BalancePlugin(SchedulerPlugin):  # type: ignore[misc]
    """Sends a task to the worker that is expected to finish it first.

    The plugin measures durations for each kind of task on each worker; recent ones count more. For
    a kind that a worker has not run, it uses the worker's speed ratio in other kinds.
    """

    name = "portarray-balance"
    idempotent = True

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], float] = {}
        self.ratio: dict[str, float] = {}
        self.last: Any = None  # kind of the task that was done last

    async def start(self, scheduler: Any) -> None:
        """Replace the methods of a scheduler."""
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
            span["stop"] - span["start"]
            for span in options.get("startstops") or ()
            if span["action"] == "compute"
        )
        self.last = prefix = self.scheduler.tasks[key].prefix
        previous = self.seconds.get((prefix.name, worker), spent)
        self.seconds[prefix.name, worker] = mean = (previous + spent) / 2
        others = [
            self.seconds[prefix.name, address]
            for address in self.scheduler.workers
            if (prefix.name, address) in self.seconds
        ]
        if len(others) > 1 and min(others) > 0:
            self.ratio[worker] = mean * len(others) / sum(others)

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Forget a worker that has gone."""
        self.seconds = {key: seconds for key, seconds in self.seconds.items() if key[1] != worker}
        self.ratio.pop(worker, None)

    def duration(self, prefix: Any, ws: Any) -> float:
        """Return the expected seconds of a kind of task on a worker."""
        measured = self.seconds.get((prefix.name, ws.address))
        if measured is not None:
            return measured
        average = float(self.scheduler._get_prefix_duration(prefix))
        return average * self.ratio.get(ws.address, 1.0)

    def busy(self, ws: Any) -> float:
        """Return the seconds until a worker has finished its tasks."""
        prefixes = self.scheduler.task_prefixes
        seconds = sum(
            count * self.duration(prefixes[name], ws)
            for name, count in ws.task_prefix_count.items()
        )
        return float(seconds / ws.nthreads)

    def end(self, ts: Any, ws: Any) -> float:
        """Return the seconds until a worker would finish a task."""
        cost = float(self.scheduler.get_comm_cost(ts, ws))
        return self.busy(ws) + cost + self.duration(ts.prefix, ws)

    def objective(self, ts: Any, ws: Any) -> tuple[float, ...]:
        """Rank workers for a task; replaces ``Scheduler.worker_objective``."""
        actors = (float(len(ws.actors)),) if ts.actor else ()
        return (*actors, self.end(ts, ws), float(ws.nbytes))

    def first_to_end(self, ts: Any) -> Any:
        """Choose the worker of a task, including tasks without inputs or restrictions."""
        running = self.scheduler.running
        free = not ts.dependencies and self.scheduler.valid_workers(ts) is None
        if free and 0 < len(running) < 20:
            return min(running, key=lambda ws: self.objective(ts, ws))
        return self.choose(ts)

    def thief(
        self, scheduler: Any, ts: Any, potential_thieves: set[Any], *, occupancies: Any
    ) -> Any:
        """Choose the worker that steals a task; None if no worker finishes it sooner."""
        valid = scheduler.valid_workers(ts)
        if valid is not None and not (ts.loose_restrictions and not potential_thieves & valid):
            potential_thieves = potential_thieves & valid
        best = min(potential_thieves, key=lambda ws: self.end(ts, ws), default=None)
        if best is None or self.end(ts, best) >= self.busy(ts.processing_on):
            return None
        return best

    def next_for_queue(self) -> Any:
        """Choose the worker for the next task of the queue; None leaves it there.

        A free worker takes no task that a busy worker would finish sooner.
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
