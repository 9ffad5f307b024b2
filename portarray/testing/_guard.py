"""The mark ``no_host_transfer``, and the same for a single call."""

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
    """Let what compares results read them."""
    token = _ALLOWED.set(True)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


@contextmanager
def listening(listener: Callable[[Transfer], None]) -> Iterator[None]:
    """Tell a listener of each transfer, but those of comparisons."""

    def heard(transfer: Transfer) -> None:
        if not _ALLOWED.get():
            listener(transfer)

    with host_access.listening(heard):
        yield


@contextmanager
def no_transfers(item: pytest.Item, *, fallback: bool) -> Iterator[None]:
    """Fail a test at each copy to or from the host, but for the inputs that it makes itself."""
    found: list[str] = []
    own = getattr(getattr(item, "function", None), "__code__", None)

    def refuse(transfer: Transfer) -> None:
        line = next(host_access.callers(), None)
        if transfer.kind == FALLBACK and fallback:
            return
        if not transfer.to_host and line is not None and _is(line, own):
            return
        found.append(told(transfer, line))
        # Not a mere exception, which the tested code might catch.
        pytest.fail(found[-1])

    with listening(refuse):
        yield
    if found:  # and the tested code went on
        pytest.fail("\n".join(found), pytrace=False)


def _is(line: Line, code: object) -> bool:
    """Tell whether a line is one of a test's own."""
    if code is None:
        return False
    place = getattr(code, "co_filename", None), getattr(code, "co_name", None)
    return (line.filename, line.function) == place


def told(transfer: Transfer, line: Line | None) -> str:
    """Return what a transfer does, and where."""
    way = "to the host" if transfer.to_host else "from the host"
    name = f" ({transfer.name})" if transfer.name else ""
    where = "" if line is None else f"\n  {line}"
    return f"{transfer.kind}{name} copies {way}, with {transfer.device}{where}"
