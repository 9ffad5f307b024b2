"""Shrink a program that shows a difference while it still shows it."""

from __future__ import annotations

import ast
import copy
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from portarray_conformance.programs import values
from portarray_conformance.programs.judge import Difference
from portarray_conformance.programs.program import Step
from portarray_conformance.programs.statements import read_statement

Find = Callable[[Sequence[str]], Difference | None]
Trace = Callable[[Sequence[str]], Sequence[Step]]
# The largest array that replaces the statement that made it.
MOST_WRITTEN = 24


def shrink(
    statements: Sequence[str], original: Difference, find: Find, trace: Trace, seconds: float
) -> tuple[tuple[str, ...], Difference]:
    """Return a smaller program with the same kind of difference, and that difference.

    ``find`` returns the first difference of a program, ``trace`` its steps on the target. After
    some seconds, the smallest program so far is returned.
    """
    end = time.monotonic() + seconds
    best = tuple(statements[: original.line + 1])
    difference = original
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for candidate in itertools.chain(_shorter(best), _literal(best, trace), _smaller(best)):
            if time.monotonic() > end:
                break
            smaller = find(candidate)
            if smaller is not None and smaller.key == original.key:
                best, difference = tuple(candidate[: smaller.line + 1]), smaller
                changed = True
                break
    return best, difference


def _literal(statements: tuple[str, ...], trace: Trace) -> Iterator[tuple[str, ...]]:
    """Yield programs with one array written out, so that the statements behind it can go."""
    steps = trace(statements)
    for index in reversed(range(len(statements) - 1)):
        parsed = read_statement(statements[index])
        name = parsed.bound[0] if len(parsed.bound) == 1 else parsed.written
        snap = steps[index].after.get(name)
        if not parsed.read or steps[index].error is not None or snap is None:
            continue
        if snap.kind == "array" and 0 < snap.value.size <= MOST_WRITTEN:
            elements = [
                values.text_of_element(element) for element in snap.value.reshape(-1).tolist()
            ]
            text = values.nested(elements, snap.value.shape)
            line = f"{name} = xp.asarray({text}, dtype=xp.{snap.type_name})"
            if line != statements[index]:
                yield (*statements[:index], line, *statements[index + 1 :])


def _shorter(statements: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield programs of fewer statements: the largest steps first."""
    count = len(statements)
    size = count // 2
    while size:
        for start in range(0, count, size):
            if start + size < count:
                yield statements[:start] + statements[start + size :]
        size //= 2
    for index, text in enumerate(statements[:-1]):
        alias = re.fullmatch(r"(\w+) = (\w+)", text)
        if alias:
            new, old = alias.groups()
            following = [re.sub(rf"\b{new}\b", old, line) for line in statements[index + 1 :]]
            yield (*statements[:index], *following)


def _smaller(statements: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield programs of simpler statements."""
    for index in reversed(range(len(statements))):
        for text in simpler(statements[index]):
            yield (*statements[:index], text, *statements[index + 1 :])


def simpler(statement: str) -> Iterator[str]:
    """Yield statements that are simpler than this one."""
    try:
        tree = ast.parse(statement)
    except SyntaxError:
        return
    nodes = list(ast.walk(tree))
    tried = {statement}
    for index, node in enumerate(nodes):
        for edit in _edits(node):
            changed = copy.deepcopy(tree)
            again = list(ast.walk(changed))
            edit(again[index])
            try:
                text = ast.unparse(changed)
            except (ValueError, AttributeError, RecursionError):
                continue
            if text not in tried and len(text) <= len(statement):
                tried.add(text)
                yield text


Edit = Callable[[Any], None]


def _edits(node: ast.AST) -> Iterator[Edit]:
    """Yield changes of one node."""
    if isinstance(node, ast.Call):
        for index in range(len(node.keywords)):
            yield partial(_drop, "keywords", index)
    for name in ("value", "left", "right", "operand"):
        child = getattr(node, name, None)
        if isinstance(child, ast.Call) and child.args and isinstance(child.func, ast.Attribute):
            yield partial(_hoist, name)
    if isinstance(node, (ast.List, ast.Tuple)) and isinstance(node.ctx, ast.Load) and node.elts:
        if len(node.elts) > 2:
            yield partial(_halve, True)
            yield partial(_halve, False)
        for index, element in enumerate(node.elts):
            yield partial(_drop, "elts", index)
            if isinstance(element, ast.UnaryOp):
                yield partial(_unsigned, index)
        if all(isinstance(element, (ast.List, ast.Tuple)) for element in node.elts):
            for index in range(max(len(element.elts) for element in node.elts)):  # type: ignore[attr-defined]
                yield partial(_drop_column, index)
    if isinstance(node, ast.Slice):
        for name in ("lower", "upper", "step"):
            if getattr(node, name) is not None:
                yield partial(_set, name, None)
    if isinstance(node, ast.Constant) and not isinstance(node.value, (str, bytes, bool)):
        value = node.value
        if isinstance(value, (int, float)):
            for small in (0, 1, 2):
                if type(value) is int and value > small:
                    yield partial(_set, "value", small)
                if type(value) is float and value not in (0.0, 1.0, 2.0):
                    yield partial(_set, "value", float(small))
            if type(value) is float and value != int(value):
                yield partial(_set, "value", float(int(value)))
        elif isinstance(value, complex) and value != 1j:
            yield partial(_set, "value", 1j)


def _drop(field: str, index: int, node: ast.AST) -> None:
    items = getattr(node, field)
    if index < len(items):
        del items[index]


def _drop_column(index: int, node: ast.List | ast.Tuple) -> None:
    for row in node.elts:
        _drop("elts", index, row)


def _halve(first: bool, node: ast.List | ast.Tuple) -> None:
    half = len(node.elts) // 2
    node.elts[:] = node.elts[:half] if first else node.elts[half:]


def _hoist(field: str, node: ast.AST) -> None:
    setattr(node, field, getattr(node, field).args[0])


def _set(field: str, value: complex | None, node: ast.AST) -> None:
    setattr(node, field, value)


def _unsigned(index: int, node: ast.List | ast.Tuple) -> None:
    node.elts[index] = node.elts[index].operand  # type: ignore[attr-defined]
