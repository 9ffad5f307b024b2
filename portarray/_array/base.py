"""The base class of arrays: slots, read-only attributes and construction.

:class:`portarray.Array` derives from :class:`ArrayBase` and adds operators and methods. The other
modules of this package import only this one, so that there is no import cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from portarray._name_hints import ATTRIBUTES, MissingAttribute
from portarray.backends.types import GUARDS

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device
    from portarray.typing import Namespace

__all__ = [
    "GUARDS",
    "NAMESPACE",
    "ArrayBase",
    "array_type",
    "before_write",
    "new_uninitialized",
    "scope_changes",
]


array_type: type[Array]
""":class:`portarray.Array`; set when that class is defined."""

new_uninitialized: Callable[[], Array]
"""Make an array whose ``_native`` and ``_table`` the caller sets at once.

Bypasses the metaclass. 50 ns instead of the 70 of ``object.__new__(Array)``, for every result.
"""

bound_namespace: Callable[[Device], Namespace[Array]]
"""Return the namespace of a device's arrays; set by ``interop.install_hooks``."""

# The portarray module, set by portarray/__init__.py: importing it in each method that calls its
# functions would cost more than the rest of that method.
NAMESPACE: list[Namespace[Array]] = []


scope_changes = 0
"""How often arrays that a function reads became traced ones, or the original ones again."""


def before_write(x: ArrayBase) -> None:
    """Call the guards, before an array is written."""
    backend = x._dispatch.device._backend
    # Assignments to immutable arrays, and to traced ones, make new native ones.
    memory = None if backend.immutable else backend.allocation(x._native)
    for reference in tuple(GUARDS):
        guard = reference()
        if guard is not None:
            guard.before_write(x, memory)


class _Uncalled(type):
    """Metaclass of :class:`Array`: calling the class raises an error that names the fix."""

    def __dir__(cls) -> list[str]:
        return [name for name in super().__dir__() if name not in ATTRIBUTES]

    def __call__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("Array: the class is not callable\nHint: use pa.asarray(x, device=...)")


class ArrayBase(metaclass=_Uncalled):
    """A native array and its dispatch table."""

    __slots__ = ("__weakref__", "_dispatch", "_native")

    _dispatch: DispatchTable
    _native: Any

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type, a NumPy dtype on every device."""
        return self._dispatch.dtype

    @property
    def device(self) -> Device:
        """The device that holds the array."""
        return self._dispatch.device._home

    @property
    def native(self) -> Any:
        """The library's own array; no copy."""
        return self._native

    @property
    def ndim(self) -> int:
        """Number of axes."""
        ndim: int = self._native.ndim
        return ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return tuple(self._native.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for length in self._native.shape:
            size *= length
        return size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements: ``size * dtype.itemsize``."""
        return self.size * self.dtype.itemsize

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in ATTRIBUTES]

    def __init_subclass__(cls) -> None:
        global array_type, new_uninitialized
        for name in ATTRIBUTES:
            setattr(cls, name, MissingAttribute(name))
        array_type = cls  # type: ignore[assignment]
        new_uninitialized = type.__call__.__get__(cls)
