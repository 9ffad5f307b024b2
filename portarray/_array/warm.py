"""Code generation for the fast path of calls.

A call is *warm* if its function was called before with the same dtypes on the same device: one
look-up in the dispatch table gives the function, and the table and class of the result. A further
Python call would cost a tenth of a small addition, so the look-up is inlined: functions are
compiled from source in which a line ``@warm TABLE.MEMORY[KEY](OPERANDS) else COLD`` expands to
:data:`_WARM`.
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
    """Compile source and return its functions; the keywords are their globals.

    They must include ``base``, ``finished(native, table)``, which wraps any result, and
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
    exec(compile(text, file, "exec"), made)  # noqa: S102 - source constants of this package
    return made
