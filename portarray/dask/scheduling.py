"""What the scheduler does for scopes: finds the workers that meet them."""

from __future__ import annotations

import asyncio
from time import monotonic, time
from typing import Any, NamedTuple

import dask
from dask._task_spec import Task
from dask.utils import parse_timedelta
from distributed import SchedulerPlugin
from distributed.protocol import pickle

from portarray.dask.balancing import BalancePlugin
from portarray.dask.scopes import (
    ANNOTATION,
    Scope,
    Scoped,
    ScopeError,
    devices_of,
    names_of,
    scoped,
)

__all__ = ["ScopesPlugin", "register", "register_by"]

_NOBODY = "portarray://nobody"  # an empty set of workers would allow all
_KNOWN = "_portarray_scopes"


def register(client: Any) -> None:
    """Have the scheduler of a client know scopes."""
    if not getattr(client, _KNOWN, False):
        setattr(client, _KNOWN, True)
        result = client.register_plugin(ScopesPlugin())
        if client.asynchronous:
            setattr(client, _KNOWN, asyncio.ensure_future(result))


async def register_by(worker: Any) -> None:
    """Have the scheduler of a worker know scopes, and balance load by measured speed."""
    plugins: list[Any] = [ScopesPlugin()]
    if dask.config.get("portarray.balance", True):
        plugins.append(BalancePlugin())
    for one in plugins:
        await worker.scheduler.register_scheduler_plugin(
            plugin=pickle.dumps(one), name=one.name, idempotent=True
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
    """Limits each task to the workers that meet its scope, whenever workers come and go.

    A task without a scope whose operands are all on such and such devices follows them: a chunk
    cannot be read where its device is not.
    """

    name = "portarray-scopes"
    idempotent = True

    def __init__(self) -> None:
        self.tasks: dict[Any, _Task] = {}
        self.known: dict[str, _Worker] = {}
        self.gone: dict[str, _Worker] = {}
        self.found: dict[Scope, set[str] | None] = {}
        self.timer: tuple[float, Any] | None = None  # when it ends, and its handle

    def update_graph(self, scheduler: Any, *, tasks: Any, annotations: Any, **_: Any) -> None:
        """Limit the tasks of a new graph."""
        self._look(scheduler)
        annotated = annotations.get(ANNOTATION, {})
        for key in tasks:
            ts = scheduler.tasks[key]
            # Dask forgets annotations where it makes Delayed of arrays; the task knows.
            within = annotated.get(key, ts.run_spec.func if type(ts.run_spec) is Scoped else None)
            if within is not None and key not in self.tasks:
                self.tasks[key] = _Task(within, ts.worker_restrictions)
                ts.run_spec = scoped(ts.run_spec, within)
        for key in self._follow(scheduler, tasks):
            self._limit(scheduler, key)

    def _look(self, scheduler: Any) -> None:
        """Note which workers there are and what they have."""
        now = {
            address: _Worker(
                str(ws.name), names_of(ws.name, address), devices_of(ws.resources), monotonic()
            )
            for address, ws in scheduler.workers.items()
        }
        for address in self.known.keys() - now.keys():
            self.gone[address] = self.known[address]._replace(since=monotonic())
        self.known = now
        self.found.clear()

    def _follow(self, scheduler: Any, keys: Any) -> list[Any]:
        """Give tasks without a scope that of all their operands; return the keys with a scope."""
        touched, done, found = set(keys), set(), []
        stack = list(keys)
        while stack:
            key = stack[-1]
            if key in done:
                stack.pop()
                continue
            ts = scheduler.tasks[key]
            before = [d.key for d in ts.dependencies if d.key in touched and d.key not in done]
            if before:
                stack.extend(before)
                continue
            done.add(key)
            if key not in self.tasks and ts.run_spec is not None:
                scopes = {self.tasks[d.key].scope for d in ts.dependencies if d.key in self.tasks}
                where = {one for each in scopes if (one := each.followed())}
                if len(where) == 1:
                    self.tasks[key] = _Task(where.pop(), ts.worker_restrictions)
            if key in self.tasks:
                found.append(key)
        return found

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
        """Return the workers that meet a scope; None if that are all."""
        if within in self.found:
            return self.found[within]
        found = {address for address, one in self.known.items() if one.meets(within)}
        result: set[str] | None = found
        if len(found) == len(self.known) and found:
            result = None
        elif within.placed and not found:
            silent = not any(one.devices for one in self.known.values())
            if silent or all(way.platform == frozenset(["cpu"]) for way in within.ways):
                result = None
        self.found[within] = result
        return result

    def _is_expected(self, scheduler: Any, within: Scope) -> bool:
        """Tell whether a worker that meets a scope may still come, and look again later."""
        wait = float(parse_timedelta(dask.config.get("portarray.return-timeout", "60s")))
        now = monotonic()
        self.gone = {one: gone for one, gone in self.gone.items() if now - gone.since < wait}
        awaited = [one.since for one in self.gone.values() if one.meets(within)]
        if self.known and not awaited:
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
            f"{one.name} ({address}) has {', '.join(one.devices) or 'none declared'}"
            for address, one in self.known.items()
        ]
        among = f" of workers={sorted(allowed)}" if allowed else ""
        text = (
            f"no worker{among} meets {within!r}; devices of the workers: "
            f"{'; '.join(lines) or 'no worker'}. Change the scope, or start a worker that meets "
            f"it: those of portarray.dask.LocalCluster and of dask worker --preload portarray.dask "
            f"declare their devices"
        )
        ts.run_spec = Task(ts.key, _raise, text)
        ts.worker_restrictions = None

    def _again(self, scheduler: Any) -> None:
        """Find the workers of all tasks again; those that wait in vain become errors."""
        self._stop_timer(scheduler)
        self._look(scheduler)
        for key in self.tasks:
            self._limit(scheduler, key)
        waiting = [ts for ts in scheduler.unrunnable if ts.key in self.tasks]
        found = {ts.key: "processing" for ts in waiting if scheduler.valid_workers(ts) != set()}
        if found and scheduler.running:
            scheduler.transitions(found, f"portarray-scopes-{time()}")

    def add_worker(self, scheduler: Any, worker: str) -> None:
        """Let tasks run on a worker that has come."""
        name = str(scheduler.workers[worker].name)
        self.gone = {one: gone for one, gone in self.gone.items() if name not in gone.names}
        self._again(scheduler)

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Wait a while for a worker that has gone."""
        self._again(scheduler)

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        """Forget tasks that the scheduler forgets."""
        if finish == "forgotten":
            self.tasks.pop(key, None)

    def restart(self, scheduler: Any) -> None:
        """Begin anew."""
        self.tasks.clear()


def _raise(text: str) -> None:
    raise ScopeError(text)
