"""Tasks, and the nodes of the graph that they belong to."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from portarray._devices.device import Device

__all__ = [
    *("CANCELLED", "DONE", "FAILED", "READY", "RUNNING", "WAITING"),
    *(
        "NEEDED",
        "OVERWRITE",
        "READ",
        "RESULT",
        "STATES",
        "WRITE",
        "Later",
        "Node",
        "Task",
        "running",
    ),
]

WAITING, READY, RUNNING, DONE, FAILED, CANCELLED = range(6)
STATES = ("waiting", "ready", "running", "done", "failed", "cancelled")

READ, WRITE, OVERWRITE = "read after write", "write after read", "write after write"
RESULT = "result"
NEEDED = (READ, RESULT)
"""Reasons for the order of two tasks; ``NEEDED`` are those that use a result."""

running: contextvars.ContextVar[tuple[object, bool] | None] = contextvars.ContextVar(
    "running", default=None
)
"""The region that the code is in, and whether in one of its tasks."""


class Node:
    """A function call of the graph, and afterwards its record.

    ``edges`` are the numbers of the calls before it and why they are; ``after`` the calls that
    wait for it, and whether they need what it computed. ``height`` is the longest chain of these.
    """

    __slots__ = (
        *("after", "args", "cause", "context", "delivered", "device", "edges", "end", "error"),
        *(
            "function",
            "height",
            "index",
            "kind",
            "kwargs",
            "lane",
            "name",
            "start",
            "state",
            "task",
        ),
        *("uses", "waiting_for", "where", "without", "work", "worker"),
    )

    def __init__(
        self,
        index: int,
        kind: str,
        name: str,
        device: Device,
        call: tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]],
        where: tuple[str, int] | None,
    ) -> None:
        self.index = index
        self.kind = kind
        self.name = name
        self.device: Device = device
        self.function: Callable[..., Any] | None = call[0]
        self.args: Sequence[Any] = call[1]
        self.kwargs: Mapping[str, Any] = call[2]
        self.where = where
        self.lane = (device, kind == "task")
        self.context: contextvars.Context | None = None
        self.uses: Sequence[Any] = ()  # keep arrays, and with them their addresses
        self.edges: dict[int, str] = {}
        self.after: list[tuple[Node, bool]] = []
        self.waiting_for = 0
        self.without: str = ""  # why it is not to be run
        self.cause: BaseException | None = None
        self.error: BaseException | None = None
        self.state = WAITING
        self.height = 0
        self.start = self.end = 0
        self.worker = ""
        self.delivered = False  # whether its error was delivered
        self.task: Task | None = None
        self.work: Any = None  # the engine's own

    def __str__(self) -> str:
        return f"task {self.index}, {self.name}"

    def __lt__(self, other: Node) -> bool:
        return self.index < other.index

    def line(self) -> str:
        """Return the task with the line that spawned it."""
        where = f", of {self.where[0]}:{self.where[1]}" if self.where else ""
        return f"{self} on {self.device}{where}"

    def drop(self) -> None:
        """Release data that only the call needs."""
        self.function = self.context = None
        self.args, self.kwargs, self.after = (), {}, []
        if self.state != FAILED:
            self.task = None
        if self.state == DONE:
            self.uses = ()


class Later(Protocol):
    """A result that is fetched on demand."""

    def fetch(self) -> Any:
        """Return the value."""


class Task:
    """A spawned function and its future result.

    Made by :meth:`Region.spawn`. As an argument of another task, it represents its result.

    See Also
    --------
    Region.spawn

    Examples
    --------
    >>> import portarray as pa
    >>> with pa.tasks.Region(devices=["numpy"]) as region:
    ...     total = region.spawn(pa.sum, pa.tasks.In(pa.ones(3, device="numpy")))
    >>> total.result()
    Array(3., dtype=float64, device='numpy:cpu:0')
    """

    __slots__ = (
        *("__weakref__", "_event", "_later", "_lock", "_node", "_region", "_result", "_start"),
    )

    def __init__(
        self, node: Node, region: object, lock: threading.Lock, start: Callable[[], None]
    ) -> None:
        self._node = node
        self._region = region
        self._lock = lock
        self._start = start  # called before anybody waits
        self._result: Any = None
        self._later: Later | None = None
        self._event: threading.Event | None = None

    def __repr__(self) -> str:
        return f"<{self._node} on {self._node.device}: {STATES[self._node.state]}>"

    @property
    def name(self) -> str:
        """The task's name."""
        return self._node.name

    @property
    def device(self) -> Device:
        """The device that runs it."""
        return self._node.device

    def done(self) -> bool:
        """Return whether it has run, failed or been cancelled."""
        return self._node.state >= DONE

    def cancelled(self) -> bool:
        """Return whether it was cancelled because a dependency failed."""
        return self._node.state == CANCELLED

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait, and return the error of the function; None if there is none.

        An error that was returned is not raised again when the region ends.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait.

        Returns
        -------
        BaseException or None
            The error: the function's own, or :class:`portarray.TaskCancelledError`.

        Raises
        ------
        TimeoutError
            If it takes longer.
        RuntimeError
            If a task of the same region waits.
        """
        self._wait(timeout)
        self._node.delivered = True
        return self._node.error

    def result(self, timeout: float | None = None) -> Any:
        """Wait, and return what the function returned, or raise what it raised.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait.

        Returns
        -------
        object
            What the function returned.

        Raises
        ------
        TimeoutError
            If it takes longer.
        portarray.TaskCancelledError
            If it was not run.
        RuntimeError
            If a task of the same region waits.
        """
        error = self.exception(timeout)
        if error is not None:
            try:
                raise error
            finally:
                del error  # else this frame and the error form a reference cycle
        if self._later is not None:
            self._result, self._later = self._later.fetch(), None
        return self._result

    def _wait(self, timeout: float | None) -> None:
        if self.done():
            return
        inside = running.get()
        if inside is not None and inside[1] and inside[0] is self._region:
            raise RuntimeError(
                f"Task.result: a task waits for {self._node} of its own region, which may need the "
                f"same "
                f"worker\nHint: pass the task as an argument instead"
            )
        with self._lock:
            event = self._event
            if event is None:
                event = self._event = threading.Event()
            self._start()
        if not self.done() and not event.wait(timeout):
            raise TimeoutError(f"Task.result: {self._node} is not done after {timeout} s")
