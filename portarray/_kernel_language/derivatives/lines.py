"""Lines of an adjoint, and their simplification: copies of cotangents, additions to zero."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator

Lines = list[str]

_ASSIGNMENT = re.compile(r"( *)(d_\w+) = (.*)")
_COTANGENT = re.compile(r"d_\w+")
_ZERO = re.compile(r"kl\.\w+\(0\)|0\.0")


def indented(lines: Iterable[str]) -> Lines:
    """Return lines as the body of a compound statement."""
    return [f"    {line}" for line in lines]


def simplified(lines: Lines, cotangents: Collection[str]) -> Lines:
    """Return statements without copies of cotangents, and without zeros to which is added.

    A compiler does not leave such zeros out, as they change -0.0, and then does not see that the
    cotangent of a sum is the same in all iterations of a loop.
    """
    out = list(lines)
    for rule, is_value in ((_leave_out_zero, _ZERO), (_leave_out_copy, _COTANGENT)):
        for n in range(len(out)):
            match = _ASSIGNMENT.fullmatch(out[n])
            if match and match[2] in cotangents and is_value.fullmatch(match[3]):
                rule(out, n, *match.groups())
    lines = [line for line in out if line]
    complete: Lines = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        complete.append(line)
        if line.endswith(":") and _indent(following) <= _indent(line):
            complete.append(f"{' ' * _indent(line)}    pass")
    return complete


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _leave_out_zero(lines: Lines, n: int, indent: str, name: str, _: str) -> None:
    """Have the next use of a variable replace its zero, if that adds to it."""
    added = f"{indent}{name} = {name} + "
    for m in _following(lines, n, indent):
        if name in names_in(lines[m]):
            value = lines[m].removeprefix(added)
            if value != lines[m] and name not in names_in(value):
                lines[n], lines[m] = "", f"{indent}{name} = {value}"
                if f"{indent}{value} = {name}" in lines[:n][-1:]:
                    lines[m] = ""  # the variable has this value already
            return
        if _jumps(lines[m]):
            return


def _leave_out_copy(lines: Lines, n: int, indent: str, copy: str, name: str) -> None:
    """Replace a copy by what it is a copy of, if nothing changes that before a use."""
    uses = [m for m, line in enumerate(lines) if m != n and copy in names_in(line)]
    following = []
    for m in _following(lines, n, indent):
        following.append(m)
        if not {copy, name}.isdisjoint(_targets(lines[m])):
            if lines[m].startswith(f"{indent} "):  # perhaps in a loop, whose next iteration sees it
                return
            break
    if set(uses) <= set(following) and not any(copy in _targets(lines[m]) for m in uses):
        lines[n] = ""
        for m in uses:
            line = re.sub(rf"\b{copy}\b", name, lines[m])
            lines[m] = line if line.strip() != f"{name} = {name}" else ""


def _following(lines: Lines, n: int, indent: str) -> Iterator[int]:
    """Yield the other lines up to the end of a line's block."""
    for m in range(n + 1, len(lines)):
        if lines[m] and not lines[m].startswith(indent):
            return
        if lines[m]:
            yield m


def _jumps(line: str) -> bool:
    return line.strip() in ("break", "continue", "return")


def _targets(line: str) -> frozenset[str]:
    """Return the cotangents that a line assigns to."""
    match = _ASSIGNMENT.fullmatch(line)
    return frozenset((match[2],)) if match is not None else frozenset()


@functools.lru_cache(maxsize=4096)
def names_in(line: str) -> frozenset[str]:
    """Return the words of a line that may be names."""
    return frozenset("".join(c if c.isidentifier() or c.isdigit() else " " for c in line).split())
