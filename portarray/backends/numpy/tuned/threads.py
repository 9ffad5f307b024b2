"""Threads for work on large arrays: NumPy releases the GIL while it computes.

NumPy's own functions run in one thread, and its BLAS threads only large products. Work that is
split into blocks that fit the caches therefore also runs in one thread per processor. The caller is
one of them: it does all of the work if no other thread starts in time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["count", "shared"]

T = TypeVar("T")


@lru_cache(maxsize=1)
def count() -> int:
    """Return the number of threads: one for each processor that this process may run on.

    ``OMP_NUM_THREADS`` and ``OPENBLAS_NUM_THREADS`` limit it, as they limit NumPy's BLAS.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").split(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            processors = min(processors, int(text))
    return processors


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # lazy: takes milliseconds

    return ThreadPoolExecutor(count() - 1, thread_name_prefix="portarray-numpy")


if hasattr(os, "register_at_fork"):
    # A child process does not have its parent's threads, and would wait for them.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def shared(work: Callable[[Iterator[T]], None], tasks: Sequence[T], *, among: int) -> None:
    """Call ``work`` in at most ``among`` threads, each with an iterator over the shared tasks.

    ``work`` must not call :func:`shared`.
    """
    remaining = deque(tasks)
    helpers: list[Future[None]] = []
    for _ in range(min(among, len(tasks), count()) - 1):
        try:
            helpers.append(_pool().submit(copy_context().run, work, _taken(remaining)))
        except RuntimeError:  # the interpreter is shutting down, or threads are exhausted
            break
    try:
        work(_taken(remaining))
    finally:
        remaining.clear()  # if this thread's work failed, the others stop too
        started = [future for future in helpers if not future.cancel()]
        errors = [future.exception() for future in started]
    for error in errors:
        if error is not None:
            raise error


def _taken(remaining: deque[T]) -> Iterator[T]:
    """Yield tasks until none is left."""
    with suppress(IndexError):  # another thread took the last one
        while True:
            yield remaining.popleft()
