"""The cache of launches: its keys, and the launch state of repeated calls."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from portarray import _codegen
from portarray._array.array import Array
from portarray._kernel_language.arguments import SMALL
from portarray._kernel_language.captures import Captures
from portarray._kernel_language.preparing import Draft, Prepared, argument_text
from portarray._kernel_language.printer import ARGUMENTS
from portarray._kernel_language.ranges import Range
from portarray._launchers.launcher import Launch

T = TypeVar("T")
_lock = threading.Lock()

MOST_CALLS = 4096
"""Cached launches of a kernel."""

MOST_PROGRAMS = 1024
"""Cached programs of a kernel, such as one for each value of a static argument."""


def put(cache: dict[Any, T], key: Any, value: T, most: int) -> None:
    """Insert into a cache that keeps the `most` newest entries."""
    with _lock:
        cache.pop(key, None)
        while len(cache) >= most:
            del cache[next(iter(cache))]
        cache[key] = value


@dataclass(slots=True)
class Call:
    """Launch state shared by all calls with the same argument types and layouts."""

    run: Callable[..., tuple[Any, Any] | None]
    """Launches with these arguments; returns the launch's result and the written arguments, or None
    if an array must be copied first."""
    captures: Captures
    written: tuple[int, ...]
    """Positions of the arguments that the kernel writes."""
    bind: Callable[..., BoundLaunch]
    """Takes positions of arrays whose layouts may differ in other calls, and the arguments; returns
    the launch with their scalars, for other arrays."""


class BoundLaunch:
    """A launch with all but its arrays.

    Called with the native arrays of the kernel's parameters. Returns whether it has launched:
    False if an array has another layout or must be copied first, or a captured value has changed.

    Attributes
    ----------
    positions : list of int
        Of the arrays among the kernel's arguments.
    launch, values, rounded, items : Any
        The launch, its scalars, its ndrange and its group.
    layout_keys, layout_key : Any
        The layouts of arrays, and the function that returns one.
    """

    __slots__ = (
        "_captures", "_writable", "_written", "items", "launch", "layout_key", "layout_keys",
        "positions", "rounded", "values",
    )  # fmt: skip

    def __init__(
        self,
        draft: Draft,
        launch: Launch,
        layout_keys: Sequence[tuple[int, Hashable]],
        layout_key: Callable[[Any], Hashable],
        values: tuple[Any, ...],
        rounded: Range,
        items: Range,
    ) -> None:
        self.launch, self.values, self.rounded, self.items = launch, values, rounded, items
        self._captures, self._writable = draft.captures, draft.launcher.writable
        self.layout_keys, self.layout_key = layout_keys, layout_key
        self.positions = draft.arrays
        self._written = [n for n, x in enumerate(draft.arrays) if x in draft.written]

    def __call__(self, natives: Sequence[Any]) -> bool:
        layout_key = self.layout_key
        for n, expected in self.layout_keys:
            if layout_key(natives[n]) != expected:
                return False
        if not self.is_current():
            return False
        for n in self._written:
            if self._writable(natives[n]) is not natives[n]:
                return False
        self.launch(natives, self.values, self.rounded, self.items)
        return True

    def is_current(self) -> bool:
        """Return whether the values that the kernel captured are the same."""
        return self._captures.check() or self._captures.are_current()


def call_of(
    prepared: Prepared,
    launch: Launch,
    names: list[str],
    values: list[Any],
    rounded: Range,
    items: Range,
    layout_keys: Sequence[Hashable],
    layout_key: Callable[[Any], Hashable],
) -> Call:
    """Return the launch state for calls of one kind."""
    draft = prepared.draft
    natives = "".join(f"x{position}._native, " for position in draft.arrays)
    value_texts = [f"values[{n}]" for n in range(len(values))]
    for n, value in enumerate(draft.printed.values):
        if value.quantity in ARGUMENTS:
            value_texts[n] = argument_text(value, f"x{names.index(value.name)}")
    copied = " or ".join(
        f"writable(x{position}._native) is not x{position}._native" for position in draft.written
    )
    changed = ", ".join(f"x{position}" for position in draft.written)
    arguments = ", ".join(f"x{n}" for n in range(len(names)))
    has_scalars = any(value.quantity in ARGUMENTS for value in draft.printed.values)
    # The same tuple in all launches need not be set again.
    values_text = f"({''.join(f'{value}, ' for value in value_texts)})" if has_scalars else "values"
    launched = f"launch(({natives}), {values_text}, rounded, items)"
    make = _evaluate(
        f"lambda launch, writable, values, rounded, items: "
        f"lambda {arguments}: None if {copied} else ({launched}, ({changed}))"
    )

    constant = tuple(values)

    def bind(checked: Collection[int], *args: Any) -> BoundLaunch:
        pairs = zip(draft.arrays, enumerate(layout_keys), strict=True)
        expected = [pair for position, pair in pairs if position in checked]
        scalars = _evaluate(f"lambda values: lambda {arguments}: {values_text}")(constant)(*args)
        return BoundLaunch(draft, launch, expected, layout_key, scalars, rounded, items)

    return Call(
        make(launch, draft.launcher.writable, constant, rounded, items),
        draft.captures,
        tuple(draft.written),
        bind,
    )


def call_key(
    is_static: Sequence[bool], key_of: Callable[[Any, bool], Any]
) -> Callable[..., tuple[Any, ...]]:
    """Return a function that computes the cache key from ndrange, group and arguments.

    The key contains the device, dtype and layout of arrays and the types of scalars.
    """
    parts = []
    for n, static in enumerate(is_static):
        text = f"other(x{n}, {static})"
        if static:
            text = f'("static", (type(x{n}), x{n})) if type(x{n}) in (bool, int) else {text}'
        else:
            text = (
                f"(x{n}._dispatch, x{n}._dispatch.device._backend.layout_key(x{n}._native)) "
                f"if type(x{n}) is Array else float if type(x{n}) is float "
                f"else True if type(x{n}) is int and {-SMALL} < x{n} < {SMALL} else {text}"
            )
        parts.append(f"({text})")
    names = ", ".join(["size", "group", *(f"x{n}" for n in range(len(parts)))])
    # With their types, as comparing sequences of some types fails.
    sizes = [
        f"None if {range_name} is None else (type({range_name}), {range_name})"
        for range_name in ("size", "group")
    ]
    text = f"lambda {names}: ({', '.join([*sizes, *parts])})"
    # Generated: a loop makes launches 4 % slower, see benchmarks/user_kernels.py.
    return _codegen.evaluate(text, {"Array": Array, "other": key_of})  # type: ignore[no-any-return]


# Generated code saves a loop at each launch, see benchmarks/user_kernels.py.
_evaluate = functools.cache(_codegen.evaluate)
