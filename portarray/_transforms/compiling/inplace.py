"""Arguments that a compiled function changes in place."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from portarray._array.array import Array
from portarray._array.base import GUARDS, before_write
from portarray._array.extents import extent_of, meet
from portarray._array.results import wrapped

__all__ = ["assign", "check_changes"]


def assign(x: Array, native: Any) -> None:
    """Give an argument its new values, which may be in its memory already."""
    if native is not x._native:
        if x._dispatch.device._backend.immutable:
            x._native = native
        else:
            x[...] = wrapped(native, x._dispatch)


def check_changes(
    name: str, arrays: Sequence[Array], changed: Sequence[int], natives: Sequence[Any]
) -> None:
    """Call the guards of changed arguments; raise if one shares memory with another array.

    ``natives`` are those of the arguments, then what the function reads elsewhere.
    """
    blocks: dict[Any, list[int]] = {}
    for backend in {arrays[n]._dispatch.device._backend for n in changed}:
        for n, native in enumerate(natives if not backend.immutable else ()):
            block = backend.allocation(native) if native.__class__ is backend.array_type else None
            if block is not None:
                blocks.setdefault((backend, block), []).append(n)
    for numbers in [numbers for numbers in blocks.values() if len(numbers) > 1]:
        for n, m in itertools.permutations(numbers, 2):
            if n in changed and _overlap(natives[n], natives[m]):
                other = f"array {m} of its arguments" if m < len(arrays) else "one that it reads"
                raise ValueError(
                    f"{name}: array {n} of its arguments is changed in place, and shares memory "
                    f"with {other}\nHint: pass a copy of one of them"
                )
    if GUARDS:
        for n in changed:
            before_write(arrays[n])


def _overlap(x: Any, y: Any) -> bool:
    first, second = extent_of(x), extent_of(y)
    if first is None or second is None or first.memory != second.memory:
        return False
    return meet(first, second)
