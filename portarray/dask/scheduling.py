"""Scheduler plugin that finds the workers that meet scopes."""

from __future__ import annotations

import asyncio
from time import monotonic, time
from typing import Any, NamedTuple

import dask
from dask._task_spec import Task
from dask.utils import parse_timedelta
from distributed import SchedulerPlugin
from distributed.protocol import pickle

from portarray.dask import owners
from portarray.dask.balancing import BalancePlugin
from portarray.dask.scoped_tasks import Scoped, devices_of, names_of, scoped
from portarray.dask.scopes import ANNOTATION, Scope, ScopeError

__all__ = ["ScopesPlugin", "register", "register_by"]

_NOBODY = "portarray://nobody"  # an empty set would allow all workers
_KNOWN = "_portarray_scopes"


def register(client: Any) -> None:
    """Register the plugin with the scheduler of a client."""
    if not getattr(client, _KNOWN, False):
        setattr(client, _KNOWN, True)
        result = client.register_plugin(ScopesPlugin())
        if client.asynchronous:
            setattr(client, _KNOWN, asyncio.ensure_future(result))


async def register_by(worker: Any) -> None:
    """Register the plugins for scopes and load balancing with the scheduler of a worker."""
    plugins: list[Any] = [ScopesPlugin()]
    if dask.config.get("portarray.balance", True):
        plugins.append(BalancePlugin())
    for plugin in plugins:
        await worker.scheduler.register_scheduler_plugin(
            plugin=pickle.dumps(plugin), name=plugin.name, idempotent=True
        )


class _Task(NamedTuple):
    scope: Scope
    workers: set[str] | None
    """What ``workers=`` of Dask allows."""


class _Worker(NamedTuple):
    name: str
    names: set[str]
    devices: list[str]
    since: float

    def meets(self, within: Scope) -> bool:
        return within.devices(self.names, self.devices) is not None


class ScopesPlugin(SchedulerPlugin):  # type: ignore[misc]
    """Limits each task to the workers that meet its scope; updates when workers join or leave.

    A task without a scope inherits the devices of its operands, because a chunk can only be read
    where its device is.
    """

    name = "portarray-scopes"
    idempotent = True

    def __init__(self) -> None:
        self.tasks: dict[Any, _Task] = {}
        self.workers: dict[str, _Worker] = {}
        self.gone: dict[str, _Worker] = {}
        self.matches: dict[Scope, set[str] | None] = {}
        self.timer: tuple[float, Any] | None = None  # when it ends, and its handle

    async def start(self, scheduler: Any) -> None:
        """Let graphs find the scopes of tasks that were computed before."""
        owners.LOOKUPS.append(self.scope_of)

    async def close(self) -> None:
        """Forget the tasks of a scheduler that ends."""
        owners.LOOKUPS.remove(self.scope_of)

    def scope_of(self, key: Any) -> Scope | None:
        """Return the scope of a task, or None."""
        task = self.tasks.get(key)
        return task.scope if task is not None else None

    def update_graph(self, scheduler: Any, *, tasks: Any, annotations: Any, **_: Any) -> None:
        """Limit the tasks of a new graph."""
        self._look(scheduler)
        annotated = annotations.get(ANNOTATION, {})
        for key in tasks:
            ts = scheduler.tasks[key]
            if ts.annotations:  # workers need not get them, and msgpack cannot send scopes
                ts.annotations.pop(ANNOTATION, None)
            # Dask forgets annotations where it makes Delayed of arrays; the task knows.
            within = annotated.get(key, ts.run_spec.func if type(ts.run_spec) is Scoped else None)
            if within is not None and key not in self.tasks:
                self.tasks[key] = _Task(within, ts.worker_restrictions)
                ts.run_spec = scoped(ts.run_spec, within)
        for key in self._follow(scheduler, tasks):
            self._limit(scheduler, key)

    def _look(self, scheduler: Any) -> None:
        """Update the list of workers and their devices."""
        now = {
            address: _Worker(
                str(ws.name), names_of(ws.name, address), devices_of(ws.resources), monotonic()
            )
            for address, ws in scheduler.workers.items()
        }
        for address in self.workers.keys() - now.keys():
            self.gone[address] = self.workers[address]._replace(since=monotonic())
        self.workers = now
        self.matches.clear()

    def _follow(self, scheduler: Any, keys: Any) -> list[Any]:
        """Give tasks without a scope the scope of their operands; return the keys with a scope."""
        touched, done, scoped_keys = set(keys), set(), []
        stack = list(keys)
        while stack:
            key = stack[-1]
            if key in done:
                stack.pop()
                continue
            ts = scheduler.tasks[key]
            pending = [d.key for d in ts.dependencies if d.key in touched and d.key not in done]
            if pending:
                stack.extend(pending)
                continue
            done.add(key)
            if key not in self.tasks and ts.run_spec is not None:
                scopes = {self.tasks[d.key].scope for d in ts.dependencies if d.key in self.tasks}
                where = {inherited for within in scopes if (inherited := within.for_results())}
                if len(where) == 1:
                    self.tasks[key] = _Task(where.pop(), ts.worker_restrictions)
            if key in self.tasks:
                scoped_keys.append(key)
        return scoped_keys

    def _limit(self, scheduler: Any, key: Any) -> None:
        """Limit a task to the workers that meet its scope; make it an error if there is none."""
        ts = scheduler.tasks.get(key)
        if ts is None:
            return
        within, allowed = self.tasks[key]
        workers = self._workers(within)
        if workers is None:
            ts.worker_restrictions = allowed
            return
        if allowed:
            workers = workers & allowed
        ts.worker_restrictions = workers or {_NOBODY}
        if not workers and not self._is_expected(scheduler, within):
            self._refuse(ts, within, allowed)

    def _workers(self, within: Scope) -> set[str] | None:
        """Return the workers that meet a scope; None if all do."""
        if within in self.matches:
            return self.matches[within]
        matching = {address for address, worker in self.workers.items() if worker.meets(within)}
        result: set[str] | None = matching
        if len(matching) == len(self.workers) and matching:
            result = None
        elif within.placed and not matching:
            silent = not any(worker.devices for worker in self.workers.values())
            if silent or all(
                alternative.platform == frozenset(["cpu"]) for alternative in within.alternatives
            ):
                result = None
        self.matches[within] = result
        return result

    def _is_expected(self, scheduler: Any, within: Scope) -> bool:
        """Return whether a worker that meets a scope may still join, and check again later."""
        wait = float(parse_timedelta(dask.config.get("portarray.return-timeout", "60s")))
        now = monotonic()
        self.gone = {
            address: gone for address, gone in self.gone.items() if now - gone.since < wait
        }
        awaited = [worker.since for worker in self.gone.values() if worker.meets(within)]
        if self.workers and not awaited:
            return False
        end = max(awaited, default=now) + wait
        if self.timer is None or end < self.timer[0]:
            self._stop_timer(scheduler)
            later = scheduler.loop.call_later(end - now + 0.1, self._again, scheduler)
            self.timer = (end, later)
        return True

    def _stop_timer(self, scheduler: Any) -> None:
        if self.timer is not None:
            scheduler.loop.remove_timeout(self.timer[1])
            self.timer = None

    def _refuse(self, ts: Any, within: Scope, allowed: set[str] | None) -> None:
        lines = [
            f"{worker.name} ({address}) has {', '.join(worker.devices) or 'none declared'}"
            for address, worker in self.workers.items()
        ]
        among = f" of workers={sorted(allowed)}" if allowed else ""
        text = (
            f"compute: no worker{among} meets {within!r}; devices of the workers: "
            f"{'; '.join(lines) or 'no worker'}\nHint: change the scope, or start a worker that "
            f"meets "
            f"it; workers of portarray.dask.LocalCluster and of "
            f"dask worker --preload portarray.dask declare their devices"
        )
        ts.run_spec = Task(ts.key, _raise, text)
        ts.worker_restrictions = None

    def _again(self, scheduler: Any) -> None:
        """Find the workers of all tasks again; tasks without a worker become errors."""
        self._stop_timer(scheduler)
        self._look(scheduler)
        for key in self.tasks:
            self._limit(scheduler, key)
        waiting = [ts for ts in scheduler.unrunnable if ts.key in self.tasks]
        transitions = {
            ts.key: "processing" for ts in waiting if scheduler.valid_workers(ts) != set()
        }
        if transitions and scheduler.running:
            scheduler.transitions(transitions, f"portarray-scopes-{time()}")

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """Allow tasks on a worker that has joined."""
        name = str(scheduler.workers[worker].name)
        self.gone = {address: gone for address, gone in self.gone.items() if name not in gone.names}
        self._again(scheduler)

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Wait a while for a worker that has left."""
        self._again(scheduler)

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        """Forget tasks that the scheduler forgets."""
        if finish == "forgotten":
            self.tasks.pop(key, None)

    def restart(self, scheduler: Any) -> None:
        """Forget all tasks."""
        self.tasks.clear()


def _raise(text: str) -> None:
    raise ScopeError(text)
