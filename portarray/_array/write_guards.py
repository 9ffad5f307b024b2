"""Guards that are called before the memory of an array is written.

Derivatives keep values of arrays that a user may write before the backward pass. Copying them all
would cost as much as the calls. A guard copies those that a write would change, before the write.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

__all__ = ["GUARDS", "Guard", "add", "before_write", "remove"]


class Guard(Protocol):
    """What is called before writes, until it is removed or freed."""

    def before_write(self, native: Any, device: Device, memory: Hashable | None) -> None:
        """Prepare for a write to a native array in a block of memory, None for any block."""


GUARDS: set[weakref.ref[Guard]] = set()
"""The guards. Writers check that there is none, which costs them nothing."""


def add(guard: Guard) -> None:
    """Have a guard called before every write to arrays whose memory can change."""
    GUARDS.add(weakref.ref(guard, GUARDS.discard))


def remove(guard: Guard) -> None:
    """Call a guard no longer."""
    GUARDS.discard(weakref.ref(guard))


def before_write(x: Array) -> None:
    """Call the guards."""
    device = x._dispatch.device
    backend = device._backend
    if backend.immutable:  # assignments to such arrays, and to traced ones, make new native ones
        return
    memory = backend.allocation(x._native)
    for reference in tuple(GUARDS):
        guard = reference()
        if guard is not None:
            guard.before_write(x._native, device, memory)
