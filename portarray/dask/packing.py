"""Versions of arrays: what a call reads and writes of them, packed for a worker."""

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
    """Values that an array has, or will have, on the cluster."""

    __slots__ = ("future", "key", "place")

    def __init__(self, key: str, place: int) -> None:
        self.key = key
        self.place = place
        self.future: Future | None = None


class Work:
    """What the engine knows of a call."""

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

    ``given`` are first ones, and their arrays, which the cluster does not have yet.
    """

    def __init__(self, name: str) -> None:
        self.given: list[tuple[Version, Any]] = []
        self._name = name
        self._count = 0
        self._initial: dict[Any, dict[Layout | None, Version]] = {}
        self._functions: dict[int, tuple[Any, bytes]] = {}

    def packed(self, work: Work) -> bytes:
        """Return a call without the values of arrays, and note where those are from."""
        node = work.node
        views, numbers = self._views(work)

        def slot(one: Any) -> Any:
            if isinstance(one, Access):
                return Slot("view", numbers[id(one)])
            if isinstance(one, Task):
                if not isinstance(one._node.work, Work):
                    raise TypeError(f"{one!r} is of another region; pass its result()")
                return Slot("result", self._source(work, one._node.work))
            if isinstance(one, Future):
                return Slot("value", self._source(work, one))
            return one

        def replaced(one: Any) -> Any:
            if isinstance(one, arguments.Tree):
                one = one.value
            return arguments.mapped(one, slot)

        function = node.function
        known = self._functions.get(id(function))
        if known is None:
            known = self._functions[id(function)] = function, _pickled(function, "the function")
        plan = Plan(
            known[1],
            [replaced(one) for one in node.args],
            {key: replaced(one) for key, one in node.kwargs.items()},
            views,
        )
        return _pickled(plan, f"an argument of {node.name}")

    def _source(self, work: Work, what: Any) -> int:
        """Return the number of an input of a call."""
        for number, known in enumerate(work.deps):
            if known is what:
                return number
        work.deps.append(what)
        return len(work.deps) - 1

    def _views(self, work: Work) -> tuple[list[View], dict[int, int]]:
        """Return the arrays of a call, and the number of each argument's."""
        views: list[View] = []
        numbers: dict[int, int] = {}
        images: dict[int, tuple[int, dict[tuple[int, Piece], None]]] = {}
        for seen in sharing.seen(work.node.uses):
            x, cell, layout, image = seen.array, seen.cell, seen.layout, seen.image
            shared = image is not None
            found = self._pieces(work, x, cell, layout) if seen.reads or shared else []
            if image is not None:  # its first view gets the pieces of all
                images.setdefault(image, (len(views), {}))[1].update(dict.fromkeys(found))
                found = []
            for one in seen.accesses:
                numbers[id(one)] = len(views)
            what = tuple(x.shape), sharing.dtype_name(x), extents.is_native(x)
            views.append(View(tuple(p for _, p in found), layout, *what, seen.writes, image))
            if seen.writes:
                work.versions.append(Version(work.key, len(work.versions) + 1))
                work.written.append((x, cell))
                if cell is not None:
                    work.replaces += self._replaced(cell)
        for number, every in images.values():
            ordered = sorted(every, key=lambda one: one[0])
            views[number] = views[number]._replace(pieces=tuple(piece for _, piece in ordered))
        if len(work.versions) > 1:
            for place, version in enumerate(work.versions, 1):
                version.key, version.place = f"{work.key}-{place}", 1
        return views, numbers

    def _pieces(
        self, work: Work, x: Any, cell: Cell | None, layout: Layout | None
    ) -> list[tuple[int, Piece]]:
        """Return where the elements of an array are from, and when they were written."""
        if cell is None:
            return [(-1, Piece(self._source(work, self._first_version(x, None, None)), 1, layout))]
        sources, whole = cell.sources()
        found = []
        if not whole:
            first = self._first_version(x, cell, layout)
            found.append((-1, Piece(self._source(work, first), first.place, layout)))
        for near, writer in sources:
            other: Work = writer.work
            for version, (y, there) in zip(other.versions, other.written, strict=True):
                if there is not near:
                    continue
                lies = layout if y is x else layout_of(y)
                if (lies is None or layout is None) and y is not x:
                    raise ValueError(
                        "two arrays may share memory, and their library does not tell where they "
                        "lie; pass one array to the tasks of a region on Dask"
                    )
                number = self._source(work, version)
                found.append((writer.number, Piece(number, version.place, lies)))
        return found

    def _first_version(self, x: Any, cell: Cell | None, layout: Layout | None) -> Version:
        """Return the version of an array that it had when the region began."""
        where = self._initial.setdefault(cell.extent if cell is not None else id(x), {})
        known = where.get(layout)
        if known is None:
            self._count += 1
            known = where[layout] = Version(f"array-{self._name}-{self._count}", 1)
            self.given.append((known, x))
        return known

    def _replaced(self, cell: Cell) -> Iterator[Version]:
        """Yield the versions that nobody needs once a cell is written."""
        for near in cell.near:
            if cell.covers(near):
                yield from self._initial.get(near.extent, {}).values()
                if near.writer is not None:
                    other: Work = near.writer.work
                    for version, (_, there) in zip(other.versions, other.written, strict=True):
                        if there is near:
                            yield version

    def clear(self) -> None:
        """Let go of first versions and functions."""
        self._initial.clear()
        self._functions.clear()


def _pickled(what: Any, told: str) -> bytes:
    try:
        found: bytes = pickle.dumps(what)
    except Exception as error:
        raise TypeError(
            f"{told} cannot be pickled, as it must be for a region with an engine: {error}"
        ) from error
    return found
