"""Reading and writing parts of arrays, with the indices that portarray has and the library refuses.

array-api-strict takes the least that the standard asks for: no integer arrays beside slices, no
slices beyond an axis. NumPy, whose memory its arrays share, takes them all.
"""

from __future__ import annotations

from typing import Any

from portarray_strict.devices import ARRAY_TYPE
from portarray_strict.transfer import from_host, to_host

__all__ = ["getitem", "item", "setitem"]

Key = tuple[Any, ...]


def getitem(x: Any, key: Key, /) -> Any:
    """Return ``x[key]``: a view, unless key holds an array."""
    return from_host(to_host(x, copy=None)[_readable(key)], x.device, copy=None)


def item(x: Any, /) -> bool | int | float | complex:
    """Return the one element as a Python scalar."""
    value: bool | int | float | complex = to_host(x, copy=None).item()
    return value


def setitem(x: Any, key: Key, value: Any, /) -> Any:
    """Do ``x[key] = value`` and return x."""
    to_host(x, copy=None)[_readable(key)] = _on_host(value)
    return x


def _readable(key: Key) -> Key:
    """Return a key that NumPy can read; the ellipsis keeps it from returning a scalar."""
    parts = tuple(map(_on_host, key))
    return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)


def _on_host(value: Any) -> Any:
    return to_host(value, copy=None) if isinstance(value, ARRAY_TYPE) else value
