"""Order by memory: which earlier calls one has to wait for, of what it reads and writes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from typing import Any

from portarray._array.extents import Extent
from portarray.tasks.task import DONE, OVERWRITE, READ, WRITE, Node, Task

__all__ = ["Cell", "Memory", "meet"]

_FEW = 256


class Cell:
    """What calls do with the elements of one extent: the last that wrote, and readers since then.

    ``near`` are the cells that it shares elements with, itself included.
    """

    __slots__ = ("extent", "moves", "near", "readers", "writer")

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        self.writer: Node | None = None
        self.readers: list[Node] = []
        self.near: list[Cell] = [self]
        self.moves: dict[Hashable, Task] = {}  # copies on other devices, until a write

    def covers(self, other: Cell) -> bool:
        """Tell whether all elements of another cell are in this one."""
        one, two = self.extent, other.extent
        return self is other or (one.dense and one.start <= two.start and two.end <= one.end)

    def newest(self) -> int:
        """Return the number of the last call that wrote every element; -1 if there is none."""
        newest = -1
        for near in self.near:
            writer = near.writer
            if writer is not None and writer.number > newest and near.covers(self):
                newest = writer.number
        return newest

    def sources(self) -> tuple[list[tuple[Cell, Node]], bool]:
        """Return what elements are from, in the order it was written, and whether that is all."""
        newest = self.newest()
        found = [
            (near, near.writer)
            for near in self.near
            if near.writer is not None and near.writer.number >= newest
        ]
        return sorted(found, key=lambda one: one[1].number), newest >= 0

    def is_quiet(self) -> bool:
        """Tell whether no call of the future has to know of it."""
        writer = self.writer
        return (writer is None or writer.state == DONE) and all(
            reader.state >= DONE for reader in self.readers
        )


def meet(one: Extent, two: Extent) -> bool:
    """Tell whether two extents of one memory share elements; True where that takes a search.

    Where all elements of both lie in two ranges of the addresses modulo some stride, and those are
    apart, they do not: so columns, tiles of matrices and odd and even elements are told apart.
    """
    if one.end <= two.start or two.end <= one.start:
        return False
    if one.dense and two.dense:
        return True
    for modulus in {stride for stride, _ in (*one.steps, *two.steps)}:
        apart = (two.start - one.start) % modulus
        if _width(one, modulus) <= apart <= modulus - _width(two, modulus):
            return False
    return True


def _width(extent: Extent, modulus: int) -> int:
    """Return the length of the range that holds an extent's addresses modulo a number."""
    width = extent.item
    for stride, length in extent.steps:
        if stride % modulus:
            width += stride * (length - 1)
    return width


class Memory:
    """The cells of all memories that calls read and write; it may forget those that are done."""

    def __init__(self, *, forgets: bool) -> None:
        self._forgets = forgets
        self._cells: dict[Extent, Cell] = {}
        # By memory and by the power of two that bounds the length: sorted by the first byte.
        self._sorted: dict[Hashable, dict[int, list[tuple[int, int, Cell]]]] = {}
        self._count = 0
        self._limit = _FEW

    def cell(self, extent: Extent) -> Cell:
        """Return the cell of an extent."""
        found = self._cells.get(extent)
        if found is not None:
            return found
        if self._forgets and len(self._cells) >= self._limit:
            self._prune()
        cell = Cell(extent)
        for other in self._overlapping(extent):
            cell.near.append(other)
            other.near.append(cell)
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
            for place in range(first, len(cells)):
                cell = cells[place][2]
                if cell.extent.start >= extent.end:
                    break
                if meet(cell.extent, extent):
                    yield cell

    def _prune(self) -> None:
        """Forget cells whose calls are done."""
        kept = [cell for cell in self._cells.values() if not cell.is_quiet()]
        alive = set(map(id, kept))
        self._cells, self._sorted = {}, {}
        for cell in kept:
            cell.near = [other for other in cell.near if id(other) in alive]
            self._insert(cell)
        self._limit = max(_FEW, 2 * len(kept))

    def before(self, cell: Cell, *, reads: bool, writes: bool) -> Iterator[tuple[Node, str, bool]]:
        """Yield the calls to wait for, why, and whether what they compute is needed."""
        newest = cell.newest()  # all that came before waits for that
        for other in cell.near:
            writer = other.writer
            if writer is not None and writer.number >= newest:
                yield writer, READ if reads else OVERWRITE, reads
            if writes:
                for reader in other.readers:
                    if reader.number > newest:
                        yield reader, WRITE, False

    def enter(self, node: Node, cell: Cell, *, writes: bool) -> None:
        """Note that a call reads or writes a cell."""
        if not writes:
            readers = cell.readers
            if len(readers) >= 64 and not len(readers) & len(readers) - 1:  # powers of two
                readers[:] = [reader for reader in readers if reader.state < DONE]
            readers.append(node)
            return
        for other in cell.near:
            other.moves.clear()
            if cell.covers(other):
                other.writer = None
                other.readers.clear()
        cell.writer = node

    def copy_key(self, x: Any, device: Hashable) -> Hashable:
        """Return what tells copies of a cell's array apart: other dtypes and shapes."""
        return device, type(x), tuple(x.shape), x.dtype
