"""Kernels on rows or single values, in blocks that stay in the caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from portarray.backends.numpy.tuned import threads

__all__ = ["SMALL", "by_rows", "by_values", "in_blocks", "quick", "wide"]

Array = np.ndarray[Any, Any]

BLOCK = 1 << 16
"""Elements of a block: 256 KiB as float32, of which several fit one core's cache."""

SMALL = 1 << 13
"""Elements up to which calls take longer than the computation."""

SHARED = 1 << 19
"""Elements from which other threads, which take about 50 microseconds to start, pay."""

BUFFER = 512
"""Size of NumPy's buffers in elements, instead of 8192."""

float16, float32 = np.dtype(np.float16), np.dtype(np.float32)


def wide(x: Array) -> Array:
    """Return x as float32 if it is float16, else x itself."""
    return x.astype(float32) if x.dtype == float16 else x


@contextmanager
def quick() -> Iterator[None]:
    """Compute without warnings, and with small buffers, in this thread and context only.

    NumPy allocates buffers before it finds that broadcast operands do not need them: for a block
    with a value for each row, that takes as long as the computation.
    """
    with np.errstate(all="ignore"):
        previous = np.setbufsize(BUFFER)
        try:
            yield
        finally:
            np.setbufsize(previous)


def in_blocks(work: Callable[[int, int], None], length: int, size: int) -> None:
    """Call ``work(start, stop)`` for blocks of rows of ``size`` elements each."""
    if length * size <= SMALL:
        with np.errstate(all="ignore"):
            work(0, length)
        return
    blocks = -(-length * size // BLOCK)
    among = threads.count() if length * size >= SHARED else 1
    if among > 1:
        blocks = -(-blocks // among) * among
    step = -(-length // max(1, min(blocks, length)))
    if step >= length:
        with quick():
            work(0, length)
        return

    def several(starts: Iterator[int]) -> None:
        with quick():
            for start in starts:
                work(start, min(start + step, length))

    threads.shared(several, range(0, length, step), among=among)


def by_rows(kernel: Callable[[Array, Array], None], x: Array) -> Array:
    """Return the results of ``kernel(block, out)`` for the rows of x, in float32 at least."""
    if not x.size:
        return np.empty(x.shape, x.dtype)
    size = x.shape[-1]
    return _filled(kernel, x.reshape(-1, size), size).reshape(x.shape)


def by_values(kernel: Callable[[Array, Array], None], x: Array) -> Array:
    """Return the results of ``kernel(block, out)`` for the values of x, in float32 at least."""
    return _filled(kernel, x.reshape(-1), 1).reshape(x.shape)


def _filled(kernel: Callable[[Array, Array], None], x: Array, size: int) -> Array:
    out = np.empty(x.shape, x.dtype)

    def work(start: int, stop: int) -> None:
        kernel(x[start:stop], out[start:stop])

    def work_wide(start: int, stop: int) -> None:
        part = x[start:stop].astype(float32)
        result = np.empty_like(part)
        kernel(part, result)
        out[start:stop] = result

    in_blocks(work_wide if x.dtype == float16 else work, len(x), size)
    return out
