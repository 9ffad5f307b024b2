"""Dependencies of a call on earlier calls, from the memory that they read and write."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from typing import Any

from portarray._array.extents import Extent, meet
from portarray.tasks.task import DONE, OVERWRITE, READ, WRITE, Node, Task

__all__ = ["Cell", "Memory"]

_FEW = 256


class Cell:
    """The last writer of the elements of one extent, and the readers since then.

    ``near`` are the cells that share elements with it, including itself.
    """

    __slots__ = ("copies", "extent", "near", "readers", "writer")

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        self.writer: Node | None = None
        self.readers: list[Node] = []
        self.near: list[Cell] = [self]
        self.copies: dict[Hashable, Task] = {}  # copies on other devices, until a write

    def covers(self, cell: Cell) -> bool:
        """Return whether all elements of another cell are in this one."""
        outer, inner = self.extent, cell.extent
        return self is cell or (
            outer.dense and outer.start <= inner.start and inner.end <= outer.end
        )

    def newest(self) -> int:
        """Return the number of the last call that wrote every element; -1 if there is none."""
        newest = -1
        for near in self.near:
            writer = near.writer
            if writer is not None and writer.index > newest and near.covers(self):
                newest = writer.index
        return newest

    def sources(self) -> tuple[list[tuple[Cell, Node]], bool]:
        """Return the writers of elements in order, and whether they wrote all elements."""
        newest = self.newest()
        writers = [
            (near, near.writer)
            for near in self.near
            if near.writer is not None and near.writer.index >= newest
        ]
        return sorted(writers, key=lambda writer: writer[1].index), newest >= 0

    def is_quiet(self) -> bool:
        """Return whether no future call depends on this cell."""
        writer = self.writer
        return (writer is None or writer.state == DONE) and all(
            reader.state >= DONE for reader in self.readers
        )


class Memory:
    """The cells of all memories that calls read and write; may forget finished ones."""

    def __init__(self, *, forgets: bool) -> None:
        self._forgets = forgets
        self._cells: dict[Extent, Cell] = {}
        # By memory and by the power of two that bounds the length: sorted by the first byte.
        self._sorted: dict[Hashable, dict[int, list[tuple[int, int, Cell]]]] = {}
        self._count = 0
        self._limit = _FEW

    def cell(self, extent: Extent) -> Cell:
        """Return the cell of an extent."""
        cached = self._cells.get(extent)
        if cached is not None:
            return cached
        if self._forgets and len(self._cells) >= self._limit:
            self._prune()
        cell = Cell(extent)
        for neighbor in self._overlapping(extent):
            cell.near.append(neighbor)
            neighbor.near.append(cell)
        self._insert(cell)
        return cell

    def _insert(self, cell: Cell) -> None:
        extent = cell.extent
        size = (extent.end - extent.start - 1).bit_length()
        classes = self._sorted.setdefault(extent.memory, {})
        self._count += 1
        insort(classes.setdefault(size, []), (extent.start, self._count, cell))
        self._cells[extent] = cell

    def _overlapping(self, extent: Extent) -> Iterator[Cell]:
        for size, cells in self._sorted.get(extent.memory, {}).items():
            first = bisect_left(cells, (extent.start - (1 << size),))
            for index in range(first, len(cells)):
                cell = cells[index][2]
                if cell.extent.start >= extent.end:
                    break
                if meet(cell.extent, extent):
                    yield cell

    def _prune(self) -> None:
        """Forget cells whose calls are done."""
        remaining = [cell for cell in self._cells.values() if not cell.is_quiet()]
        alive = set(map(id, remaining))
        self._cells, self._sorted = {}, {}
        for cell in remaining:
            cell.near = [neighbor for neighbor in cell.near if id(neighbor) in alive]
            self._insert(cell)
        self._limit = max(_FEW, 2 * len(remaining))

    def dependencies(
        self, cell: Cell, *, reads: bool, writes: bool
    ) -> Iterator[tuple[Node, str, bool]]:
        """Yield the calls to wait for, the reason, and whether their results are needed."""
        newest = cell.newest()  # all that came before waits for that
        for neighbor in cell.near:
            writer = neighbor.writer
            if writer is not None and writer.index >= newest:
                yield writer, READ if reads else OVERWRITE, reads
            if writes:
                for reader in neighbor.readers:
                    if reader.index > newest:
                        yield reader, WRITE, False

    def enter(self, node: Node, cell: Cell, *, writes: bool) -> None:
        """Note that a call reads or writes a cell."""
        if not writes:
            readers = cell.readers
            if len(readers) >= 64 and not len(readers) & len(readers) - 1:  # powers of two
                readers[:] = [reader for reader in readers if reader.state < DONE]
            readers.append(node)
            return
        for neighbor in cell.near:
            neighbor.copies.clear()
            if cell.covers(neighbor):
                neighbor.writer = None
                neighbor.readers.clear()
        cell.writer = node

    def copy_key(self, x: Any, device: Hashable) -> Hashable:
        """Return the key of a copy of a cell's array; dtypes and shapes may differ."""
        return device, type(x), tuple(x.shape), x.dtype
