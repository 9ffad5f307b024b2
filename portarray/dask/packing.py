"""Versions of arrays that a call reads and writes, packed for a worker."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import dask
from distributed import Future
from distributed.protocol import pickle

from portarray._array import extents
from portarray._array.layouts import Layout, layout_of
from portarray.dask import sharing
from portarray.dask.calls import Piece, Plan, Slot, View
from portarray.tasks import arguments
from portarray.tasks.arguments import Access
from portarray.tasks.memory import Cell
from portarray.tasks.task import Node, Task

__all__ = ["Version", "Versions", "Work"]


class Version:
    """Current or future values of an array on the cluster."""

    __slots__ = ("future", "key", "slot")

    def __init__(self, key: str, slot: int) -> None:
        self.key = key
        self.slot = slot
        self.future: Future | None = None


class Work:
    """The engine's data of a call."""

    __slots__ = (
        *("annotations", "deps", "future", "handle", "key", "node", "packed", "replaces", "result"),
        *("sent", "versions", "written"),
    )

    def __init__(self, node: Node, key: str) -> None:
        self.node = node
        self.key = key
        self.annotations: dict[str, Any] = dict(dask.get_annotations())
        self.packed = b""
        self.sent = False
        self.deps: list[Any] = []  # versions, works and futures
        self.future: Future | None = None
        self.handle = weakref.ref(node.task) if node.task is not None else None
        self.result: str = key  # the key whose value begins with the result
        self.versions: list[Version] = []
        self.written: list[tuple[Any, Cell | None]] = []  # arrays, one for each version
        self.replaces: list[Version] = []


class Versions:
    """The versions of the arrays of a region.

    ``unsent`` are first ones, and their arrays, which the cluster does not have yet.
    """

    def __init__(self, name: str) -> None:
        self.unsent: list[tuple[Version, Any]] = []
        self._name = name
        self._count = 0
        self._initial: dict[Any, dict[Layout | None, Version]] = {}
        self._functions: dict[int, tuple[Any, bytes]] = {}

    def packed(self, work: Work) -> bytes:
        """Return a call without the values of arrays, and record the sources of the values."""
        node = work.node
        views, numbers = self._views(work)

        def slot(argument: Any) -> Any:
            if isinstance(argument, Access):
                return Slot("view", numbers[id(argument)])
            if isinstance(argument, Task):
                if not isinstance(argument._node.work, Work):
                    raise TypeError(
                        f"spawn: {argument!r} is a task of another region\nHint: pass its result()"
                    )
                return Slot("result", self._source(work, argument._node.work))
            if isinstance(argument, Future):
                return Slot("value", self._source(work, argument))
            return argument

        def replaced(argument: Any) -> Any:
            if isinstance(argument, arguments.Tree):
                argument = argument.value
            return arguments.mapped(argument, slot)

        function = node.function
        entry = self._functions.get(id(function))
        if entry is None:
            entry = self._functions[id(function)] = function, _pickled(function, "the function")
        plan = Plan(
            entry[1],
            [replaced(arg) for arg in node.args],
            {key: replaced(arg) for key, arg in node.kwargs.items()},
            views,
        )
        return _pickled(plan, f"an argument of {node.name}")

    def _source(self, work: Work, source: Any) -> int:
        """Return the number of an input of a call."""
        for index, dep in enumerate(work.deps):
            if dep is source:
                return index
        work.deps.append(source)
        return len(work.deps) - 1

    def _views(self, work: Work) -> tuple[list[View], dict[int, int]]:
        """Return the arrays of a call, and the number of each argument's."""
        views: list[View] = []
        numbers: dict[int, int] = {}
        images: dict[int, tuple[int, dict[tuple[int, Piece], None]]] = {}
        for use in sharing.shared_uses(work.node.uses):
            x, cell, layout, image = use.array, use.cell, use.layout, use.image
            shared = image is not None
            pieces = self._pieces(work, x, cell, layout) if use.reads or shared else []
            if image is not None:  # its first view gets the pieces of all
                images.setdefault(image, (len(views), {}))[1].update(dict.fromkeys(pieces))
                pieces = []
            for access in use.accesses:
                numbers[id(access)] = len(views)
            attributes = tuple(x.shape), sharing.dtype_name(x), extents.is_native(x)
            views.append(View(tuple(p for _, p in pieces), layout, *attributes, use.writes, image))
            if use.writes:
                work.versions.append(Version(work.key, len(work.versions) + 1))
                work.written.append((x, cell))
                if cell is not None:
                    work.replaces += self._replaced(cell)
        for index, sourced in images.values():
            ordered = sorted(sourced, key=lambda piece: piece[0])
            views[index] = views[index]._replace(pieces=tuple(piece for _, piece in ordered))
        if len(work.versions) > 1:
            for slot, version in enumerate(work.versions, 1):
                version.key, version.slot = f"{work.key}-{slot}", 1
        return views, numbers

    def _pieces(
        self, work: Work, x: Any, cell: Cell | None, layout: Layout | None
    ) -> list[tuple[int, Piece]]:
        """Return where the elements of an array are from, and when they were written."""
        if cell is None:
            return [(-1, Piece(self._source(work, self._first_version(x, None, None)), 1, layout))]
        sources, whole = cell.sources()
        pieces = []
        if not whole:
            first = self._first_version(x, cell, layout)
            pieces.append((-1, Piece(self._source(work, first), first.slot, layout)))
        for near, writer in sources:
            producer: Work = writer.work
            for version, (y, there) in zip(producer.versions, producer.written, strict=True):
                if there is not near:
                    continue
                lies = layout if y is x else layout_of(y)
                if (lies is None or layout is None) and y is not x:
                    raise ValueError(
                        "spawn: two arrays may share memory, and their library does not expose "
                        "their "
                        "memory layout\nHint: pass one array to the tasks of a region on Dask"
                    )
                index = self._source(work, version)
                pieces.append((writer.index, Piece(index, version.slot, lies)))
        return pieces

    def _first_version(self, x: Any, cell: Cell | None, layout: Layout | None) -> Version:
        """Return the version of an array at the start of the region."""
        where = self._initial.setdefault(cell.extent if cell is not None else id(x), {})
        version = where.get(layout)
        if version is None:
            self._count += 1
            version = where[layout] = Version(f"array-{self._name}-{self._count}", 1)
            self.unsent.append((version, x))
        return version

    def _replaced(self, cell: Cell) -> Iterator[Version]:
        """Yield the versions that no call needs after a cell is written."""
        for near in cell.near:
            if cell.covers(near):
                yield from self._initial.get(near.extent, {}).values()
                if near.writer is not None:
                    producer: Work = near.writer.work
                    for version, (_, there) in zip(
                        producer.versions, producer.written, strict=True
                    ):
                        if there is near:
                            yield version

    def clear(self) -> None:
        """Release first versions and functions."""
        self._initial.clear()
        self._functions.clear()


def _pickled(value: Any, description: str) -> bytes:
    try:
        pickled: bytes = pickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"spawn: {description} must be picklable when the region has an engine: {error}"
        ) from error
    return pickled
