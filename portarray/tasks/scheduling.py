"""Run a graph in threads; the workers of each device take the longest chain first."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any, Protocol

from portarray._array import extents
from portarray._devices import memory
from portarray._devices.device import Device
from portarray.errors import TaskCancelledError
from portarray.tasks import arguments
from portarray.tasks.arguments import Access
from portarray.tasks.memory import Cell
from portarray.tasks.task import (
    CANCELLED,
    DONE,
    FAILED,
    NEEDED,
    READY,
    RUNNING,
    WAITING,
    Node,
    Task,
)

__all__ = ["Engine", "Threads", "Uses", "cancel_dependents", "cancelled", "link"]

Uses = Sequence[tuple[Access, Cell | None]]
"""The arrays that a call reads and writes."""

_FEW = 64


class Engine(Protocol):
    """Runs the calls of a region; the lock is not held in ``finish``, ``close``, ``record_times``.

    ``shares`` is whether calls get the region's arrays and not copies. Copies to other devices are
    then separate calls, and a write waits for earlier reads.
    """

    shares: bool

    @property
    def pending(self) -> int:
        """The number of calls that are not done."""

    def check(self, uses: Uses, device: Device) -> None:
        """Raise if a device cannot hold the arrays of a call."""

    def add(self, node: Node, dependencies: Iterable[tuple[Node, str, bool]]) -> None:
        """Take a call and what it waits for, before its writes are noted in the memory."""

    def start(self) -> None:
        """Start the added calls, because a thread waits for a result."""

    def load(self, device: Device) -> int:
        """Return how many calls wait for a device."""

    def rank(self) -> None:
        """Give calls their priorities; the graph is complete."""

    def cancel(self, reason: str) -> None:
        """Cancel all calls that have not started."""

    def wait(self) -> None:
        """Wait until all calls are done."""

    def finish(self, nodes: Sequence[Node]) -> list[BaseException]:
        """Let arrays have what was written; return the errors of that."""

    def close(self) -> None:
        """End the workers."""

    def record_times(self, nodes: Sequence[Node]) -> None:
        """Note when and where calls ran."""


class _Lane:
    """The workers of a device, or of the copies to it, and the calls that are ready for them."""

    def __init__(self, name: str, lock: threading.Lock) -> None:
        self.name = name
        self.ready: list[tuple[int, int, Node]] = []
        self.wake = threading.Condition(lock)
        self.idle = 0
        self.load = 0
        self.threads: list[threading.Thread] = []


class Threads:
    """Workers of one process, started when a device has its first call.

    Parameters
    ----------
    lock : threading.Lock
        Held while the graph changes.
    workers : int
        Threads of each device.
    """

    shares = True

    def __init__(self, lock: threading.Lock, workers: int) -> None:
        self._lock = lock
        self._workers = workers
        self._lanes: dict[tuple[Device, bool], _Lane] = {}
        self._idle = threading.Condition(lock)
        self._closing = False
        self._unfinished: list[Node] = []
        self._ranked = 0
        self.pending = 0

    def check(self, uses: Uses, device: Device) -> None:
        """Do nothing: calls share the arrays of the region."""

    def start(self) -> None:
        """Do nothing: calls start when they can."""

    def add(self, node: Node, dependencies: Iterable[tuple[Node, str, bool]]) -> None:
        """Take a call and what it waits for."""
        link(node, dependencies)
        self.pending += 1
        self._unfinished.append(node)
        self._lane(node).load += 1
        if len(self._unfinished) > 2 * self._ranked + _FEW:
            self.rank()
        if not node.waiting_for:
            self._start([node])

    def load(self, device: Device) -> int:
        """Return how many calls wait for a device."""
        lane = self._lanes.get((device, True))
        return lane.load if lane else 0

    def rank(self) -> None:
        """Set heights: calls are in an order in which each comes after those it waits for."""
        live = self._unfinished = [node for node in self._unfinished if node.state < DONE]
        for node in reversed(live):
            node.height = max((dependent.height + 1 for dependent, _ in node.after), default=0)
        for lane in self._lanes.values():
            lane.ready = [(-node.height, node.index, node) for _, _, node in lane.ready]
            heapify(lane.ready)
        self._ranked = len(live)

    def cancel(self, reason: str) -> None:
        """Cancel all calls that have not started."""
        for node in self._unfinished:
            if node.state in (WAITING, READY):
                node.without = node.without or reason

    def wait(self) -> None:
        """Wait until all calls are done."""
        while self.pending:
            self._idle.wait()

    def finish(self, nodes: Sequence[Node]) -> list[BaseException]:
        """Wait for the devices."""
        failed: list[BaseException] = []
        for device in {node.device: None for node in nodes}:
            try:
                memory.synchronize(device)
            except Exception as late:  # noqa: BLE001  (the region raises it)
                failed.append(late)
        return failed

    def record_times(self, nodes: Sequence[Node]) -> None:
        """Do nothing: calls have noted it."""

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            self._closing = True
            for lane in self._lanes.values():
                lane.wake.notify_all()
        for lane in self._lanes.values():
            for thread in lane.threads:
                thread.join()

    def _lane(self, node: Node) -> _Lane:
        lane = self._lanes.get(node.lane)
        if lane is None:
            device, computes = node.lane
            name = str(device) if computes else f"copies to {device}"
            lane = self._lanes[node.lane] = _Lane(name, self._lock)
        return lane

    def _start(self, nodes: list[Node]) -> None:
        """Let calls run that wait for nothing; those that cannot run end what depends on them."""
        while nodes:
            node = nodes.pop()
            if node.without:
                nodes += self._ended(node, CANCELLED, cancelled(node))
                continue
            node.state = READY
            lane = self._lane(node)
            heappush(lane.ready, (-node.height, node.index, node))
            if lane.idle:
                lane.idle -= 1  # now, for the next call: who is woken needs the lock first
                lane.wake.notify()
            elif len(lane.threads) < (self._workers if node.lane[1] else 1):
                name = f"{lane.name} {len(lane.threads)}"
                thread = threading.Thread(
                    target=contextvars.Context().run,  # without the region's
                    args=(self._work, lane, name),
                    name=f"portarray.tasks {name}",
                    daemon=True,
                )
                lane.threads.append(thread)
                thread.start()

    def _ended(self, node: Node, state: int, error: BaseException | None) -> list[Node]:
        """Note that a call is over, and return those that waited for it alone."""
        node.error = error
        node.state = state
        free = []
        for dependent, needed in node.after:
            if needed:
                cancel_dependents(dependent, node)
            dependent.waiting_for -= 1
            if not dependent.waiting_for:
                free.append(dependent)
        task = node.task
        self._lane(node).load -= 1
        self.pending -= 1
        node.drop()
        if task is not None and task._event is not None:
            task._event.set()
        if not self.pending:
            self._idle.notify_all()
        return free

    def _work(self, lane: _Lane, name: str) -> None:
        self._lock.acquire()
        try:
            while True:
                while not lane.ready:
                    if self._closing:
                        return
                    lane.idle += 1
                    lane.wake.wait()
                node = heappop(lane.ready)[2]
                if node.without:
                    self._start(self._ended(node, CANCELLED, cancelled(node)))
                    continue
                node.state = RUNNING
                node.worker = name
                self._lock.release()
                try:
                    error = _run(node)
                finally:
                    self._lock.acquire()
                self._start(self._ended(node, FAILED if error else DONE, error))
                del node, error
        finally:
            self._lock.release()


def link(node: Node, dependencies: Iterable[tuple[Node, str, bool]]) -> None:
    """Note what a call waits for."""
    for dependency, why, needed in dependencies:
        if dependency is node:
            continue
        reason = node.edges.get(dependency.index)
        if reason in NEEDED or (reason and not needed):
            continue
        node.edges[dependency.index] = why
        if dependency.state < DONE:
            dependency.after.append((node, needed))
            node.waiting_for += 1
        elif needed:
            cancel_dependents(node, dependency)


def cancel_dependents(node: Node, dependency: Node) -> None:
    """Cancel a call whose dependency failed or was cancelled."""
    if dependency.state == FAILED and not node.without:
        node.without = (
            f"{dependency}, failed with {type(dependency.error).__name__}: {dependency.error}"
        )
        node.cause = dependency.error
    elif dependency.state == CANCELLED and not node.without:
        node.without, node.cause = dependency.without, dependency.cause


def _run(node: Node) -> BaseException | None:
    """Call a node's function and keep its result; return its error."""
    task, context = node.task, node.context
    assert task is not None
    node.start = time.perf_counter_ns()
    try:
        if context is None:
            task._result = _called(node)
        else:
            task._result = context.run(_called, node)
    except BaseException as error:  # noqa: BLE001  (the result raises it)
        error.add_note(f"in {node.line()}")
        return error
    finally:
        node.end = time.perf_counter_ns()
    return None


def _called(node: Node) -> Any:
    function = node.function
    assert function is not None
    args = [_value(argument) for argument in node.args]
    kwargs = {key: _value(argument) for key, argument in node.kwargs.items()} if node.kwargs else {}
    with node.device:
        result = function(*args, **kwargs)
        if result is not None and node.uses:
            result = arguments.mapped(result, _Apart([*args, *kwargs.values()]))
        extents.evaluate(result)
        for argument in args:
            extents.evaluate(argument)
    return result


def _value(argument: Any) -> Any:
    """Return what a function gets for an argument."""
    if isinstance(argument, Task):
        return argument._result
    if isinstance(argument, Access):
        return argument.array
    return (
        arguments.mapped(argument.value, _value)
        if isinstance(argument, arguments.Tree)
        else argument
    )


class _Apart:
    """Copies results that share memory with arguments, which tasks to come may write."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.arguments = arguments
        self.extents: list[extents.Extent] | None = None

    def __call__(self, value: Any) -> Any:
        device = extents.place_of(value)
        if device is None:
            return value
        if self.extents is None:
            arrays = [
                x for x in arguments.leaves(self.arguments) if extents.place_of(x) is not None
            ]
            self.extents = [e for e in map(extents.extent_of, arrays) if e is not None]
        mine = extents.extent_of(value)
        if mine is not None and any(
            mine.memory == extent.memory and extents.meet(mine, extent) for extent in self.extents
        ):
            return extents.moved(value, device, copy=True)
        return value


def cancelled(node: Node) -> TaskCancelledError:
    """Return the error of a call that is not run."""
    error = TaskCancelledError(node.line(), node.without)
    error.__cause__ = node.cause
    return error
