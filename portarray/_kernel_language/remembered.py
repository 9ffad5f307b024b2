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

    run: Callable[..., tuple[Any, Any] | None]
    """Of the arguments: launches, and returns what that did and the arguments that are written;
    None where an array must be copied first."""
    constants: list[Captured]


def call_of(
    prepared: Prepared, names: list[str], values: list[Any], rounded: Range, items: Range
) -> Call:
    """Return what later calls of the same kind need."""
    draft = prepared.draft
    natives = "".join(f"x{place}._native, " for place in draft.arrays)
    given = [f"values[{n}]" for n in range(len(values))]
    for n, one in enumerate(draft.printed.values):
        if one.what == "argument":
            convert = CONVERSIONS.get(one.dtype.kind, int).__name__
            given[n] = f"{convert}(x{names.index(one.name)})"
    copied = " or ".join(
        f"writable(x{place}._native) is not x{place}._native" for place in draft.written
    )
    changed = ", ".join(f"x{place}" for place in draft.written)
    arguments = ", ".join(f"x{n}" for n in range(len(names)))
    launched = f"launch(({natives}), ({''.join(f'{one}, ' for one in given)}), rounded, items)"
    make = _written_out(
        f"lambda launch, writable, values, rounded, items: "
        f"lambda {arguments}: None if {copied} else ({launched}, ({changed}))"
    )
    return Call(
        make(prepared.launch, draft.launcher.writable, values, rounded, items),
        draft.constants,
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


@functools.cache
def _written_out(text: str) -> Callable[..., Any]:
    made: Callable[..., Any] = eval(text)  # noqa: S307
    return made
