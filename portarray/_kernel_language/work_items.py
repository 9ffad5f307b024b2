"""Runs interpreted kernels: groups of work-items, their memory, and the checks of both."""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np

from portarray._kernel_language.arithmetic import Fault
from portarray._kernel_language.interpreter import Interpreted
from portarray._kernel_language.types import Array
from portarray.errors import KernelDebugError, KernelIndexError, KernelZeroDivisionError

Places = tuple[int, ...]
_ERRORS: Mapping[str, type[KernelDebugError]] = {
    "": KernelDebugError,
    "index": KernelIndexError,
    "zero": KernelZeroDivisionError,
}
_CHANGES: Mapping[str, Callable[..., Any]] = {
    "add": lambda old, x: old + x,
    "min": lambda old, x: x if x < old else old,
    "max": lambda old, x: x if x > old else old,
    "exchange": lambda old, x: x,
    "compare_exchange": lambda old, expected, x: x if old == expected else old,
}


class Elements:
    """An array in an interpreted kernel, with checked indices."""

    def __init__(self, name: str, values: np.ndarray[Any, Any]) -> None:
        self.name = name
        self.values = values
        self.shape = values.shape
        self.dtype = values.dtype
        kind = values.dtype.kind
        self._read: Callable[[Any], Any] | None = None
        if kind == "b":
            self._read = bool
        elif kind not in "iu" and values.dtype.itemsize == 2:
            self._read = np.float32

    def __repr__(self) -> str:
        return f"{self.name} = {self.values!r}"

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.values, dtype=dtype)

    def checked_index(self, index: Any) -> Places:
        """Return an index as a tuple; raise if it is out of bounds."""
        positions = tuple(map(int, index)) if type(index) is tuple else (int(index),)
        for axis, (position, length) in enumerate(zip(positions, self.shape, strict=True)):
            if not 0 <= position < length:
                raise Fault(
                    "index",
                    f"index {position} is outside axis {axis} of length {length} (of {self.name})",
                )
        return positions

    def __getitem__(self, index: Any) -> Any:
        value = self.values[self.checked_index(index)]
        return value if self._read is None else self._read(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[self.checked_index(index)] = value

    def change(self, operation: str, index: Any, *values: Any) -> Any:
        """Apply an atomic function to an element; return the old value."""
        position = self.checked_index(index)
        old = self.values[position]
        self.values[position] = _CHANGES[operation](old, *values)
        return old


class Watched(Elements):
    """An array that records every access, to detect uninitialized reads and races."""

    def __init__(
        self, name: str, values: np.ndarray[Any, Any], run: Run, space: str, *, races: bool
    ) -> None:
        super().__init__(name, values)
        self._run = run
        self._space = space
        self._is_initialized = None if space == "global" else np.zeros(values.shape, bool)
        self._races = races
        # Who wrote, the last two of each kind.
        self._plain: dict[Places, dict[WorkItem, int]] = {}
        self._atomic: dict[Places, dict[WorkItem, int]] = {}
        self._readers: dict[Places, dict[WorkItem, int]] = {}

    def _check_known(self, position: Places) -> None:
        if self._is_initialized is not None and not self._is_initialized[position]:
            raise Fault("", f"{self.name}{list(position)} is read before it has a value")

    def __getitem__(self, index: Any) -> Any:
        position = self.checked_index(index)
        self._check_known(position)
        item = self._run.item
        if self._races:
            writer = item.met(self._plain.get(position))
            if writer is not None:
                raise Fault(
                    "", f"{self.name}{list(position)} is read here and written by "
                    f"work-item {writer}, without a barrier in between"
                )  # fmt: skip
            self._readers.setdefault(position, {})[item] = item.group.phase
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        position = self.checked_index(index)
        self._note(position, atomic=False)
        super().__setitem__(index, value)

    def change(self, operation: str, index: Any, *values: Any) -> Any:
        position = self.checked_index(index)
        self._check_known(position)
        self._note(position, atomic=True)
        return super().change(operation, index, *values)

    def _note(self, position: Places, *, atomic: bool) -> None:
        if self._is_initialized is not None:
            self._is_initialized[position] = True
        if not self._races:
            return
        item = self._run.item
        conflicting = item.met(self._plain.get(position))
        if conflicting is None and not atomic:
            conflicting = item.met(self._atomic.get(position))
        if conflicting is not None:
            raise Fault(
                "", f"{self.name}{list(position)} is written here and by "
                f"work-item {conflicting}, without an atomic function or a barrier in between"
            )  # fmt: skip
        conflicting = None if atomic else item.met(self._readers.get(position))
        if conflicting is not None:
            raise Fault(
                "", f"{self.name}{list(position)} is written here and read by "
                f"work-item {conflicting}, without a barrier in between"
            )  # fmt: skip
        writers = (self._atomic if atomic else self._plain).setdefault(position, {})
        writers.pop(item, None)
        if len(writers) > 1:
            del writers[next(iter(writers))]
        writers[item] = item.group.phase


class Group:
    """A group: its memory, and how many barriers it has passed."""

    def __init__(self) -> None:
        self.phase = 0
        self.memories: dict[int, Elements] = {}


class WorkItem:
    """A work-item's position, which printed functions read."""

    __slots__ = (
        "_run", "global_size", "group", "group_count", "group_index", "group_size", "index",
        "linear_index", "local_index", "local_linear_index",
    )  # fmt: skip

    def __init__(
        self, run: Run, group: Group, index: Places, linear: int, local: Places, local_linear: int,
        group_index: Places,
    ) -> None:  # fmt: skip
        self._run = run
        self.group = group
        self.index = index
        self.linear_index = linear
        self.local_index = local
        self.local_linear_index = local_linear
        self.group_index = group_index
        self.group_size = run.group_size
        self.group_count = run.group_count
        self.global_size = run.sizes

    def __repr__(self) -> str:
        return str(self.index[0] if len(self.index) == 1 else self.index)

    def met(self, others: dict[WorkItem, int] | None) -> WorkItem | None:
        """Return a work-item whose access is not ordered relative to this one's."""
        for item, phase in (others or {}).items():
            if item is not self and (item.group is not self.group or phase == self.group.phase):
                return item
        return None

    def memory(self, slot: int) -> Elements:
        """Return memory of the group, or new memory of this work-item."""
        array = self._run.program.memories[slot]
        if array.space == "private":
            return self._run.memory(array)
        if slot not in self.group.memories:
            self.group.memories[slot] = self._run.memory(array)
        return self.group.memories[slot]

    def print(self, *values: Any) -> None:
        """Print a line, in debug mode."""
        if self._run.debug:
            print(*values)  # noqa: T201  (what kl.print is for)


class Run:
    """One launch of an interpreted kernel.

    Parameters
    ----------
    arguments
        The arrays and numbers by name; written arrays are changed in place.
    sizes, group
        The ndrange, and the group of as many axes, or of one where these are too many for devices.
    seed
        What the order of groups and work-items is drawn from; None: in order.
    """

    def __init__(
        self, program: Interpreted, arguments: Mapping[str, Any], sizes: Places, group: Places, *,
        seed: int | None, debug: bool,
    ) -> None:  # fmt: skip
        self.program = program
        self.debug = debug
        self.sizes = sizes
        self.linear = len(group) != len(sizes)
        self.groups = (math.prod(sizes),) if self.linear else sizes
        self.groups = tuple(-(-n // g) for n, g in zip(self.groups, group, strict=True))
        ones = (1,) * (len(sizes) - 1)
        self.group_size = (*ones, *group) if self.linear else group
        self.group_count = (*ones, *self.groups) if self.linear else self.groups
        self.own_group = group
        self.random = None if seed is None else np.random.default_rng(seed)
        self.item: WorkItem
        self.written: set[str] = set()
        for name, parameter in program.tree.parameters.items():
            if isinstance(parameter, Array) and parameter.name in program.tree.written:
                self.written |= {
                    alias for alias in arguments if arguments[alias] is arguments[name]
                }
        shared: dict[int, Elements] = {}  # one array that is passed twice is one
        self.arguments: list[Any] = []
        for name, parameter in program.tree.parameters.items():
            if name not in arguments:
                continue
            value = arguments[name]
            if isinstance(parameter, Array):
                if id(value) not in shared:
                    shared[id(value)] = self.watched(name, value, "global")
                self.arguments.append(shared[id(value)])
            else:
                self.arguments.append(value)

    def watched(self, name: str, values: np.ndarray[Any, Any], space: str) -> Elements:
        if not self.debug:
            return Elements(name, values)
        races = space == "local" or (space == "global" and name in self.written)
        return Watched(name, values, self, space, races=races)

    def memory(self, array: Array) -> Elements:
        """Return memory filled with implausible values."""
        assert array.shape is not None
        values = np.empty(array.shape, array.dtype)
        values.reshape(-1).view(np.uint8)[...] = 0xAB if array.dtype.kind != "b" else 1
        if array.dtype.kind not in "iub":
            values[...] = np.nan
        return self.watched(array.name, values, array.space)

    def shuffled(self, things: Sequence[Any]) -> Sequence[Any]:
        if self.random is None:
            return things
        return [things[n] for n in self.random.permutation(len(things))]

    def run(self) -> None:
        with np.errstate(all="ignore"):
            for group_index in self.shuffled(list(itertools.product(*map(range, self.groups)))):
                items = self.items(group_index)
                if self.program.tree.barriers:
                    self.in_phases(items)
                    continue
                for item in self.shuffled(items):
                    self.item = item
                    self.guarded(item, lambda: self.program.function(*self.arguments, self.item))

    def items(self, group_index: Places) -> list[WorkItem]:
        """Return the work-items of a group."""
        group = Group()
        out = []
        total = math.prod(self.sizes)
        for linear, local in enumerate(itertools.product(*map(range, self.own_group))):
            parts = zip(group_index, self.own_group, local, strict=True)
            position = tuple(n * size + coordinate for n, size, coordinate in parts)
            if self.linear:
                if position[0] >= total:
                    continue
                index = tuple(int(n) for n in np.unravel_index(position[0], self.sizes))
                zeros = (0,) * (len(self.sizes) - 1)
                out.append(
                    WorkItem(
                        self,
                        group,
                        index,
                        position[0],
                        (*zeros, *local),
                        linear,
                        (*zeros, *group_index),
                    )
                )
                continue
            if any(
                coordinate >= size for coordinate, size in zip(position, self.sizes, strict=True)
            ):
                continue
            flat = 0
            for coordinate, size in zip(position, self.sizes, strict=True):
                flat = flat * size + coordinate
            out.append(WorkItem(self, group, position, flat, local, linear, group_index))
        return out

    def in_phases(self, items: list[WorkItem]) -> None:
        """Run a group whose work-items wait for each other."""
        waiting: dict[WorkItem, Generator[int]] = {
            item: self.program.function(*self.arguments, item) for item in items
        }
        while waiting:
            at: dict[WorkItem, int] = {}
            for item in self.shuffled(list(waiting)):
                self.item = item
                line = self.guarded(item, partial(next, waiting[item], None))
                if line is not None:
                    at[item] = line
            if not at:
                return
            divergent = next((item for item in waiting if item not in at), None)
            if divergent is None:
                first = next(iter(at.values()))
                divergent = next((item for item in at if at[item] != first), None)
            if divergent is not None:
                item = next(waiter for waiter in at if at[waiter] != at.get(divergent))
                where = f"at line {at[divergent]}" if divergent in at else "at the end"
                message = (
                    f"divergent barriers: work-item {item} waits here, and {divergent} is {where}"
                )
                self.fail(Fault("", message), item, None, at[item])
            waiting = {item: waiting[item] for item in waiting if item in at}
            items[0].group.phase += 1

    def guarded(self, item: WorkItem, call: Callable[[], Any]) -> Any:
        """Call a function; raise faults at the user's line."""
        try:
            return call()
        except Fault as fault:
            self.fail(fault, item, fault.__traceback__, 0)

    def fail(
        self, fault: Fault, item: WorkItem, traceback: TracebackType | None, line: int
    ) -> None:
        """Raise the error of a fault."""
        frames = []
        while traceback is not None:
            if traceback.tb_frame.f_code in self.program.codes:
                frames.append(traceback)
            traceback = traceback.tb_next
        shown: TracebackType | None = None
        for frame in reversed(frames):
            shown = TracebackType(shown, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
        code = self.program.function.__code__
        values: dict[str, Any] = {}
        if frames:
            code, line = frames[-1].tb_frame.f_code, frames[-1].tb_lineno
            values = {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in frames[-1].tb_frame.f_locals.items()
                if name in self.program.codes[code] and not isinstance(value, Elements)
            }
        text = linecache.getline(code.co_filename, line).strip()
        error = _ERRORS[fault.kind](
            str(fault), code.co_name, code.co_filename, line, text, item.index, values
        )
        raise error.with_traceback(shown) from None


def units_between(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> float:
    """Return the largest difference of two arrays of a dtype, in units of the last place."""
    if not x.size:
        return 0.0
    if x.dtype.kind == "c":
        parts = [np.ascontiguousarray(z).view(f"f{z.itemsize // 2}") for z in (x, y)]
        return units_between(*parts)
    if x.dtype.kind in "biu":
        unlike = x != y
        pairs = zip(x[unlike].tolist(), y[unlike].tolist(), strict=True)
        return float(max((abs(a - b) for a, b in pairs), default=0))
    nan = (x != x) & (y != y)
    if np.any(((x != x) | (y != y)) & ~nan):
        return math.inf
    size = x.dtype.itemsize
    whole = [np.ascontiguousarray(values).view(f"i{size}").astype(np.int64) for values in (x, y)]
    lowest = -(2 ** (8 * size - 1))
    ordered = [np.where(values < 0, lowest - values, values) for values in whole]
    low, high = np.minimum(*ordered), np.maximum(*ordered)
    distance = np.subtract(high.view(np.uint64), low.view(np.uint64))
    return float(np.where(nan, 0, distance).max())
