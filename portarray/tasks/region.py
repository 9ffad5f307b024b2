"""Regions build a graph of calls, which an engine runs."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from portarray._array import extents
from portarray._devices import selection
from portarray._devices.device import Device
from portarray.tasks import trace
from portarray.tasks.arguments import Access, In, Tree, flat, leaves, mapped, marked
from portarray.tasks.engines import new_engine
from portarray.tasks.graph import Graph, graph_of
from portarray.tasks.memory import Cell, Memory
from portarray.tasks.scheduling import Engine, Threads
from portarray.tasks.task import CANCELLED, DONE, FAILED, RESULT, Node, Task, running

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["Region"]


class Region:
    """A ``with`` block whose functions run concurrently, with the results of a serial run.

    Parameters
    ----------
    devices : sequence of device-like, optional
        The devices that tasks run on; by default those of their arrays.
    workers : int, default: 1
        Threads of each device.
    engine : distributed.Client, optional
        Runs the tasks on the workers of a Dask cluster; by default threads of this process do.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    RuntimeError
        If a block begins within the block of another region.

    See Also
    --------
    In, Out, InOut

    Notes
    -----
    The block ends when all tasks and their devices are done. It raises an ExceptionGroup of the
    errors that no caller has retrieved. An error in the block cancels the tasks that have not
    started.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.tasks import In, InOut
    >>> def add(x, y):
    ...     y += x
    >>> x, y = (pa.ones(3, device="numpy") for _ in range(2))
    >>> with pa.tasks.Region() as region:
    ...     first = region.spawn(add, In(x), InOut(y))
    ...     second = region.spawn(add, In(y), InOut(x))
    >>> x
    Array([3., 3., 3.], dtype=float64, device='numpy:cpu:0')
    """

    def __init__(
        self,
        devices: Sequence[DeviceLike] | None = None,
        *,
        workers: int = 1,
        engine: Any = None,
    ) -> None:
        if type(workers) is not int or workers < 1:
            raise ValueError(
                f"Region: workers must be a number of threads, 1 or more, got {workers!r}"
            )
        if isinstance(devices, (str, Device)):
            raise TypeError(f"Region: devices must be a list of devices, got {devices!r}")
        self._devices = (
            None if devices is None else [selection.resolve(device) for device in devices]
        )
        if self._devices == []:
            raise ValueError("Region: devices is empty\nHint: pass at least one device, or None")
        self._lock = threading.Lock()
        if engine is None:
            self._engine: Engine = Threads(self._lock, workers)
        elif workers != 1:
            raise ValueError(
                f"Region: workers must be 1 with an engine, got {workers}; the cluster determines "
                f"its workers"
            )
        else:
            self._engine = new_engine(self._lock, engine)
        self._memory = Memory(forgets=self._engine.shares)
        self._nodes: list[Node] = []
        self._open = False
        self._token: contextvars.Token[Any] | None = None

    def __enter__(self) -> Self:
        if self._token is not None:
            raise RuntimeError("Region: this region was used before\nHint: make another Region")
        around = running.get()
        if around is not None and not around[1]:
            raise RuntimeError(
                "Region: a region cannot begin in the block of another region, because each orders "
                "only its own tasks\nHint: spawn into the outer region, or end it first"
            )
        self._token = running.set((self, False))
        self._open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        assert self._token is not None
        running.reset(self._token)
        try:
            with self._lock:
                if error is not None:
                    self._engine.cancel(f"the region's block raised {type(error).__name__}")
                self._engine.rank()
                try:
                    self._engine.wait()
                except BaseException as interrupt:
                    self._engine.cancel(f"{type(interrupt).__name__} ended the region")
                    raise
            self._open = False
            late = self._engine.finish(self._nodes)
        finally:
            self._open = False
            self._engine.close()
        failed = self._undelivered() + late
        if error is not None:
            for failure in failed:
                error.add_note(f"a task also failed: {type(failure).__name__}: {failure}")
            return
        if failed:
            count = sum(node.kind == "task" for node in self._nodes)
            lost = sum(node.kind == "task" and node.state == CANCELLED for node in self._nodes)
            cancelled = (
                f", {lost} were cancelled because a task that they need failed" if lost else ""
            )
            raise BaseExceptionGroup(f"{len(failed)} of {count} tasks failed{cancelled}", failed)

    def spawn(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        device: DeviceLike | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Task:
        """Call a function as soon as what it reads and writes is ready.

        Parameters
        ----------
        function : callable
            A function, a user kernel, or any other callable.
        *args : object
            Its arguments: arrays in :class:`In`, :class:`Out` or :class:`InOut`, tasks, which stand
            for their results, and other values. Arrays without a mark are read.
        device : device-like, optional
            Where it runs; by default where the first written array is, or else the first that is
            read. Arrays of other devices are copied there, and written ones back.
        name : str, optional
            Its name in pictures and errors.
        **kwargs : object
            Arguments by name, as `args`.

        Returns
        -------
        Task
            What has the result.

        Raises
        ------
        RuntimeError
            Outside the region's block, and in one of its tasks.
        ValueError
            If the device is none of the region's, or arrays that overlap would be copied apart.
        TypeError
            If the function cannot be called.
        """
        inside = running.get()
        if inside is not None and inside[1] and inside[0] is self:
            raise RuntimeError("spawn: a task cannot spawn into its own region")
        if not callable(function):
            raise TypeError(f"spawn: the first argument must be callable, got {function!r}")
        marked_args = [marked(argument) for argument in args]
        named = {key: marked(value) for key, value in kwargs.items()} if kwargs else {}
        every = flat([*marked_args, *named.values()])
        accesses = [argument for argument in every if isinstance(argument, Access)]
        extents_ = [extents.extent_of(argument.array) for argument in accesses]
        default_name = getattr(function, "__name__", None) or type(function).__name__
        frame = sys._getframe(1)
        where = frame.f_code.co_filename, frame.f_lineno
        requested = None if device is None else selection.resolve(device)
        context = contextvars.copy_context()
        context.run(running.set, (self, True))
        with self._lock:
            if not self._open:
                raise RuntimeError(
                    "spawn: the block of the region is not open\nHint: spawn tasks inside `with "
                    "Region() as region:`"
                )
            there = self._choose_device(accesses, requested)
            cells = [
                None if argument is None else self._memory.cell(argument) for argument in extents_
            ]
            uses = list(zip(accesses, cells, strict=True))
            self._engine.check(uses, there)
            for access, cell in uses:
                if cell is not None and not (cell.writer and cell.writer.state < DONE):
                    extents.evaluate(access.array)  # libraries that compute late, in one thread
            shares = self._engine.shares
            away = [use for use in uses if use[0].device is not there] if shares else []
            copies = self._copies(uses, away, there) if away else {}
            if copies:
                marked_args = [_replaced(argument, copies) for argument in marked_args]
                named = {key: _replaced(argument, copies) for key, argument in named.items()}
            call = function, marked_args, named
            results = [argument for argument in every if isinstance(argument, Task)]
            node = Node(len(self._nodes), "task", name or default_name, there, call, where)
            node.context = context
            task = self._add(node, uses, [*results, *copies.values()])
            written: set[int] = set()
            for access, cell in away:
                if access.writes and id(access.array) not in written:
                    written.add(id(access.array))
                    self._write_back(access, cell, copies[id(access)], node)
        return task

    def graph(self) -> Graph:
        """Return the tasks and their order, as they are now.

        Returns
        -------
        Graph
            Nodes and edges, which it writes as Mermaid's or Graphviz's text.
        """
        with self._lock:
            return graph_of(self._nodes)

    def trace(self, path: str | PathLike[str]) -> None:
        """Write what ran when, in the format that Perfetto and Chrome's tracing read.

        Parameters
        ----------
        path : path-like
            A JSON file. Each worker has a row; arrows lead from tasks to those that waited.
        """
        self._engine.record_times(self._nodes)
        with self._lock:
            events = trace.events(self._nodes)
        trace.write(events, path)

    def _choose_device(self, accesses: Sequence[Access], requested: Device | None) -> Device:
        """Return the device of a task."""
        devices = self._devices
        if requested is None:
            first = next((access for access in accesses if access.writes), None)
            if first is None and accesses:
                first = accesses[0]
            if first is not None:
                requested = first.device
            elif devices is None:
                return selection.current()
            else:
                return min(devices, key=self._engine.load)
        if devices is not None and requested not in devices:
            names = ", ".join(map(str, devices))
            raise ValueError(
                f"spawn: a task runs on {requested}, but the region has {names}\nHint: add the "
                f"device to "
                f"devices, or choose where the task runs with spawn(..., device=...)"
            )
        return requested

    def _add(
        self, node: Node, uses: Sequence[tuple[Access, Cell | None]], needs: Iterable[Task]
    ) -> Task:
        """Add a call to the graph: after what it needs, and what reads and writes its memory."""
        node.uses = uses
        task = node.task = Task(node, self, self._lock, self._engine.start)
        self._engine.add(node, self._dependencies(uses, needs))
        self._nodes.append(node)
        for access, cell in uses:
            if cell is not None:
                self._memory.enter(node, cell, writes=access.writes)
        return task

    def _dependencies(
        self, uses: Sequence[tuple[Access, Cell | None]], needs: Iterable[Task]
    ) -> Iterator[tuple[Node, str, bool]]:
        for task in needs:
            yield task._node, RESULT, True
        for access, cell in uses:
            if cell is not None:
                yield from self._memory.dependencies(cell, reads=access.reads, writes=access.writes)

    def _copies(
        self,
        uses: Sequence[tuple[Access, Cell | None]],
        away: Sequence[tuple[Access, Cell | None]],
        device: Device,
    ) -> dict[int, Task]:
        """Return the copies of arrays on the device of a task, by the ids of their arguments."""
        for access, cell in away:
            if access.writes and extents.is_native(access.array) and extents.is_immutable(device):
                raise TypeError(
                    f"spawn: {access} is written by a task on {device}, whose native arrays never "
                    f"change\nHint: mark pa.asarray(x) instead"
                )
            for second, second_cell in uses:
                apart = second.array is not access.array and (access.writes or second.writes)
                if apart and cell is not None and second_cell in cell.near:
                    raise ValueError(
                        f"spawn: {access} and {second} overlap, and one of them is written; copies "
                        f"on {device} "
                        f"would not overlap\nHint: run the task on {access.device}, or pass one "
                        f"array"
                    )
        copies: dict[int, Task] = {}
        mine: dict[int, Task] = {}
        for access, cell in away:
            copy = mine.get(id(access.array))
            if copy is None:
                same = [use for use, _ in away if use.array is access.array]
                writes = any(use.writes for use in same)
                reads = any(use.reads for use in same)
                copy = self._copy(access.array, cell, device, reads=reads, writes=writes)
                mine[id(access.array)] = copy
            copies[id(access)] = copy
        return copies

    def _copy(
        self, x: Any, cell: Cell | None, device: Device, *, reads: bool, writes: bool
    ) -> Task:
        key = self._memory.copy_key(x, device)
        if cell is not None and not writes and key in cell.copies:
            return cell.copies[key]
        if not reads:
            call: Any = (partial(extents.blank, x, device), (), {})
            node = Node(len(self._nodes), "allocate", "allocate", device, call, None)
            return self._add(node, (), ())
        call = (partial(extents.moved, x, device, copy=writes), (), {})
        node = Node(len(self._nodes), "move", f"move to {device}", device, call, None)
        task = self._add(node, [(In(x), cell)], ())
        if cell is not None and not writes:
            cell.copies[key] = task
        return task

    def _write_back(self, access: Access, cell: Cell | None, copy: Task, after: Node) -> None:
        call: Any = (extents.assign, (access.array, copy), {})
        name = f"move to {access.device}"
        node = Node(len(self._nodes), "move", name, access.device, call, None)
        assert after.task is not None
        self._add(node, [(access, cell)], (copy, after.task))

    def _undelivered(self) -> list[BaseException]:
        """Return the errors that no caller has retrieved."""
        return [
            node.error
            for node in self._nodes
            if node.state == FAILED and node.error is not None
            if not node.delivered
        ]


def _replaced(argument: Any, copies: dict[int, Task]) -> Any:
    """Return an argument with the copies of its arrays on the device of the task."""
    if isinstance(argument, Tree):
        whole = mapped(argument.value, lambda leaf: copies.get(id(leaf), leaf))
        return Tree(whole, list(leaves(whole)))
    return copies.get(id(argument), argument)
