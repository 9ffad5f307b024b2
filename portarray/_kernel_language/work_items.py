"""Runs interpreted kernels: groups of work-items, their memory, and what is checked of both."""

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
    """An array in an interpreted kernel: indices are checked, and negative ones are outside."""

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

    def place(self, index: Any) -> Places:
        """Return the places along the axes, which are in the array."""
        places = tuple(map(int, index)) if type(index) is tuple else (int(index),)
        for axis, (place, length) in enumerate(zip(places, self.shape, strict=True)):
            if not 0 <= place < length:
                raise Fault(
                    "index",
                    f"index {place} is outside axis {axis} of length {length} (of {self.name})",
                )
        return places

    def __getitem__(self, index: Any) -> Any:
        value = self.values[self.place(index)]
        return value if self._read is None else self._read(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[self.place(index)] = value

    def change(self, operation: str, index: Any, *values: Any) -> Any:
        """Change an element as an atomic function does; return the old value."""
        place = self.place(index)
        old = self.values[place]
        self.values[place] = _CHANGES[operation](old, *values)
        return old


class Watched(Elements):
    """An array of which every access is noted: what is uninitialized, and who else was there."""

    def __init__(
        self, name: str, values: np.ndarray[Any, Any], run: Run, space: str, *, races: bool
    ) -> None:
        super().__init__(name, values)
        self._run = run
        self._space = space
        self._known = None if space == "global" else np.zeros(values.shape, bool)
        self._races = races
        # Who wrote, the last two of each kind.
        self._plain: dict[Places, dict[WorkItem, int]] = {}
        self._atomic: dict[Places, dict[WorkItem, int]] = {}
        self._readers: dict[Places, dict[WorkItem, int]] = {}

    def _check_known(self, place: Places) -> None:
        if self._known is not None and not self._known[place]:
            raise Fault("", f"{self.name}{list(place)} is read before it has a value")

    def __getitem__(self, index: Any) -> Any:
        place = self.place(index)
        self._check_known(place)
        item = self._run.item
        if self._races:
            other = item.met(self._plain.get(place))
            if other is not None:
                raise Fault(
                    "", f"{self.name}{list(place)} is read here, and written by work-item {other} "
                    f"without a barrier between"
                )  # fmt: skip
            self._readers.setdefault(place, {})[item] = item.group.phase
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        place = self.place(index)
        self._note(place, atomic=False)
        super().__setitem__(index, value)

    def change(self, operation: str, index: Any, *values: Any) -> Any:
        """Change an element as an atomic function does."""
        place = self.place(index)
        self._check_known(place)
        self._note(place, atomic=True)
        return super().change(operation, index, *values)

    def _note(self, place: Places, *, atomic: bool) -> None:
        if self._known is not None:
            self._known[place] = True
        if not self._races:
            return
        item = self._run.item
        other = item.met(self._plain.get(place))
        if other is None and not atomic:
            other = item.met(self._atomic.get(place))
        if other is not None:
            raise Fault(
                "", f"{self.name}{list(place)} is written here and by work-item {other}, without "
                f"an atomic function or a barrier between"
            )  # fmt: skip
        other = None if atomic else item.met(self._readers.get(place))
        if other is not None:
            raise Fault(
                "", f"{self.name}{list(place)} is written here, and read by work-item {other} "
                f"without a barrier between"
            )  # fmt: skip
        writers = (self._atomic if atomic else self._plain).setdefault(place, {})
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
    """Where a work-item is; printed functions read it."""

    __slots__ = (
        "_run", "global_size", "group", "group_count", "group_index", "group_size", "index",
        "linear_index", "local_index", "local_linear_index",
    )  # fmt: skip

    def __init__(
        self, run: Run, group: Group, index: Places, linear: int, local: Places, local_linear: int,
        number: Places,
    ) -> None:  # fmt: skip
        self._run = run
        self.group = group
        self.index = index
        self.linear_index = linear
        self.local_index = local
        self.local_linear_index = local_linear
        self.group_index = number
        self.group_size = run.group_size
        self.group_count = run.group_count
        self.global_size = run.sizes

    def __repr__(self) -> str:
        return str(self.index[0] if len(self.index) == 1 else self.index)

    def met(self, others: dict[WorkItem, int] | None) -> WorkItem | None:
        """Return one whose doing, in a phase, is in no order with this one's."""
        for other, phase in (others or {}).items():
            if other is not self and (other.group is not self.group or phase == self.group.phase):
                return other
        return None

    def memory(self, number: int) -> Elements:
        """Return memory of the group, or new memory of this work-item."""
        array = self._run.program.memories[number]
        if array.space == "private":
            return self._run.memory(array)
        if number not in self.group.memories:
            self.group.memories[number] = self._run.memory(array)
        return self.group.memories[number]

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
        for name, given in program.tree.parameters.items():
            if isinstance(given, Array) and given.name in program.tree.written:
                self.written |= {
                    other for other in arguments if arguments[other] is arguments[name]
                }
        shared: dict[int, Elements] = {}  # one array that is passed twice is one
        self.arguments: list[Any] = []
        for name, given in program.tree.parameters.items():
            if name not in arguments:
                continue
            value = arguments[name]
            if isinstance(given, Array):
                if id(value) not in shared:
                    shared[id(value)] = self.watched(name, value, "global")
                self.arguments.append(shared[id(value)])
            else:
                self.arguments.append(value)

    def watched(self, name: str, values: np.ndarray[Any, Any], space: str) -> Elements:
        """Return an array, which is watched in debug mode."""
        if not self.debug:
            return Elements(name, values)
        races = space == "local" or (space == "global" and name in self.written)
        return Watched(name, values, self, space, races=races)

    def memory(self, array: Array) -> Elements:
        """Return uninitialized memory: what no kernel expects."""
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
        """Run all groups."""
        with np.errstate(all="ignore"):
            for number in self.shuffled(list(itertools.product(*map(range, self.groups)))):
                items = self.items(number)
                if self.program.tree.barriers:
                    self.in_phases(items)
                    continue
                for item in self.shuffled(items):
                    self.item = item
                    self.guarded(item, lambda: self.program.function(*self.arguments, self.item))

    def items(self, number: Places) -> list[WorkItem]:
        """Return the work-items of a group."""
        group = Group()
        out = []
        total = math.prod(self.sizes)
        for linear, local in enumerate(itertools.product(*map(range, self.own_group))):
            parts = zip(number, self.own_group, local, strict=True)
            place = tuple(n * size + one for n, size, one in parts)
            if self.linear:
                if place[0] >= total:
                    continue
                index = tuple(int(n) for n in np.unravel_index(place[0], self.sizes))
                zeros = (0,) * (len(self.sizes) - 1)
                out.append(
                    WorkItem(
                        self, group, index, place[0], (*zeros, *local), linear, (*zeros, *number)
                    )
                )
                continue
            if any(one >= size for one, size in zip(place, self.sizes, strict=True)):
                continue
            flat = 0
            for one, size in zip(place, self.sizes, strict=True):
                flat = flat * size + one
            out.append(WorkItem(self, group, place, flat, local, linear, number))
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
            other = next((item for item in waiting if item not in at), None)
            if other is None:
                first = next(iter(at.values()))
                other = next((item for item in at if at[item] != first), None)
            if other is not None:
                item = next(one for one in at if at[one] != at.get(other))
                where = f"at line {at[other]}" if other in at else "at the end"
                message = f"divergent barriers: work-item {item} waits here, and {other} is {where}"
                self.fail(Fault("", message), item, None, at[item])
            waiting = {item: waiting[item] for item in waiting if item in at}
            items[0].group.phase += 1

    # --- errors -----------------------------------------------------------------------------

    def guarded(self, item: WorkItem, call: Callable[[], Any]) -> Any:
        """Return a call's value; what is wrong is an error at the user's line."""
        try:
            return call()
        except Fault as fault:
            self.fail(fault, item, fault.__traceback__, 0)

    def fail(
        self, fault: Fault, item: WorkItem, traceback: TracebackType | None, line: int
    ) -> None:
        """Raise the error of what is wrong."""
        frames = []
        while traceback is not None:
            if traceback.tb_frame.f_code in self.program.codes:
                frames.append(traceback)
            traceback = traceback.tb_next
        shown: TracebackType | None = None
        for one in reversed(frames):
            shown = TracebackType(shown, one.tb_frame, one.tb_lasti, one.tb_lineno)
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
    if x.dtype.kind in "biu":
        unlike = x != y
        pairs = zip(x[unlike].tolist(), y[unlike].tolist(), strict=True)
        return float(max((abs(a - b) for a, b in pairs), default=0))
    nan = (x != x) & (y != y)
    if np.any(((x != x) | (y != y)) & ~nan):
        return math.inf
    size = x.dtype.itemsize
    whole = [np.ascontiguousarray(one).view(f"i{size}").astype(np.int64) for one in (x, y)]
    lowest = -(2 ** (8 * size - 1))
    ordered = [np.where(one < 0, lowest - one, one) for one in whole]
    low, high = np.minimum(*ordered), np.maximum(*ordered)
    distance = np.subtract(high.view(np.uint64), low.view(np.uint64))
    return float(np.where(nan, 0, distance).max())
