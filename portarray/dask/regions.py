"""Regions on a cluster: each write creates a new version of an array, with a Dask key."""

from __future__ import annotations

import contextvars
import re
import threading
import time
import uuid
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import dask
from dask._task_spec import Task as DaskTask
from dask._task_spec import TaskRef
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Client, Future

from portarray._array import extents
from portarray._array.layouts import Values
from portarray._devices.device import Device
from portarray.dask import calls, compatibility, sharing, workers
from portarray.dask.packing import Version, Versions, Work
from portarray.tasks.scheduling import Uses, cancel_dependents, cancelled, link
from portarray.tasks.task import CANCELLED, DONE, FAILED, Node

__all__ = ["Cluster"]

_MANY = 512  # calls that are sent without waiting for more
_SOON = 0.02  # seconds after which calls are sent
_UNDONE = ("pending", "lost")  # what is lost is computed again
_SKEW = 60.0  # seconds by which clocks of machines may differ
_CHUNK = 1 << 28  # bytes that are fetched at once


class _Fetched(NamedTuple):
    """A result on the cluster."""

    future: Future

    def fetch(self) -> Any:
        """Return the value."""
        return self.future.result()[0]


class Cluster:
    """Runs the calls of a region on the workers of a Dask cluster.

    Parameters
    ----------
    lock : threading.Lock
        Held while the graph changes.
    client : distributed.Client
        Of the cluster.
    """

    shares = False

    def __init__(self, lock: threading.Lock, client: Any) -> None:
        if not isinstance(client, Client):
            raise TypeError(
                f"Region: engine must be a distributed.Client, got {client!r}\n"
                f"Hint: pass None to use threads of this process"
            )
        if client.asynchronous:
            raise TypeError(
                "Region: engine is an asynchronous client\nHint: pass Client(..., "
                "asynchronous=False)"
            )
        compatibility.check(client)
        self._lock = lock
        self._client = client
        self._name = uuid.uuid4().hex[:12]
        self._ended = threading.Condition(lock)
        self._unsent: list[Work] = []
        self._first = 0.0
        self._open: list[Work] = []  # what was sent, and waits for nothing that is not done
        self._all: list[Work] = []
        self._versions = Versions(self._name)
        self._loads: dict[Device, int] = {}
        self._resources: set[str] | None = None
        self._watcher: threading.Thread | None = None
        self.pending, self._closing = 0, False
        self._started = time.time()
        if client not in _RECORDED:
            client.get_task_stream()  # from now on it is recorded
            _RECORDED.add(client)

    def check(self, uses: Uses, device: Device) -> None:
        """Raise where arrays overlap in memory that a device does not share with the host."""
        sharing.check(uses, device)
        self._resource(device)

    def add(self, node: Node, dependencies: Iterable[tuple[Node, str, bool]]) -> None:
        """Take a call and what it waits for: what it needs, as old versions are not written."""
        key = f"{re.sub('[^A-Za-z0-9_.]', '_', node.name)}-{self._name}-{node.index}"
        work = Work(node, key)
        packed = self._versions.packed(work)
        link(node, [dependency for dependency in dependencies if dependency[2]])
        work.packed = packed
        node.work = work
        self.pending += 1
        self._loads[node.device] = self._loads.get(node.device, 0) + 1
        self._all.append(work)
        if not self._unsent:
            self._first = time.monotonic()
        self._unsent.append(work)
        if self._watcher is None:
            self._watcher = threading.Thread(
                target=self._watch, name="portarray.tasks on Dask", daemon=True
            )
            self._watcher.start()
        if len(self._unsent) >= _MANY:
            self.rank()
        node.task = None  # the handle is None if the result is unused

    def load(self, device: Device) -> int:
        """Return how many calls a device has before it."""
        return self._loads.get(device, 0)

    def rank(self) -> None:
        """Send what was added, with priorities: the longest chain of calls behind each."""
        works, self._unsent = self._unsent, []
        self._opened(works)
        works = [work for work in works if not work.node.without]
        if not works:
            return
        for work in reversed(works):
            after = work.node.after
            work.node.height = max((dependent.height + 1 for dependent, _ in after), default=0)
        try:
            self._submit(works)
        except Exception as error:  # noqa: BLE001  (the results raise it)
            for work in works:
                lost = cancelled(work.node) if work.node.without else None
                self._over(work, CANCELLED if lost else FAILED, lost or error)

    start = rank

    def _opened(self, works: Sequence[Work]) -> None:
        for work in works:
            work.sent = True
            if not work.node.waiting_for:
                self._open.append(work)

    def _submit(self, works: Sequence[Work]) -> None:
        layers: dict[tuple[Device | None, str], dict[str, DaskTask]] = {}
        scopes: dict[str, dict[str, Any]] = {"": {}}
        priorities: dict[str, int] = {}
        futures: dict[str, list[Any]] = {}
        arrays = {version.key: x for version, x in self._versions.unsent}
        uses = Counter(dep.key for work in works for dep in work.deps if isinstance(dep, Version))
        inside: dict[str, Any] = {}  # those that one call alone reads, and replaces
        for work in works:
            for version in work.replaces:
                if version.key in arrays and uses[version.key] == 1:
                    inside[version.key] = calls.initial_version(Values.of(arrays.pop(version.key)))
        for version, x in self._versions.unsent:
            key = version.key
            if key not in arrays:
                continue
            layers.setdefault((None, ""), {})[key] = DaskTask(
                key, calls.initial_version, Values.of(x)
            )
            futures[key] = [version]
        self._versions.unsent = []
        for work in works:
            within = repr(work.annotations) if work.annotations else ""
            scopes[within] = work.annotations
            layer = layers.setdefault((work.node.device, within), {})
            self._enter(work, layer, futures, priorities, inside)
        graphs = [(layer, device, scopes[within]) for (device, within), layer in layers.items()]
        sent = self._send(graphs, priorities)
        for key, future in sent.items():
            for holder in futures[key]:
                holder.future = future
        for work in works:
            handle = work.handle() if work.handle is not None else None
            if handle is not None:
                handle._later = _Fetched(sent[work.result])

    def _enter(
        self,
        work: Work,
        graph: dict[str, DaskTask],
        holders: dict[str, list[Any]],
        priorities: dict[str, int],
        inside: dict[str, Any],
    ) -> None:
        """Add a call to a graph."""
        key, height = work.key, work.node.height
        inputs: list[Any] = []
        for dep in work.deps:
            if isinstance(dep, Version) and dep.key in inside:
                inputs.append(inside[dep.key])
                continue
            name = dep.result if isinstance(dep, Work) else dep.key
            inputs.append(TaskRef(name))
            priorities[name] = max(priorities.get(name, 0), height)
        graph[key] = DaskTask(key, calls.run, work.packed, str(work.node.device), *inputs)
        work.packed = b""
        holders[key] = [work]
        keys = [key]
        if len(work.versions) == 1:
            holders[key].append(work.versions[0])
        else:
            for slot, version in enumerate(work.versions, 1):
                graph[version.key] = DaskTask(version.key, calls.select_output, TaskRef(key), slot)
                holders[version.key] = [version]
                keys.append(version.key)
        if work.versions and work.handle is not None and work.handle() is not None:
            work.result = f"{key}-result"
            graph[work.result] = DaskTask(work.result, calls.select_output, TaskRef(key), 0)
            holders[work.result] = []
            keys.append(work.result)
        for name in keys:
            priorities[name] = max(priorities.get(name, 0), height)

    def _send(
        self,
        graphs: Sequence[tuple[dict[str, DaskTask], Device | None, dict[str, Any]]],
        priorities: dict[str, int],
    ) -> dict[str, Future]:
        layers: dict[str, Any] = {}
        for index, (graph, device, within) in enumerate(graphs):
            annotations: dict[str, Any] = {"priority": priorities.__getitem__}
            resource = None if device is None else self._resource(device)
            if resource:
                annotations["resources"] = {resource: 1}
            name = f"{self._name}-{index}"
            layers[name] = MaterializedLayer(graph, annotations=annotations | within)
        keys = [key for graph, _, _ in graphs for key in graph]
        whole = HighLevelGraph(layers, {name: set() for name in layers})
        # The first versions of arrays are in the graph: a worker that is lost takes none of them.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1PB"}):
            # An empty context drops the annotations of the caller; calls have their own.
            send = partial(self._client.get, whole, keys, sync=False)
            futures = contextvars.Context().run(send)
        return dict(zip(keys, futures, strict=True))

    def _resource(self, device: Device) -> str | None:
        """Return the resource of workers that have a device, where workers declare devices."""
        if self._resources is None:
            declared = workers.workers_of(self._client).values()
            self._resources = {device for worker in declared for device in worker["devices"]}
        if not self._resources:
            return None
        if str(device) not in self._resources:
            names = ", ".join(sorted(self._resources))
            raise ValueError(
                f"spawn: a task runs on {device}, but the workers declare {names}\nHint: use one "
                f"of "
                f"these devices, or start a worker with --resources '{device}=1'"
            )
        return str(device)

    def _watch(self) -> None:
        pause = 0.002
        while True:
            time.sleep(pause)
            with self._lock:
                if self._closing:
                    return
                try:
                    if self._unsent and time.monotonic() - self._first > _SOON:
                        self.rank()
                    started = time.perf_counter()
                    self._look()
                    pause = min(max(0.002, 10 * (time.perf_counter() - started)), 0.1)
                except Exception as error:  # noqa: BLE001  (otherwise the region never ends)
                    for work in self._all:
                        if work.node.state < DONE:
                            self._over(work, FAILED, error)
                    self._open, self._unsent = [], []
                    self._ended.notify_all()

    def _look(self) -> None:
        """Note which calls have ended: each after those that it needs."""
        ahead, self._open = self._open, []
        while ahead:
            work = ahead.pop()
            node, future = work.node, work.future
            if node.state >= DONE:
                continue
            if node.without:
                ahead += self._over(work, CANCELLED, cancelled(node))
            elif future is None or future.status in _UNDONE:
                self._open.append(work)
            elif future.status == "finished":
                ahead += self._over(work, DONE, None)
            else:
                ahead += self._over(work, FAILED, _error_of(future, node))
        if not self.pending:
            self._ended.notify_all()

    def _over(self, work: Work, state: int, error: BaseException | None) -> list[Work]:
        """Note that a call is over; return those that waited for it alone."""
        node = work.node
        node.error, node.state = error, state
        free = []
        for dependent, _ in node.after:
            cancel_dependents(dependent, node)
            dependent.waiting_for -= 1
            if not dependent.waiting_for and dependent.work.sent:
                free.append(dependent.work)
        self.pending -= 1
        self._loads[node.device] -= 1
        if state == DONE:
            for version in work.replaces:
                version.future = None
        work.replaces, work.deps, work.future = [], [], None
        uses = node.uses
        node.drop()
        node.uses = uses
        task = work.handle() if work.handle is not None else None
        if task is not None and task._event is not None:
            task._event.set()
        return free

    def cancel(self, reason: str) -> None:
        """Cancel all calls that have not ended."""
        self._look()
        futures = []
        for work in self._all:
            if work.node.state < DONE:
                work.node.without = work.node.without or reason
                if work.future is not None:
                    futures.append(work.future)
        self._opened(self._unsent)
        self._unsent = []
        if futures:
            self._client.cancel(futures)

    def wait(self) -> None:
        """Wait until all calls have ended."""
        while self.pending:
            self._ended.wait()

    def finish(self, nodes: Sequence[Node]) -> list[BaseException]:
        """Write the last versions into the arrays."""
        ready: list[tuple[Future, int, Any]] = []
        failed: list[BaseException] = []
        size = 0
        for work in self._all:
            if work.node.state != DONE:
                continue
            for version, (x, _) in zip(work.versions, work.written, strict=True):
                if version.future is not None:
                    ready.append((version.future, version.slot, x))
                    size += x.size * 8
                    if size > _CHUNK:
                        failed += self._fetch(ready)
                        ready, size = [], 0
        failed += self._fetch(ready)
        return failed

    def _fetch(self, ready: list[tuple[Future, int, Any]]) -> list[BaseException]:
        try:
            outcomes = self._client.gather([future for future, _, _ in ready])
            for outcome, (_, slot, x) in zip(outcomes, ready, strict=True):
                extents.assign(x, outcome[slot].on(extents.place_of(x), copy=False))
        except Exception as error:  # noqa: BLE001  (the region raises it)
            error.add_note(
                "raised while results of tasks were copied into the arrays of the region"
            )
            return [error]
        return []

    def close(self) -> None:
        """Stop the watcher and release versions."""
        with self._lock:
            self._closing = True
        if self._watcher is not None:
            self._watcher.join()
        for work in self._all:
            work.versions, work.written, work.future = [], [], None
            work.node.uses = ()
        self._versions.clear()

    def record_times(self, nodes: Sequence[Node]) -> None:
        """Set the times of calls from the scheduler's task stream."""
        start = self._started - _SKEW
        events = {event["key"]: event for event in self._client.get_task_stream(start=start)}
        for node in nodes:
            event = events.get(node.work.key)
            for span in event["startstops"] if event else ():
                if span["action"] == "compute":
                    node.start, node.end = (int(1e9 * span[key]) for key in ("start", "stop"))
                    node.worker = f"{event['worker']} {event['thread']}" if event else ""


_RECORDED: weakref.WeakSet[Client] = weakref.WeakSet()
"""Clients whose schedulers record when tasks run."""


def _error_of(future: Future, node: Node) -> BaseException:
    """Return the error of a call, or the error that the cluster lost it."""
    try:
        error = future.exception()
        if error is None:
            future.result()
    except Exception as raised:  # noqa: BLE001  (the result raises it)
        error = raised
    assert isinstance(error, BaseException)
    error.add_note(f"in {node.line()}")
    return error
