"""Copies, casts and fills."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.array import Array
from portarray.clarray.engine.elementwise import apply
from portarray.clarray.engine.operation import Operation, every
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.programs import Kernel, source_of

__all__ = ["assign", "cast", "contiguous", "copy", "fill", "item_kernel"]

_IDENTITY = Operation("copy", every("a"))
_ITEMS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}


def copy(x: Array) -> Array:
    """Return a new C-contiguous array with the same elements."""
    return apply(_IDENTITY, (x,), x.dtype, x.dtype)


def contiguous(x: Array) -> Array:
    """Return the array itself where it is C-contiguous, a copy elsewhere."""
    return x if x.contiguous else copy(x)


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """Return a new array of another dtype."""
    return apply(_IDENTITY, (x,), dtype, dtype)


def assign(out: Array, value: Array | complex) -> None:
    """Write a value, broadcast and cast, into an array. The two may overlap in memory."""
    if isinstance(value, Array) and value.storage is out.storage:
        value = copy(value)
    apply(_IDENTITY, (value,), out.dtype, out.dtype, out=out)


def fill(out: Array, value: complex) -> None:
    """Write a Python scalar that the dtype can hold into every element."""
    if not out.contiguous:
        apply(_IDENTITY, (value,), out.dtype, out.dtype, out=out)
        return
    size = out.size
    if size:
        low, high = _halves(value, out.dtype)
        kernel = item_kernel(
            out.device, out.dtype.itemsize, "fill", 1, (np.int64, np.uint64, np.uint64)
        )
        kernel.launch((size,), None, (out.storage,), out.offset, low, high)


def _halves(value: complex, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the bits of a value as two unsigned numbers of at most 64 bits."""
    bits = int.from_bytes(np.asarray(value).astype(dtype).tobytes(), "little")
    return bits & 0xFFFF_FFFF_FFFF_FFFF, bits >> 64


def item_kernel(
    device: Device, itemsize: int, name: str, buffers: int, values: tuple[Any, ...]
) -> Kernel:
    """Return a kernel of ``kernels/copy.cl`` for items of a size in bytes."""
    source = f"#define ITEM {itemsize}\n#define U {_ITEMS[itemsize]}\n" + source_of("copy")
    return device.kernel(source, name, buffers, values)
