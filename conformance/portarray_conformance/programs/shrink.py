"""Makes a program that shows a difference smaller while it still shows it."""

from __future__ import annotations

import ast
import copy
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence

from portarray_conformance.programs import values
from portarray_conformance.programs.judge import Difference
from portarray_conformance.programs.program import Step
from portarray_conformance.programs.statements import read_statement

Find = Callable[[Sequence[str]], Difference | None]
Trace = Callable[[Sequence[str]], Sequence[Step]]
# The largest array that is written out in the place of what made it.
MOST_WRITTEN = 24


def shrink(
    statements: Sequence[str], found: Difference, find: Find, trace: Trace, seconds: float
) -> tuple[tuple[str, ...], Difference]:
    """Return a smaller program with the same kind of difference, and that difference.

    Parameters
    ----------
    find
        Runs a program on the target and the reference and returns the first difference.
    trace
        Runs a program on the target and returns what each statement leaves behind.
    seconds
        After which the smallest one so far is returned.
    """
    end = time.monotonic() + seconds
    best = tuple(statements[: found.line + 1])
    difference = found
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for candidate in itertools.chain(_shorter(best), _literal(best, trace), _smaller(best)):
            if time.monotonic() > end:
                break
            other = find(candidate)
            if other is not None and other.key == found.key:
                best, difference = tuple(candidate[: other.line + 1]), other
                changed = True
                break
    return best, difference


def _literal(statements: tuple[str, ...], trace: Trace) -> Iterator[tuple[str, ...]]:
    """Yield programs in which an array is written out, so that what made it can go."""
    steps = trace(statements)
    for place in reversed(range(len(statements) - 1)):
        known = read_statement(statements[place])
        name = known.bound[0] if len(known.bound) == 1 else known.written
        snap = steps[place].after.get(name)
        if not known.read or steps[place].error is not None or snap is None:
            continue
        if snap.kind == "array" and 0 < snap.value.size <= MOST_WRITTEN:
            elements = [values.text_of_element(one) for one in snap.value.reshape(-1).tolist()]
            text = values.nested(elements, snap.value.shape)
            line = f"{name} = xp.asarray({text}, dtype=xp.{snap.what})"
            if line != statements[place]:
                yield (*statements[:place], line, *statements[place + 1 :])


def _shorter(statements: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield programs of fewer statements: the largest steps first."""
    count = len(statements)
    size = count // 2
    while size:
        for start in range(0, count, size):
            if start + size < count:
                yield statements[:start] + statements[start + size :]
        size //= 2
    for place, text in enumerate(statements[:-1]):
        alias = re.fullmatch(r"(\w+) = (\w+)", text)
        if alias:
            new, old = alias.groups()
            rest = [re.sub(rf"\b{new}\b", old, one) for one in statements[place + 1 :]]
            yield (*statements[:place], *rest)


def _smaller(statements: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield programs of simpler statements."""
    for place in reversed(range(len(statements))):
        for text in simpler(statements[place]):
            yield (*statements[:place], text, *statements[place + 1 :])


def simpler(statement: str) -> Iterator[str]:
    """Yield statements that are simpler than this one."""
    try:
        tree = ast.parse(statement)
    except SyntaxError:
        return
    nodes = list(ast.walk(tree))
    seen = {statement}
    for number, node in enumerate(nodes):
        for edit in _edits(node):
            changed = copy.deepcopy(tree)
            again = list(ast.walk(changed))
            edit(again[number])
            try:
                text = ast.unparse(changed)
            except (ValueError, AttributeError, RecursionError):
                continue
            if text not in seen and len(text) <= len(statement):
                seen.add(text)
                yield text


Edit = Callable[[ast.AST], None]


def _edits(node: ast.AST) -> Iterator[Edit]:
    """Yield changes of one node."""
    if isinstance(node, ast.Call):
        for place in range(len(node.keywords)):
            yield _drop("keywords", place)
    for name in ("value", "left", "right", "operand"):
        child = getattr(node, name, None)
        if isinstance(child, ast.Call) and child.args and isinstance(child.func, ast.Attribute):
            yield _hoist(name)
    if isinstance(node, (ast.List, ast.Tuple)) and isinstance(node.ctx, ast.Load) and node.elts:
        if len(node.elts) > 2:
            yield _halve(first=True)
            yield _halve(first=False)
        for place, one in enumerate(node.elts):
            yield _drop("elts", place)
            if isinstance(one, ast.UnaryOp):
                yield _unsigned(place)
        if all(isinstance(one, (ast.List, ast.Tuple)) for one in node.elts):
            for place in range(max(len(one.elts) for one in node.elts)):  # type: ignore[attr-defined]
                yield _drop_column(place)
    if isinstance(node, ast.Slice):
        for name in ("lower", "upper", "step"):
            if getattr(node, name) is not None:
                yield _clear(name)
    if isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes, bool)):
        value = node.value
        if isinstance(value, (int, float)):
            for small in (0, 1, 2):
                if type(value) is int and value > small:
                    yield _constant(small)
                if type(value) is float and value not in (0.0, 1.0, 2.0):
                    yield _constant(float(small))
            if type(value) is float and value != int(value):
                yield _constant(float(int(value)))
        elif isinstance(value, complex) and value != 1j:
            yield _constant(1j)


def _drop(field: str, place: int) -> Edit:
    def edit(node: ast.AST) -> None:
        items = getattr(node, field)
        if place < len(items):
            del items[place]

    return edit


def _drop_column(place: int) -> Edit:
    def edit(node: ast.AST) -> None:
        for one in node.elts:  # type: ignore[attr-defined]
            if place < len(one.elts):
                del one.elts[place]

    return edit


def _halve(*, first: bool) -> Edit:
    def edit(node: ast.AST) -> None:
        items = node.elts  # type: ignore[attr-defined]
        half = len(items) // 2
        items[:] = items[:half] if first else items[half:]

    return edit


def _hoist(field: str) -> Edit:
    def edit(node: ast.AST) -> None:
        setattr(node, field, getattr(node, field).args[0])

    return edit


def _clear(field: str) -> Edit:
    def edit(node: ast.AST) -> None:
        setattr(node, field, None)

    return edit


def _constant(value: complex) -> Edit:
    def edit(node: ast.AST) -> None:
        node.value = value  # type: ignore[attr-defined]

    return edit


def _unsigned(place: int) -> Edit:
    def edit(node: ast.AST) -> None:
        node.elts[place] = node.elts[place].operand  # type: ignore[attr-defined]

    return edit
