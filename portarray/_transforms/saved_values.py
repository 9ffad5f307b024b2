"""Values that are saved for the backward pass, protected from later writes.

Derivatives need values of arrays that a user may write before the backward pass. Copying them all
would cost as much as the calls. A guard copies those that a write would change, before the write.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._array.base import GUARDS
from portarray._array.results import wrapped
from portarray._devices.device import Device
from portarray._transforms.tracer import Tracer

__all__ = ["Guard", "SavedValues", "Slot", "WriteLog", "add_guard", "remove_guard"]


class Guard(Protocol):
    """What is called before writes, until it is removed or freed."""

    def before_write(self, x: Array, memory: Hashable | None) -> None:
        """Prepare for a write to an array in a block of memory, None if that is unknown."""


def add_guard(guard: Guard) -> None:
    """Have a guard called before every write to arrays whose memory can change."""
    GUARDS.add(weakref.ref(guard, GUARDS.discard))


def remove_guard(guard: Guard) -> None:
    """Call a guard no longer."""
    GUARDS.discard(weakref.ref(guard))


class Slot(NamedTuple):
    """Where a saved value is: an element of a list or dict, or an attribute of an object."""

    container: Any
    key: Any
    device: Device

    @property
    def value(self) -> Any:
        """The value."""
        is_attribute = type(self.key) is str and not isinstance(self.container, dict)
        return getattr(self.container, self.key) if is_attribute else self.container[self.key]

    def replace(self, value: Any) -> None:
        """Replace the value."""
        if type(self.key) is str and not isinstance(self.container, dict):
            setattr(self.container, self.key, value)
        else:
            self.container[self.key] = value


class SavedValues:
    """A guard that copies saved arrays before their memory is written.

    Parameters
    ----------
    items : list
        What saves values, such as the calls of a tape. It may grow.
    slots : callable
        Returns the slots of an item.
    """

    __slots__ = ("__weakref__", "_by_memory", "_indexed", "_items", "_slots")

    def __init__(self, items: Sequence[Any], slots: Callable[[Any], Iterable[Slot]]) -> None:
        self._items = items
        self._slots = slots
        self._indexed = 0
        self._by_memory: dict[Hashable | None, list[Slot]] = {}

    def before_write(self, x: Array, memory: Hashable | None) -> None:
        """Replace the arrays in a block of memory by copies."""
        if x._dispatch.device._backend.immutable:
            return
        while self._indexed < len(self._items):
            item = self._items[self._indexed]
            self._indexed += 1
            for slot in self._slots(item):
                for key in set(_memories(slot.value, slot.device)):
                    self._by_memory.setdefault(key, []).append(slot)
        by_memory = self._by_memory
        for key in tuple(by_memory) if memory is None else (memory, None):
            copies: dict[int, Any] = {}
            for slot in by_memory.pop(key, ()):
                if slot.container.__class__ is not Tracer:
                    slot.replace(_with_copies(slot.value, slot.device, key, copies))
                elif key is not None:  # the array has changed for its function
                    slot.container.is_stale = True


class WriteLog:
    """A guard that copies arrays before they are written, so that writes can be undone."""

    __slots__ = ("__weakref__", "_originals")

    def __init__(self) -> None:
        self._originals: dict[int, tuple[Array, Any]] = {}

    def before_write(self, x: Array, memory: Hashable | None) -> None:
        """Copy an array, unless a library takes derivatives through it."""
        native, device = x._native, x._dispatch.device
        if device._backend.immutable:
            self._originals.setdefault(id(x), (x, native))
        elif id(native) not in self._originals and not device._backend.is_watched(native):
            self._originals[id(native)] = wrapped(native, x._dispatch), _copied(native, device)

    def undo(self) -> None:
        """Restore the values before the first write to each array."""
        for x, values in reversed(self._originals.values()):
            backend, functions = x._dispatch.device._backend, x._dispatch.functions
            if backend.immutable:
                x._native = values
            else:
                native, constant = x._native, backend.stop_gradient(x._native)
                if backend.allocation(constant) != backend.allocation(native):  # MLX's is a copy
                    constant = native
                functions["setitem"](constant, (...,), values)
        self._originals.clear()


def _memories(value: Any, device: Device) -> Iterator[Hashable | None]:
    """Yield the blocks of memory of native arrays in a value, which may be a list or tuple."""
    if value.__class__ in (list, tuple):
        for item in value:
            yield from _memories(item, device)
    elif device._backend.owns(value) and not device._backend.immutable:
        yield device._backend.allocation(value)


def _with_copies(
    value: Any, device: Device, memory: Hashable | None, copies: dict[int, Any]
) -> Any:
    """Return a value with copies of the native arrays that are in a block of memory."""
    if value.__class__ in (list, tuple):
        return value.__class__([_with_copies(item, device, memory, copies) for item in value])
    if not device._backend.owns(value) or device._backend.allocation(value) != memory:
        return value
    if id(value) not in copies:
        copies[id(value)] = _copied(value, device)
    return copies[id(value)]


def _copied(native: Any, device: Device) -> Any:
    return dispatch.functions_of(device).namespace.asarray(native, copy=True)
