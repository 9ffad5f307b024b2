"""Write ``portarray/_array/warm.py``: ``python tools/expand_warm.py``.

A call is *warm* when its function was called before with the same dtypes on the same device: then
one look-up in the dispatch table gives the function, the table of the result and the class that the
result must have. A Python call more is a tenth of a small addition, so the look-up stands inside
every function that needs it. Here it stands once: a line ``@warm TABLE[KEY](OPERANDS) else COLD``
becomes :data:`WARM`. A test compares the file with what this would write.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

FILE = Path(__file__).parents[1] / "portarray" / "_array" / "warm.py"

WARM = """\
try:
    function, result, known = {table}[{key}]
except KeyError:
    return {cold}
try:
    native = function({operands})
except Exception as error:  # noqa: BLE001  (translated and raised again)
    return {failed}(error, {key}, table, {operands})
if type(native) is known:
    out = base.new_uninitialized()
    out._native = native
    out._table = result
    return out
return cold.finished(native, result)
"""

SOURCE = '''\
"""The path of warm calls. Made by tools/expand_warm.py, which says how: change that file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from portarray._array import base, cold, indexing
from portarray._array.indexing import is_basic
from portarray._array.operands import from_scalar

if TYPE_CHECKING:
    from portarray._array.array import Array


def unary(name: str, x: Any) -> Array:
    """Call a function of one array and nothing else."""
    if type(x) is base.array_type:
        table = x._table
        @warm table.learned[name](x._native) else cold.learn(name, table, x._native)
    return unary(name, from_scalar(x, name))


def binary(name: str, x1: Any, x2: Any) -> Array:
    """Call a function of two operands, of which one may be a Python scalar."""
    if type(x1) is base.array_type:
        table = x1._table
        kind = type(x2)
        if kind is base.array_type:
            if table is x2._table:
                @warm table.learned[name](x1._native, x2._native) else cold.learn(name, table, x1._native, x2._native)
        elif kind in table.scalars or (kind is int and table.low <= x2 <= table.high):
            @warm table.learned_with_scalar[name](x1._native, x2) else cold.learn_with_scalar(name, table, x1._native, x2)
    elif type(x2) is base.array_type:
        table = x2._table
        kind = type(x1)
        if kind in table.scalars or (kind is int and table.low <= x1 <= table.high):
            @warm table.learned_with_scalar[name](x1, x2._native) else cold.learn_with_scalar(name, table, x1, x2._native)
    return cold.binary(name, x1, x2)


def operator(name: str) -> Callable[[Array, Any], Array]:
    """Return the method behind ``x op other``."""

    def method(self: Array, other: Any, /) -> Any:
        table = self._table
        kind = type(other)
        if kind is base.array_type:
            if table is other._table:
                @warm table.learned[name](self._native, other._native) else cold.learn(name, table, self._native, other._native)
        elif kind in table.scalars or (kind is int and table.low <= other <= table.high):
            @warm table.learned_with_scalar[name](self._native, other) else cold.learn_with_scalar(name, table, self._native, other)
        elif cold.is_foreign(other, name):
            return NotImplemented
        return cold.binary(name, self, other)

    return method


def reflected(name: str) -> Callable[[Array, Any], Array]:
    """Return the method behind ``other op x``."""

    def method(self: Array, other: Any, /) -> Any:
        table = self._table
        kind = type(other)
        if kind in table.scalars or (kind is int and table.low <= other <= table.high):
            @warm table.learned_with_scalar[name](other, self._native) else cold.learn_with_scalar(name, table, other, self._native)
        if cold.is_foreign(other, name):
            return NotImplemented
        return cold.binary(name, other, self)

    return method


def options(name: str, x: Any, /, *args: Any, **options: Any) -> Array:
    """Call a function of one array, with options that do not decide the dtype of the result."""
    if type(x) is base.array_type:
        table = x._table
        @warm table.learned_with_options[name](x._native, *args, **options) else cold.learn_with_options(name, table, (x._native, *args), options)
    return cold.apply(name, (x,), *args, **options)


def pair(name: str, x1: Any, x2: Any, /, **options: Any) -> Array:
    """Call a function of two arrays that keep their dtypes, with options like those above."""
    if type(x1) is base.array_type and type(x2) is base.array_type:
        table = x1._table
        if x2._table.device is table.device:
            @warm table.learned_with_options[name](x1._native, x2._native, **options) else cold.learn_with_options(name, table, (x1._native, x2._native), options)
    return cold.apply(name, (x1, x2), **options)


def aligned(name: str, x1: Any, x2: Any, /, **options: Any) -> Array:
    """Call a function of two arrays that are promoted, with options like those above."""
    if type(x1) is base.array_type and type(x2) is base.array_type:
        table = x1._table
        if x2._table is table:
            @warm table.learned_with_options[name](x1._native, x2._native, **options) else cold.learn_with_options(name, table, (x1._native, x2._native), options)
    return cold.promoted(name, (x1, x2), **options)


def joined(name: str, arrays: Sequence[Any], /, **options: Any) -> Array:
    """Call a function of one list of arrays, which are promoted."""
    first = arrays[0]
    if type(first) is base.array_type:
        table = first._table
        natives = [x._native for x in arrays if type(x) is base.array_type and x._table is table]
        if len(natives) == len(arrays):
            @warm table.learned_with_options[name](natives, **options) else cold.learn_with_options(name, table, (natives,), options)
    return cold.sequence(name, arrays, **options)


def getitem(x: Array, key: Any) -> Array:
    """Return ``x[key]``."""
    kind = type(key)
    if kind is int or kind is slice or (kind is tuple and is_basic(map(type, key)) and key.count(...) < 2):
        table = x._table
        @warm table.learned["getitem"](x._native, key) else indexing.learn_getitem(x, key)
    return indexing.getitem(x, key)
'''


def expanded() -> str:
    """Return the text of the file, not formatted."""
    lines: list[str] = []
    for line in SOURCE.splitlines():
        indent, mark, call_text = line.partition("@warm ")
        if not mark:
            lines.append(line)
            continue
        call, _, slow_path = call_text.partition(" else ")
        table, _, key_and_operands = call.partition("[")
        key, _, operands = key_and_operands.partition("](")
        failed = "indexing.failed" if "getitem" in key else "cold.failed"
        text = WARM.format(
            table=table, key=key, operands=operands[:-1], cold=slow_path, failed=failed
        )
        lines += [indent + row for row in text.splitlines()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(expanded(), "utf-8")
    subprocess.run(["ruff", "format", "--quiet", str(FILE)], check=True)
