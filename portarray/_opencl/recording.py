"""Recorded launches: kernels that are launched again with other arrays.

A launch from Python finds its kernel, its memory and its scalars. A recording has a kernel object
for each launch, whose arguments stay set: a replay sets only those that are inputs and results.
Temporary arrays keep their memory from one replay to the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pyopencl as cl

from portarray._opencl.blocks import current
from portarray._opencl.programs import enqueue

if TYPE_CHECKING:
    from portarray._opencl.device import Device

__all__ = ["Recorder", "Recording"]

MOST_BYTES = 16 << 20
"""Bytes of temporary arrays that a recording keeps; with larger ones launches cost little."""

Sizes = tuple[int, ...]
View = Callable[[Any], Any]


class _Launch(NamedTuple):
    kernel: cl.Kernel
    size: Sizes
    group: Sizes | None
    memories: Sequence[Any]  # of the first arguments
    values: tuple[Any, ...]  # index, type and value of the others alternate


class Recorder(ABC):
    """Records launches, and makes a function of them.

    Parameters
    ----------
    device : Device
        The device of the kernels.
    queue : CommandQueue
        Their queue.
    """

    records_calls: ClassVar[bool]
    """Whether it notices all that reads or writes arrays, not only launches."""

    def __init__(self, device: Device, queue: cl.CommandQueue) -> None:
        self.device = device
        self.queue = queue
        self._launches: list[_Launch] = []
        self._is_complete = True

    @abstractmethod
    def memory(self, x: Any) -> Any:
        """Return the memory of a native array."""

    @abstractmethod
    def argument(self, memory: Any) -> Any:
        """Return a kernel's argument for a memory."""

    @abstractmethod
    def layout(self, x: Any) -> Any:
        """Return what launches depend on besides shape and dtype; None if they vary otherwise."""

    @abstractmethod
    def nbytes(self, memory: Any) -> int:
        """Return the bytes of a memory, a negative number if its launches wait for themselves."""

    @abstractmethod
    def allocator(self, memory: Any) -> Callable[[], Any]:
        """Return a function that allocates memory of the same size."""

    @abstractmethod
    def viewer(self, x: Any) -> View:
        """Return a function that returns an array like this one in another memory."""

    @abstractmethod
    def finish(self, event: cl.Event) -> None:
        """Wait for the last launch of a replay, where arrays are read without waiting."""

    @contextmanager
    def launches(self) -> Iterator[None]:
        """Record this thread's launches in a ``with`` statement."""
        outer, previous = current.recorder, self.device.launched
        current.recorder = self
        try:
            yield
        finally:
            current.recorder = outer
        enqueued = self.device.launched - previous
        if self.records_calls and enqueued != len(self._launches):  # a copy, or another thread's
            self.refuse()

    def refuse(self) -> None:
        """Make no recording: the host reads or writes memory."""
        self._is_complete = False

    def add(
        self,
        queue: cl.CommandQueue,
        kernel: cl.Kernel,
        size: Sizes,
        group: Sizes | None,
        memories: Sequence[Any],
        values: tuple[Any, ...],
    ) -> None:
        """Record a launch."""
        if queue is not self.queue:
            self.refuse()
        self._launches.append(_Launch(kernel, size, group, memories, values))

    def recording(
        self, inputs: Sequence[Any], outputs: Sequence[Any], constants: Sequence[Any]
    ) -> Recording | None:
        """Return the launches as a function of the inputs; None if they are not all that happened.

        ``inputs``, ``outputs`` and ``constants`` are native arrays.
        """
        layouts = list(map(self.layout, inputs))
        if not (self._is_complete and self._launches) or None in layouts:
            return None
        memories = list(map(self.memory, inputs))
        slots: dict[int, int] = {}
        for n, memory in enumerate(memories):
            slots.setdefault(id(memory), n)
        launched = {id(x): x for launch in self._launches for x in launch.memories}
        constant = {id(self.memory(x)) for x in constants}
        allocators: list[Callable[[], Any]] = []
        results: list[tuple[int, View | None]] = []
        for x in outputs:
            memory = self.memory(x)
            position = next((n for n, y in enumerate(inputs) if y is x), None)
            if position is not None:
                results.append((position, None))
                continue
            if id(memory) not in slots:
                if id(memory) in constant or id(memory) not in launched:
                    return None
                slots[id(memory)] = len(inputs) + len(allocators)
                allocators.append(self.allocator(memory))
            results.append((slots[id(memory)], self.viewer(x)))
        sizes = {key: self.nbytes(x) for key, x in launched.items()}
        kept = [x for key, x in launched.items() if key not in slots]
        nbytes = sum(sizes[id(x)] for x in kept if id(x) not in constant)
        if nbytes > MOST_BYTES or any(size < 0 for size in sizes.values()):
            return None
        same = [(n, slots[id(memory)]) for n, memory in enumerate(memories)]
        try:
            launches = [_bound(launch, slots, self.argument) for launch in self._launches]
        except cl.Error:  # of drivers before OpenCL 2.1
            return None
        self._launches = []
        return Recording(
            self, layouts, [pair for pair in same if pair[0] != pair[1]], allocators, results,
            launches, kept,
        )  # fmt: skip


class _Bound(NamedTuple):
    """A launch with a kernel of its own."""

    kernel: cl.Kernel
    size: Sizes
    group: Sizes | None
    set_arguments: Callable[[tuple[Any, ...]], object]
    arguments: list[Any]  # that change: index and None alternate
    slots: list[int]  # of the memory that takes the place of None


def _bound(launch: _Launch, slots: dict[int, int], argument: Callable[[Any], Any]) -> _Bound:
    kernel: cl.Kernel = launch.kernel.clone()
    untyped: Any = kernel
    untyped._set_arg_buf_pack_multi(launch.values)
    arguments, changing = list[Any](), list[int]()
    for n, memory in enumerate(launch.memories):
        if id(memory) in slots:
            arguments += (n, None)
            changing.append(slots[id(memory)])
        else:
            untyped._set_arg_multi((n, argument(memory)))
    return _Bound(kernel, launch.size, launch.group, untyped._set_arg_multi, arguments, changing)


class Recording:
    """Launches as a function of native arrays, made by :meth:`Recorder.recording`."""

    def __init__(
        self,
        recorder: Recorder,
        layouts: list[Any],
        same: list[tuple[int, int]],
        allocators: list[Callable[[], Any]],
        results: list[tuple[int, View | None]],
        launches: list[_Bound],
        kept: list[Any],
    ) -> None:
        self._recorder, self._layouts, self._same = recorder, layouts, same
        self._allocators, self._results, self._launches = allocators, results, launches
        self._kept = kept  # static arguments, whose memory the kernels do not keep

    def __call__(self, inputs: Sequence[Any]) -> tuple[Any, ...] | None:
        """Launch the kernels; return the outputs, or None for arrays of another kind."""
        recorder = self._recorder
        memory, argument, device = recorder.memory, recorder.argument, recorder.device
        if list(map(recorder.layout, inputs)) != self._layouts:
            return None
        memories = list(map(memory, inputs))
        if not all(memories[n] is memories[first] for n, first in self._same):
            return None
        memories += [allocate() for allocate in self._allocators]
        arguments = list(map(argument, memories))
        event: Any = None  # there are launches
        try:
            # The lock also keeps other threads from using the temporary memory.
            with device.lock:
                for kernel, size, group, set_arguments, template, slots in self._launches:
                    if slots:
                        changed = template.copy()
                        changed[1::2] = [arguments[slot] for slot in slots]
                        set_arguments(tuple(changed))
                    event = enqueue(recorder.queue, kernel, size, group)
                    if recorder.records_calls:
                        device.launched += 1
            recorder.finish(event)
        except cl.Error as error:
            raise device.translate_error(error) from error
        return tuple([
            inputs[slot] if view is None else view(memories[slot]) for slot, view in self._results
        ])  # fmt: skip
