"""A line for whoever waits at a terminal or in a notebook while a compiler works."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["compile_notice"]

DELAY = 2.0
"""Seconds of work with one message, in one or several blocks, before it is shown."""

_spent: dict[str, float] = {}
"""Seconds spent with each message; infinite once it is shown."""


@contextmanager
def compile_notice(message: str) -> Iterator[None]:
    """Show a message on the standard error, once, if such blocks take more than a moment.

    Nothing is shown in logs and pipes.
    """
    spent = _spent.get(message, 0.0)
    if math.isinf(spent) or not _is_watched():
        yield
        return
    timer = threading.Timer(max(DELAY - spent, 0.0), _show, (message,))
    timer.daemon = True
    started = time.monotonic()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _spent[message] = _spent.get(message, 0.0) + time.monotonic() - started


def _is_watched() -> bool:
    """Return whether somebody sees the standard error now."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def _show(message: str) -> None:
    if not math.isinf(_spent.get(message, 0.0)):
        _spent[message] = math.inf
        sys.stderr.write(f"portarray: {message}\n")
        sys.stderr.flush()
