"""Detection of transfers for the mark ``no_host_transfer`` and for single calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pytest

from portarray._array import host_access
from portarray._array.host_access import Line, Transfer

__all__ = ["allowed", "listening", "no_transfers"]

_ALLOWED: ContextVar[bool] = ContextVar("portarray_transfers_allowed", default=False)

FALLBACK = "host fallback"


@contextmanager
def allowed() -> Iterator[None]:
    """Allow transfers, for comparisons of results."""
    token = _ALLOWED.set(True)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


@contextmanager
def listening(listener: Callable[[Transfer], None]) -> Iterator[None]:
    """Call a listener for each transfer, except those of comparisons."""

    def heard(transfer: Transfer) -> None:
        if not _ALLOWED.get():
            listener(transfer)

    with host_access.listening(heard):
        yield


@contextmanager
def no_transfers(item: pytest.Item, *, fallback: bool) -> Iterator[None]:
    """Fail a test at each copy to or from the host, except copies of inputs that it creates."""
    messages: list[str] = []
    test_code = getattr(getattr(item, "function", None), "__code__", None)

    def refuse(transfer: Transfer) -> None:
        line = next(host_access.callers(), None)
        if transfer.kind == FALLBACK and fallback:
            return
        if not transfer.to_host and line is not None and _is_in(line, test_code):
            return
        messages.append(description(transfer, line))
        # An ordinary exception might be caught by the tested code.
        pytest.fail(messages[-1])

    with listening(refuse):
        yield
    if messages:  # although the tested code caught the failure
        pytest.fail("\n".join(messages), pytrace=False)


def _is_in(line: Line, code: object) -> bool:
    """Return whether a line belongs to a code object."""
    if code is None:
        return False
    code_location = getattr(code, "co_filename", None), getattr(code, "co_qualname", None)
    return (line.filename, line.function) == code_location


def description(transfer: Transfer, line: Line | None) -> str:
    """Describe a transfer and its location."""
    direction = "to the host" if transfer.to_host else "from the host"
    name = f" ({transfer.name})" if transfer.name else ""
    where = "" if line is None else f"\n  {line}"
    return f"{transfer.kind}{name} copies {direction}, with {transfer.device}{where}"
