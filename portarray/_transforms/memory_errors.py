"""Errors of memory in a backward pass, with the call and the line whose derivative is too large."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from portarray._array import host_access
from portarray._array.array import Array
from portarray._devices import memory
from portarray._transforms.saved_values import WriteLog, add_guard, remove_guard
from portarray._transforms.tape import Call, GradientTrace, wrap
from portarray.errors import OutOfMemoryError

__all__ = ["named"]

Arrays = Sequence[Array]


def named(
    error: MemoryError, call: Call, index: int, function: Callable[[Arrays], Arrays], inputs: Arrays
) -> MemoryError:
    """Return the error with the call of a function whose derivative ran out of memory.

    A tape does not record lines, which would take as long as a small call. So the function runs
    once more, up to the call with this index.
    """
    exhaustion = error if isinstance(error, OutOfMemoryError) else None
    if exhaustion is None:
        exhaustion = memory.out_of_memory(error, call.device)
        if exhaustion is None:
            return error
    if not exhaustion.call:  # a checkpoint's call is named already
        memory.clear_frames(error)
        description = _described(call)
        line = _line(description, index, function, inputs)
        exhaustion.name_call(f"{description}{line and f' at {line}'}")
    return exhaustion


def _described(call: Call) -> str:
    """Return the name of a call with the types of its arrays."""
    types = [f"{x.dtype}{list(x.shape)}" for x in _arrays(call.args, call)]
    return f"{call.name}({', '.join(types)})"


def _arrays(args: Iterable[Any], call: Call) -> Iterator[Array]:
    for arg in args:
        if arg.__class__ in (list, tuple):
            yield from _arrays(arg, call)
        elif isinstance(x := wrap(arg, call.device), Array):
            yield x


class _Found(BaseException):
    """Ends a function that runs to find the line of a call. ``except Exception`` ignores it."""


class _CallFinder(list[Call]):
    """The calls of a tape, not kept but counted up to one of them."""

    def __init__(self, index: int, description: str) -> None:
        super().__init__()
        self.line = ""
        self._remaining = index
        self._description = description

    def append(self, call: Call) -> None:
        """Note the line of the call with the index, and end the function."""
        if not self._remaining:
            if _described(call) == self._description:
                self.line = host_access.user_line()
            raise _Found
        self._remaining -= 1


def _line(
    description: str, index: int, function: Callable[[Arrays], Arrays], inputs: Arrays
) -> str:
    """Return the line of a call of a function, or an empty string if it cannot be found."""
    trace = GradientTrace()
    trace.calls = finder = _CallFinder(index, description)
    writes = WriteLog()
    add_guard(writes)
    try:
        function(list(map(trace.watch, inputs)))
    except _Found:
        pass
    except Exception as failure:  # noqa: BLE001  (the first error is raised)
        finder.line = f"an unknown line ({type(failure).__name__} when the function ran again)"
    finally:
        trace.end("")
        remove_guard(writes)
        writes.undo()
    return finder.line
