"""Send arrays between processes with pickle's out-of-band buffers, without copies.

``distributed`` reads the first buffer of a message into the memory that the message's header is in,
at any address, and each further one into memory of its own. Libraries want their memory aligned, so
that a first buffer would be copied once more. A buffer of one byte is the first here.
"""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

import portarray as pa
from portarray._array import pickling

__all__ = ["register_pickling"]

_LARGE = 2**17
"""Bytes from which ``distributed`` sends buffers apart."""


def _reduced(x: pa.Array) -> tuple[Any, ...]:
    function, values = pickling.reduce(x, 5)
    if x.nbytes < _LARGE:
        return function, values
    return pickling.restored_behind, (np.zeros(1, np.uint8), *values)


def register_pickling() -> None:
    """Register the pickling of arrays in this process."""
    copyreg.pickle(pa.Array, _reduced)
