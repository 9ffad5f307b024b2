"""Reading and writing parts of arrays: clarray's own functions."""

from __future__ import annotations

from typing import Any

from portarray.backends.common.keys import check_unshared
from portarray.backends.types import Rows
from portarray.clarray import Array
from portarray.clarray.indexing import getitem
from portarray.clarray.indexing import item as item
from portarray.clarray.indexing import setitem as _setitem

DIRECT: Rows = {"getitem": {"biufc": getitem}}


def setitem(x: Array, key: tuple[Any, ...], value: Array | complex, /) -> Array:
    """Write into part of an array, and return that array."""
    if not x.contiguous:
        check_unshared(x.shape, x.strides)
    _setitem(x, key, value)
    return x
