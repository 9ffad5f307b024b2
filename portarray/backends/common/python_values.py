"""Arguments of ``arange`` and ``asarray``: Python numbers and nested sequences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["Spaced", "check_ends", "spaced", "with_values", "wrapped_64"]


class Limits(Protocol):
    """The range in a library's ``iinfo``."""

    @property
    def min(self) -> int:
        """The smallest number."""

    @property
    def max(self) -> int:
        """The largest number."""


class Spaced(NamedTuple):
    """The normalized arguments of an ``arange``; ``whole`` if all are integers."""

    start: Any
    step: Any
    size: int
    whole: bool


def spaced(start: float, stop: float | None, step: float) -> Spaced:
    """Return the normalized arguments of an ``arange``.

    Raises
    ------
    ValueError
        If the step is 0.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be 0")
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        return Spaced(start, step, len(range(start, stop, step)), whole=True)
    return Spaced(start, step, max(math.ceil((stop - start) / step), 0), whole=False)


def check_ends(numbers: Spaced, dtype: object, limits: Limits) -> None:
    """Raise OverflowError if the first or last integer is beyond a dtype's limits."""
    if not numbers.size:
        return
    for end in (numbers.start, numbers.start + (numbers.size - 1) * numbers.step):
        if not limits.min <= end <= limits.max:
            raise OverflowError(
                f"arange: {end} does not fit {dtype} ({limits.min} to {limits.max})"
            )


def wrapped_64(value: int) -> int:
    """Return an integer modulo 2**64 as int64 holds it."""
    return (value + 2**63) % 2**64 - 2**63


def with_values(
    items: Sequence[Any], is_array: Callable[[Any], bool], value_of: Callable[[Any], Any]
) -> list[Any]:
    """Return nested sequences with a library's arrays replaced by their values."""
    return [
        with_values(item, is_array, value_of)
        if isinstance(item, (list, tuple))
        else value_of(item)
        if is_array(item)
        else item
        for item in items
    ]
