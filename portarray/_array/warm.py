"""The path of a warm call, written once.

A call is *warm* when its function was called before with the same dtypes on the same device: then
one look-up in the dispatch table gives the function, the table of the result and the class that the
result must have. A Python call more is a tenth of a small addition, so the look-up stands inside
every function that needs it; to write it once, those functions are made from texts in which a line
``@warm TABLE.MEMORY[KEY](OPERANDS) else COLD`` stands for :data:`_WARM`.
"""

from __future__ import annotations

import linecache
import re
from typing import Any

__all__ = ["expand"]

_WARM = """\
try:
    function, result, known = {memory}[{key}]
except KeyError:
    return {cold}
try:
    native = function({operands})
except Exception as error:
    return failed(error, {key}, table, {operands})
if type(native) is known:
    out = base.new_uninitialized()
    out._native = native
    out._table = result
    return out
return finished(native, result)
"""

_LINE = re.compile(r"^( *)@warm (table\.\w+)\[(.*?)\]\((.*)\) else (.*)$", re.MULTILINE)


def expand(source: str, **names: Any) -> dict[str, Any]:
    """Return the functions of a text, which finds the names given as its globals.

    Among them must be ``base``, ``finished(native, table)``, which wraps any result, and
    ``failed(error, key, table, *operands)``, which raises or returns another result.
    """

    def write_out(found: re.Match[str]) -> str:
        indent, memory, key, operands, cold = found.groups()
        text = _WARM.format(memory=memory, key=key, operands=operands, cold=cold)
        return "\n".join(indent + line for line in text.splitlines())

    text = _LINE.sub(write_out, source)
    file = f"<expanded by {__name__}: {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)  # tracebacks
    made: dict[str, Any] = {"__name__": __name__, **names}
    exec(compile(text, file, "exec"), made)  # noqa: S102 - the text stands beside its callers
    return made
