"""Reading and writing parts of arrays: clarray's own functions."""

from __future__ import annotations

from typing import Any

from portarray.clarray import Array
from portarray.clarray.indexing import getitem, item, take, take_along_axis
from portarray.clarray.indexing import setitem as _setitem

__all__ = ["getitem", "item", "setitem", "take", "take_along_axis"]


def setitem(x: Array, key: tuple[Any, ...], value: Array | complex, /) -> Array:
    """Write into part of an array, and return that array."""
    _setitem(x, key, value)
    return x
