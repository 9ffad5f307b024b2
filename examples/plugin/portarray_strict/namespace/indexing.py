"""Indices that portarray takes everywhere: NumPy, whose memory the arrays share, takes them all."""

from typing import Any

import array_api_strict as strict
import numpy as np


def getitem(x: Any, key: tuple[Any, ...], /) -> Any:
    """Return ``x[key]``: a view, unless key holds an array."""
    return strict.asarray(np.from_dlpack(x)[_readable(key)], device=x.device)


def item(x: Any, /) -> Any:
    """Return the one element as a Python scalar."""
    return np.from_dlpack(x).item()


def setitem(x: Any, key: tuple[Any, ...], value: Any, /) -> Any:
    """Do ``x[key] = value`` and return x."""
    np.from_dlpack(x)[_readable(key)] = _on_host(value)
    return x


def _readable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a key that NumPy can read; the ellipsis keeps it from returning a scalar."""
    last = () if any(part is Ellipsis for part in key) else (Ellipsis,)
    return (*map(_on_host, key), *last)


def _on_host(value: Any) -> Any:
    return np.from_dlpack(value) if hasattr(value, "__dlpack__") else value
