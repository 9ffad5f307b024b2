"""``Region``: makes the graph of calls, which an engine runs."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib import import_module
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from portarray._array import extents
from portarray._devices import selection
from portarray._devices.device import Device
from portarray.tasks import trace
from portarray.tasks.arguments import Access, In, Tree, flat, leaves, mapped, marked
from portarray.tasks.graph import Graph, graph_of
from portarray.tasks.memory import Cell, Memory
from portarray.tasks.scheduling import Engine, Threads
from portarray.tasks.task import CANCELLED, DONE, FAILED, RESULT, Node, Task, running

if TYPE_CHECKING:
    from portarray.typing import DeviceLike

__all__ = ["Region"]


class Region:
    """A ``with`` block whose functions run at once on several devices, as if one after the other.

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
        If a number or a device makes no sense.
    RuntimeError
        When a block begins within the block of another region, which does not know its tasks.

    See Also
    --------
    In, Out, InOut

    Notes
    -----
    The block ends when all tasks are done and their devices have been waited for. If tasks failed
    and nobody asked for their errors, it raises an ExceptionGroup of them. An error in the block
    itself cancels the tasks that do not run yet.

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
            raise ValueError(f"workers={workers!r}: use a number of threads, 1 or more")
        if isinstance(devices, (str, Device)):
            raise TypeError(f"devices={devices!r}: pass a list of devices")
        self._devices = None if devices is None else [selection.resolve(one) for one in devices]
        if self._devices == []:
            raise ValueError("devices=[]: name one device or more, or pass None")
        self._lock = threading.Lock()
        if engine is None:
            self._engine: Engine = Threads(self._lock, workers)
        elif workers != 1:
            raise ValueError(f"workers={workers}: with an engine, its cluster has the workers")
        else:
            self._engine = import_module("portarray.dask.regions").Cluster(self._lock, engine)
        self._memory = Memory(forgets=self._engine.shares)
        self._nodes: list[Node] = []
        self._open = False
        self._token: contextvars.Token[Any] | None = None

    def __enter__(self) -> Self:
        if self._token is not None:
            raise RuntimeError("a region is used once; make another Region")
        around = running.get()
        if around is not None and not around[1]:
            raise RuntimeError(
                "a region begins in the block of another, and each orders its own tasks only; "
                "spawn into the outer region, or end it first"
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
        failed = self._untold() + late
        if error is not None:
            for one in failed:
                error.add_note(f"a task failed, too: {type(one).__name__}: {one}")
            return
        if failed:
            count = sum(node.kind == "task" for node in self._nodes)
            lost = sum(node.kind == "task" and node.state == CANCELLED for node in self._nodes)
            told = f", {lost} were not run for want of what they compute" if lost else ""
            raise BaseExceptionGroup(f"{len(failed)} of {count} tasks failed{told}", failed)

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
            raise RuntimeError("a task spawns into its own region, where it has no place in order")
        if not callable(function):
            raise TypeError(f"spawn takes a function first, and {function!r} cannot be called")
        given = [marked(one) for one in args]
        named = {key: marked(value) for key, value in kwargs.items()} if kwargs else {}
        every = flat([*given, *named.values()])
        accesses = [one for one in every if isinstance(one, Access)]
        found = [extents.extent_of(one.array) for one in accesses]
        told = getattr(function, "__name__", None) or type(function).__name__
        frame = sys._getframe(1)
        where = frame.f_code.co_filename, frame.f_lineno
        wanted = None if device is None else selection.resolve(device)
        context = contextvars.copy_context()
        context.run(running.set, (self, True))
        with self._lock:
            if not self._open:
                raise RuntimeError("tasks are spawned in the block of their region: with Region()")
            there = self._place(accesses, wanted)
            cells = [None if one is None else self._memory.cell(one) for one in found]
            uses = list(zip(accesses, cells, strict=True))
            self._engine.check(uses, there)
            for access, cell in uses:
                if cell is not None and not (cell.writer and cell.writer.state < DONE):
                    extents.evaluate(access.array)  # libraries that compute late, in one thread
            shares = self._engine.shares
            away = [use for use in uses if use[0].device is not there] if shares else []
            copies = self._copies(uses, away, there) if away else {}
            if copies:
                given = [_replaced(one, copies) for one in given]
                named = {key: _replaced(one, copies) for key, one in named.items()}
            call = function, given, named
            results = [one for one in every if isinstance(one, Task)]
            node = Node(len(self._nodes), "task", name or told, there, call, where)
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
        self._engine.record(self._nodes)
        with self._lock:
            events = trace.events(self._nodes)
        trace.write(events, path)

    def _place(self, accesses: Sequence[Access], wanted: Device | None) -> Device:
        """Return the device of a task."""
        devices = self._devices
        if wanted is None:
            first = next((one for one in accesses if one.writes), None)
            if first is None and accesses:
                first = accesses[0]
            if first is not None:
                wanted = first.device
            elif devices is None:
                return selection.current()
            else:
                return min(devices, key=self._engine.load)
        if devices is not None and wanted not in devices:
            names = ", ".join(map(str, devices))
            raise ValueError(
                f"a task is for {wanted}, and the region has {names}; add it to devices, or say "
                f"where the task runs: spawn(..., device=)"
            )
        return wanted

    def _add(
        self, node: Node, uses: Sequence[tuple[Access, Cell | None]], needs: Iterable[Task]
    ) -> Task:
        """Add a call to the graph: after what it needs, and what reads and writes its memory."""
        node.uses = uses
        task = node.task = Task(node, self, self._lock, self._engine.start)
        self._engine.add(node, self._before(uses, needs))
        self._nodes.append(node)
        for access, cell in uses:
            if cell is not None:
                self._memory.enter(node, cell, writes=access.writes)
        return task

    def _before(
        self, uses: Sequence[tuple[Access, Cell | None]], needs: Iterable[Task]
    ) -> Iterator[tuple[Node, str, bool]]:
        for one in needs:
            yield one._node, RESULT, True
        for access, cell in uses:
            if cell is not None:
                yield from self._memory.before(cell, reads=access.reads, writes=access.writes)

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
                    f"{access} is written by a task on {device}, whose native arrays never "
                    f"change; mark pa.asarray(x) instead"
                )
            for other, near in uses:
                apart = other.array is not access.array and (access.writes or other.writes)
                if apart and cell is not None and near in cell.near:
                    raise ValueError(
                        f"{access} and {other} overlap, and one is written: copies on {device} "
                        f"would not. Run the task on {access.device}, or pass one array"
                    )
        found: dict[int, Task] = {}
        mine: dict[int, Task] = {}
        for access, cell in away:
            known = mine.get(id(access.array))
            if known is None:
                same = [one for one, _ in away if one.array is access.array]
                writes = any(one.writes for one in same)
                reads = any(one.reads for one in same)
                known = self._copy(access.array, cell, device, reads=reads, writes=writes)
                mine[id(access.array)] = known
            found[id(access)] = known
        return found

    def _copy(
        self, x: Any, cell: Cell | None, device: Device, *, reads: bool, writes: bool
    ) -> Task:
        key = self._memory.copy_key(x, device)
        if cell is not None and not writes and key in cell.moves:
            return cell.moves[key]
        if not reads:
            call: Any = (partial(extents.blank, x, device), (), {})
            node = Node(len(self._nodes), "allocate", "allocate", device, call, None)
            return self._add(node, (), ())
        call = (partial(extents.moved, x, device, copy=writes), (), {})
        node = Node(len(self._nodes), "move", f"move to {device}", device, call, None)
        task = self._add(node, [(In(x), cell)], ())
        if cell is not None and not writes:
            cell.moves[key] = task
        return task

    def _write_back(self, access: Access, cell: Cell | None, copy: Task, after: Node) -> None:
        call: Any = (extents.assign, (access.array, copy), {})
        name = f"move to {access.device}"
        node = Node(len(self._nodes), "move", name, access.device, call, None)
        assert after.task is not None
        self._add(node, [(access, cell)], (copy, after.task))

    def _untold(self) -> list[BaseException]:
        """Return the errors that nobody has asked for."""
        return [
            node.error
            for node in self._nodes
            if node.state == FAILED and node.error is not None
            if not node.told
        ]


def _replaced(argument: Any, copies: dict[int, Task]) -> Any:
    """Return an argument with the copies of its arrays on the device of the task."""
    if isinstance(argument, Tree):
        whole = mapped(argument.value, lambda one: copies.get(id(one), one))
        return Tree(whole, list(leaves(whole)))
    return copies.get(id(argument), argument)
