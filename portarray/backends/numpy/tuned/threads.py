"""A few threads for work on large arrays: NumPy lets go of the interpreter while it computes.

NumPy's own functions run in one thread, and the BLAS behind it threads only products that are
large. What is cut into blocks that fit the caches is therefore also handed to as many threads as
there are processors to run on. The caller is one of them: where no other comes in time, or none can
be had, it does all of the work itself, so nothing waits for a thread that is not there.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from typing import TypeVar

__all__ = ["count", "shared"]

T = TypeVar("T")


@lru_cache(maxsize=1)
def count() -> int:
    """Return how many threads compute: one for each processor that this process may run on.

    ``OMP_NUM_THREADS`` and ``OPENBLAS_NUM_THREADS``, which the BLAS behind NumPy obeys too, make
    them fewer. They are read at the first call, as the BLAS reads them when it is loaded.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    found = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").split(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            found = min(found, int(text))
    return found


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count() - 1, thread_name_prefix="portarray-numpy")


if hasattr(os, "register_at_fork"):
    # A child has none of its parent's threads, and would wait for them.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def shared(work: Callable[[Iterator[T]], None], tasks: Sequence[T], *, among: int) -> None:
    """Call ``work`` in several threads, each with an iterator that takes from the same tasks.

    Parameters
    ----------
    work : callable
        Does the tasks that its iterator gives, until that ends. It may not call :func:`shared`.
    tasks : sequence
        What there is to do, in the order in which it is begun.
    among : int
        How many threads at most.
    """
    left = deque(tasks)
    helpers: list[Future[None]] = []
    for _ in range(min(among, len(tasks), count()) - 1):
        try:
            helpers.append(_pool().submit(copy_context().run, work, _taken(left)))
        except RuntimeError:  # the interpreter is shutting down, or there is no further thread
            break
    try:
        work(_taken(left))
    finally:
        left.clear()  # where this thread's work failed, the others stop too
        started = [one for one in helpers if not one.cancel()]
        errors = [one.exception() for one in started]
    for error in errors:
        if error is not None:
            raise error


def _taken(left: deque[T]) -> Iterator[T]:
    """Take tasks until none is left."""
    while True:
        try:
            task = left.popleft()
        except IndexError:
            return
        yield task
