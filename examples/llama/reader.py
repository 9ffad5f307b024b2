"""The package gguf's reader, whose lists of texts and numbers are read at once.

Its own makes several arrays of each of a tokenizer's 100,000 texts, which takes seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gguf import GGUFReader, GGUFValueType

__all__ = ["Reader", "contents"]


class Reader(GGUFReader):
    """A mapped GGUF file of this machine's byte order."""

    def _get_field_parts(
        self, orig_offs: int, raw_type: int
    ) -> tuple[int, list[Any], list[int], list[GGUFValueType]]:
        if raw_type != GGUFValueType.ARRAY or self.byte_order != "I":
            return super()._get_field_parts(orig_offs, raw_type)
        # type of the elements (uint32), their number (uint64), elements
        kind = GGUFValueType(int(self._get(orig_offs, np.uint32)[0]))
        count = int(self._get(orig_offs + 4, np.uint64)[0])
        start = orig_offs + 12
        values: list[Any]
        if kind == GGUFValueType.STRING:
            data: Any = self.data
            values, end = _read_strings(memoryview(data), start, count)
        elif kind == GGUFValueType.ARRAY:
            raise ValueError("a list of lists")
        else:
            numbers = self._get(start, self.gguf_scalar_to_np[kind], count)
            _check(numbers.size == count)
            values, end = numbers.tolist(), start + numbers.nbytes
        return end - orig_offs, [values], [0], [GGUFValueType.ARRAY, kind]


def contents(field: Any) -> Any:
    """Return the value of a field of a :class:`Reader`."""
    last = field.parts[-1]
    return last if type(last) is list else field.contents()


def _read_strings(data: memoryview, start: int, count: int) -> tuple[list[str], int]:
    """Return texts, each after its length (uint64), and where they end."""
    strings = []
    for _ in range(count):
        middle = start + 8
        end = middle + int.from_bytes(data[start:middle], "little")
        _check(end <= len(data) and middle <= len(data))
        strings.append(str(data[middle:end], "utf-8"))
        start = end
    return strings, start


def _check(condition: bool) -> None:
    if not condition:
        raise ValueError("a list goes on behind its end")
