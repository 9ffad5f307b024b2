"""Recursion whose depth is bounded by memory."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_LEVELS = 24
"""Nested calls on one stack: a few hundred frames, where Python allows a thousand."""

_stack = threading.local()


def deep(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function call itself, directly or not, as deeply as its input is nested.

    After some levels the call continues in a new thread, which has a stack of its own. Raising
    the recursion limit instead would affect all threads of the process.
    """

    @functools.wraps(function)
    def nested(*args: P.args, **kwargs: P.kwargs) -> R:
        level = getattr(_stack, "level", 0)
        if level >= _LEVELS:
            return _on_new_stack(functools.partial(nested, *args, **kwargs))
        _stack.level = level + 1
        try:
            return function(*args, **kwargs)
        finally:
            _stack.level = level

    return nested


def _on_new_stack(call: Callable[[], R]) -> R:
    """Return the result of a call that another thread makes; its exceptions are raised here."""
    results: list[R] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            results.append(context.run(call))
        except BaseException as error:  # noqa: BLE001  (raised by the caller)
            errors.append(error)

    thread: Any = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
