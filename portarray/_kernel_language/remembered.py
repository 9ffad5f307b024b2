"""Calls that are like one before: what is known of them, and how they are recognized."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from portarray._array.array import Array
from portarray._kernel_language.preparing import CONVERSIONS, Captured, Prepared
from portarray._kernel_language.ranges import Range
from portarray.backends.launching import Launch

T = TypeVar("T")
_lock = threading.Lock()

MOST_CALLS = 4096
"""Kinds of calls that a kernel remembers."""


MOST_PROGRAMS = 1024
"""Programs that a kernel remembers, such as one for each value of a static argument."""


def remember(known: dict[Any, T], key: Any, value: T, most: int) -> None:
    """Add to what is known; beyond so many the oldest goes."""
    with _lock:
        known.pop(key, None)
        while len(known) >= most:
            del known[next(iter(known))]
        known[key] = value


@dataclass(slots=True)
class Call:
    """What calls share whose arguments differ in the elements of arrays and in scalars alone."""

    natives: Callable[[tuple[Any, ...]], list[Any]]  # of the arguments
    returned: Callable[[tuple[Any, ...]], Any]  # of the arguments, those that are written
    written: list[int]  # places among the natives
    writable: Callable[[Any], Any]
    launch: Launch
    values: list[Any]
    scalars: list[tuple[int, int, type]]  # of values: place, place among the arguments, conversion
    rounded: Range
    items: Range
    constants: list[Captured]


def call_of(
    prepared: Prepared, names: list[str], values: list[Any], rounded: Range, items: Range
) -> Call:
    """Return what later calls of the same kind need."""
    draft = prepared.draft
    return Call(
        natives=items_of([f"args[{place}]._native" for place in draft.arrays], "[{}]"),
        returned=items_of([f"args[{place}]" for place in draft.written]),
        written=[n for n, place in enumerate(draft.arrays) if place in draft.written],
        writable=draft.launcher.writable,
        launch=prepared.launch,
        values=values,
        scalars=[
            (n, names.index(one.name), CONVERSIONS.get(one.dtype.kind, int))
            for n, one in enumerate(draft.printed.values)
            if one.what == "argument"
        ],
        rounded=rounded,
        items=items,
        constants=draft.constants,
    )


def call_key(
    is_static: Sequence[bool], other: Callable[[Any, bool], Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return a function of ndrange, group and arguments: what a program and its launch depend on.

    Arrays count by device, dtype and layout, scalars by their types.
    """
    parts = []
    for n, static in enumerate(is_static):
        text = f"other(x{n}, {static})"
        if not static:
            text = (
                f"(x{n}._table, x{n}._table.device._backend.layout(x{n}._native)) "
                f"if type(x{n}) is Array else float if type(x{n}) is float else {text}"
            )
        parts.append(f"({text})")
    names = ", ".join(["size", "group", *(f"x{n}" for n in range(len(parts)))])
    # With their types, as comparing sequences of some types fails.
    sizes = [f"None if {one} is None else (type({one}), {one})" for one in ("size", "group")]
    text = f"lambda {names}: ({', '.join([*sizes, *parts])})"
    made: Callable[..., tuple[Any, ...]] = eval(text, {"Array": Array, "other": other})  # noqa: S307
    return made


def items_of(parts: Sequence[str], several: str = "({})") -> Callable[[tuple[Any, ...]], Any]:
    """Return a function of arguments that returns parts of them."""
    alone = len(parts) == 1 and several == "({})"
    return _written_out(parts[0] if alone else several.format(", ".join(parts)))


@functools.cache
def _written_out(text: str) -> Callable[[tuple[Any, ...]], Any]:
    made: Callable[[tuple[Any, ...]], Any] = eval(f"lambda args: {text}")  # noqa: S307
    return made
