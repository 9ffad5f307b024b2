"""Programs with a difference are shrunk and keep the same difference."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest
from portarray_conformance.programs.judge import Difference
from portarray_conformance.programs.program import Machine, Snap
from portarray_conformance.programs.references import NumPyReference
from portarray_conformance.programs.shrink import shrink
from portarray_conformance.programs.statements import read_statement
from portarray_conformance.target import STANDARD_DTYPES

DEFAULTS = {
    "real floating": "float64",
    "complex floating": "complex128",
    "integral": "int64",
    "indexing": "int64",
}


@pytest.fixture(scope="module")
def machine() -> Machine:
    return NumPyReference(list(STANDARD_DTYPES), DEFAULTS, strict=True).exact


def holds(snap: Snap | None, position: float) -> bool:
    return snap is not None and snap.kind == "array" and bool(np.any(snap.value == position))


def first(machine: Machine, statements: Sequence[str], position: float) -> Difference | None:
    """Return a difference at the first negative or abs whose result holds a number."""
    for line, (text, step) in enumerate(zip(statements, machine.trace(statements), strict=True)):
        function = read_statement(text).function
        value = [step.after.get(name) for name in read_statement(text).bound]
        if function in ("negative", "abs") and any(
            holds(statement, position) for statement in value
        ):
            return Difference(line, function, "value", "", "")
    return None


# What is looked for in the result of negative or abs, a program, and the smallest one.
PROGRAMS: dict[str, tuple[float, tuple[str, ...], tuple[str, ...]]] = {
    "statements that are not needed": (
        -2,
        (
            "a = xp.asarray([2])", "b = xp.ones(3)", "c = b + 1", "d = xp.flip(b)",
            "e = xp.negative(a)", "f = xp.sum(e)",
        ),
        ("a = xp.asarray([2])", "e = xp.negative(a)"),
    ),
    "arrays are written out": (
        -720,
        ("a = xp.arange(1, 7)", "b = xp.cumulative_prod(a)", "c = b[3:]", "d = xp.negative(c)"),
        ("c = xp.asarray([720])", "d = xp.negative(c)"),
    ),
    "other names": (
        -2,
        ("a = xp.asarray([2])", "b = a", "c = xp.negative(b)"),
        ("a = xp.asarray([2])", "c = xp.negative(a)"),
    ),
    "columns": (
        -7,
        ("a = xp.asarray([[1, 2, 3], [4, 7, 6]])", "b = xp.negative(a)"),
        ("a = xp.asarray([[7]])", "b = xp.negative(a)"),
    ),
    "numbers": (
        -1,
        ("a = xp.asarray([3.75, 5.0, 3.0])", "a[1:3:2] //= 4.625", "b = xp.negative(a)"),
        ("a = xp.asarray([1.0])", "b = xp.negative(a)"),
    ),
    "calls in calls, options, and slices": (
        5,
        ("b = xp.abs(xp.flip(xp.asarray([-5, 6], dtype=xp.int8, copy=True))[0:9:1])",),
        ("b = xp.abs(xp.asarray([5])[:])",),
    ),
    "every other statement": (
        -2,
        ("a = xp.asarray([2])", "b = a + a", "c = a + a", "d = xp.negative(a)"),
        ("a = xp.asarray([2])", "d = xp.negative(a)"),
    ),
    "columns of several rows": (
        -11,
        ("b = xp.negative(xp.sum(xp.asarray([[1, 4], [2, 7]]), axis=0))",),
        ("b = xp.negative(xp.sum(xp.asarray([[4], [7]])))",),
    ),
    # Without abs, negative shows another difference, of the same number.
    "the same difference": (
        3,
        ("a = xp.abs(xp.negative(xp.asarray([3, -3])))",),
        ("a = xp.abs(xp.negative(xp.asarray([3])))",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_shrunk(machine: Machine, name: str) -> None:
    line, statements, smallest = PROGRAMS[name]
    original = first(machine, statements, line)
    assert original is not None
    small, difference = shrink(
        statements,
        original,
        lambda statement: first(machine, statement, line),
        machine.trace,
        60.0,
    )
    assert small == smallest
    assert difference.key == original.key
    assert difference.line == len(small) - 1


def test_time_is_limited() -> None:
    statements = tuple(f"{name} = 1" for name in "abcdefgh")
    difference = Difference(5, "Constant", "value", "", "")
    tried = []

    def find(candidate: Sequence[str]) -> Difference | None:
        tried.append(candidate)
        time.sleep(0.02)
        return None

    assert shrink(statements, difference, find, lambda statement: [], 0.0) == (
        statements[:6],
        difference,
    )
    assert tried == []
    assert shrink(statements, difference, find, lambda statement: [], 0.03) == (
        statements[:6],
        difference,
    )
    assert 1 <= len(tried) <= 3
