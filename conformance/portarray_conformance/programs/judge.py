"""Compare a target's run of a program with the reference, statement by statement.

After each statement the reference takes over the target's values where these are within bounds, so
that every statement is judged from the inputs that the target had: errors are followed through the
program, and a small one never turns into another branch, index or rank.

The bound of a statement comes from noisy references, whose functions perturb their results by the
allowed error of each function. The target may be as far off as the noisy results spread; if they
disagree about more than digits (a comparison, an index, a shape), nothing is compared.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from portarray_conformance.programs.allowed_differences import Allowed, is_lost_write, loose_parts
from portarray_conformance.programs.compare import Comparison, text_of
from portarray_conformance.programs.factors import FACTORS, decomposed, wrong_factors
from portarray_conformance.programs.program import Machine, Raised, Snap, Step, restore
from portarray_conformance.programs.statements import Aliases, read_statement

NOISES = 6
# The reference raises this if the next step depends on an undefined value.
UNDEFINED = "Undefined"


class References(Protocol):
    """The reference, and noisy ones made on demand."""

    exact: Machine
    strict_errors: bool

    def noisy(self, seed: int) -> Machine:
        """Return a reference whose functions perturb their results."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between a target's run of a program and the reference's."""

    line: int
    function: str
    kind: str
    got: str
    expected: str
    variable: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The identity of a finding: the function, and the kind of difference."""
        return self.function, self.kind


def error_name(error: Raised) -> str:
    """Return the class of an exception that programs catch: Python's, LinAlgError, AxisError."""
    for base in error.bases:
        if base in KNOWN_ERRORS:
            return base
    return error.name


KNOWN_ERRORS = frozenset((
    "LinAlgError", "AxisError", "AttributeError", "BufferError", "IndexError", "KeyError",
    "MemoryError", "NameError", "NotImplementedError", "OverflowError", "RecursionError",
    "RuntimeError", "SyntaxError", "TypeError", "UnboundLocalError", "UnicodeError",
    "ValueError", "ZeroDivisionError", "ArithmeticError", "AssertionError",
))  # fmt: skip


def judge(
    statements: Sequence[str],
    got: Sequence[Step],
    references: References,
    allowed: Allowed,
    expected: Sequence[Step] | None = None,
) -> Difference | None:
    """Return the first difference, or None.

    ``expected`` is the reference's run, if it is known: equal runs are accepted at once.
    """
    if expected is not None and _all_same(statements, got, expected, references.strict_errors):
        return None
    return _Judge(statements, references, allowed).run(got)


def _all_same(
    statements: Sequence[str], got: Sequence[Step], expected: Sequence[Step], strict: bool
) -> bool:
    aliases = Aliases()
    for statement, actual, reference in zip(statements, got, expected, strict=True):
        if (actual.error is None) != (reference.error is None):
            return False
        both = actual.error is not None and reference.error is not None
        if both and strict and error_difference(actual.error, reference.error):  # type: ignore[arg-type]
            return False
        aliases.step(statement, actual.error is not None)
        for name, snap in actual.after.items():
            if name in aliases.undetermined:
                continue
            if name not in reference.after or not snap.same(reference.after[name]):
                return False
    return True


def error_difference(got: Raised, expected: Raised) -> str:
    """Describe how two exceptions differ, or return an empty text."""
    actual, expected_name = error_name(got), error_name(expected)
    if not {expected_name, *expected.alternatives}.intersection(got.bases):
        return f"{actual} for {expected_name}"
    if got.module.split(".")[0] not in ("builtins", "portarray", "numpy"):
        return f"{got.module}.{got.name} leaks"
    return ""


class _Judge:
    """Judges statement by statement, with the target's values as inputs."""

    def __init__(self, statements: Sequence[str], references: References, allowed: Allowed) -> None:
        self.statements = statements
        self.references = references
        self.allowed = allowed
        self.machine = references.exact
        self.variables = self.machine.environment()
        self.aliases = Aliases()
        # The undetermined variables before the statement that is judged.
        self.unknown: set[str] = set()

    def run(self, got: Sequence[Step]) -> Difference | None:
        previous: Mapping[str, Snap] = {}
        for line, (statement, step) in enumerate(zip(self.statements, got, strict=True)):
            if self.aliases.uses_undetermined(statement):
                return None
            difference = self.check(line, statement, step, previous)
            if difference is not None:
                return difference
            previous = step.after
        return None

    def check(
        self, line: int, statement: str, step: Step, previous: Mapping[str, Snap]
    ) -> Difference | None:
        function = read_statement(statement).function

        def differs(kind: str, got: str, expected: str, variable: str = "") -> Difference:
            return Difference(line, function, kind, got, expected, variable)

        self.unknown = set(self.aliases.undetermined)
        error = self.machine.run(statement, self.variables)
        mine = self.machine.snapshot(self.variables)
        if error is not None and error.name == UNDEFINED:
            self.forget(statement, step)
            return None
        lost = step.error is not None and is_lost_write(str(step.error))
        if (step.error is None) != (error is None):
            if lost or self.unstable_error(statement, previous, error):
                self.forget(statement, step)
                return None
            bound = read_statement(statement).bound
            values = step.after if error is not None else mine
            value = values.get(bound[0]) if bound else None
            shown = text_of(value) if value is not None else "no exception"
            if error is not None:
                return differs(f"no exception for {error_name(error)}", shown, str(error))
            assert step.error is not None
            return differs(f"{error_name(step.error)} for a result", str(step.error), shown)
        if step.error is not None and error is not None and self.references.strict_errors:
            problem = error_difference(step.error, error)
            if problem and not (lost or self.two_mistakes(statement, previous, step.error)):
                return differs(problem, str(step.error), str(error))

        touched = self.aliases.step(statement, error is not None)
        return self.compare(statement, step, previous, mine, touched, differs)

    def forget(self, statement: str, step: Step) -> None:
        """Continue with the target's values after a statement with an undefined result."""
        parsed = read_statement(statement)
        self.aliases.step(statement, failed=False)
        if step.error is not None:
            self.aliases.undetermined.update((*parsed.bound, parsed.written))
            return
        for name in (*parsed.bound, parsed.written):
            if name in step.after:
                self.variables[name] = restore(self.machine, step.after[name])

    def compare(
        self,
        statement: str,
        step: Step,
        previous: Mapping[str, Snap],
        mine: Mapping[str, Snap],
        touched: set[str],
        differs: Callable[..., Difference],
    ) -> Difference | None:
        parsed = read_statement(statement)
        bound, written = parsed.bound, parsed.written
        samples: list[Mapping[str, Snap]] | None = None
        for name, snap in step.after.items():
            if name in touched:
                problem = _neither(snap, previous.get(name), mine.get(name))
                if problem:
                    return differs("a view is neither old nor new", text_of(snap), problem, name)
                continue
            if name in self.aliases.undetermined:
                continue
            want = mine.get(name)
            if want is not None and snap.same(want):
                if want.undefined is not None:
                    self.take_over(name, snap)
                continue
            if name not in bound and name != written:
                kind = "left behind" if step.error is not None else "another variable changed"
                return differs(kind, text_of(snap), text_of(want), name)
            if step.error is not None:
                return differs("left behind", text_of(snap), text_of(want), name)
            assert want is not None
            if samples is None:
                samples = self.samples(statement, previous)
            noisy = [sample[name] for sample in samples if name in sample]
            comparison = Comparison(self.allowed, loose_parts(statement))
            problem = comparison.problem(snap, want, noisy)
            problem = problem or self.factors(statement, snap, previous)
            if problem:
                return differs(problem, comparison.got or text_of(snap),
                               comparison.expected or text_of(want), name)  # fmt: skip
            self.take_over(name, snap)
        missing = [name for name in mine if name not in step.after]
        if missing:
            return differs("a variable is missing", "", text_of(mine[missing[0]]), missing[0])
        return None

    def factors(self, statement: str, snap: Snap, previous: Mapping[str, Snap]) -> str:
        """Describe what is wrong with the factors of a matrix, if the statement decomposes one."""
        parsed = read_statement(statement)
        text = decomposed(statement) if parsed.function in FACTORS else ""
        if not text:
            return ""
        variables = self.restored(self.machine, parsed.read, previous)
        if self.machine.run(f"x = {text}", variables) is not None:
            return ""
        return wrong_factors(parsed.function, self.machine.snap(variables["x"]), snap)

    def restored(
        self, machine: Machine, names: Iterable[str], previous: Mapping[str, Snap]
    ) -> dict[str, Any]:
        """Return variables of a machine with the target's values before the statement."""
        variables = machine.environment()
        for name in names:
            if name in previous and name not in self.unknown:
                variables[name] = restore(machine, previous[name])
        return variables

    def take_over(self, name: str, snap: Snap) -> None:
        """Give the reference the target's value of a variable."""
        self.variables[name] = restore(self.machine, snap)

    def samples(self, statement: str, previous: Mapping[str, Snap]) -> list[Mapping[str, Snap]]:
        """Run the statement in noisy references with the target's inputs."""
        samples: list[Mapping[str, Snap]] = []
        parsed = read_statement(statement)
        bound, written = parsed.bound, parsed.written
        names = (*parsed.read, *bound, written)
        for seed in range(NOISES):
            machine = self.references.noisy(seed)
            variables = self.restored(machine, dict.fromkeys(names), previous)
            if machine.run(statement, variables) is not None:
                continue
            samples.append(
                {n: machine.snap(variables[n]) for n in (*bound, written) if n in variables}
            )
        return samples

    def two_mistakes(self, statement: str, previous: Mapping[str, Snap], got: Raised) -> bool:
        """Return whether a statement makes two mistakes and the target reports the other one.

        One mistake is put right at a time: the shapes, the dtypes, or the key of an assignment. If
        the reference then raises the target's exception, that is right too.
        """
        for text, inputs in corrected(statement, previous):
            variables = self.restored(self.machine, inputs, inputs)
            error = self.machine.run(text, variables)
            if error is not None and error_name(error) in got.bases:
                return True
        return False

    def unstable_error(
        self, statement: str, previous: Mapping[str, Snap], error: Raised | None
    ) -> bool:
        """Return whether noisy references disagree about whether the statement raises."""
        failures = NOISES - len(self.samples(statement, previous))
        return failures != (0 if error is None else NOISES)


def corrected(
    statement: str, values: Mapping[str, Snap]
) -> Iterator[tuple[str, Mapping[str, Snap]]]:
    """Yield a statement and its inputs with one kind of mistake put right."""
    parsed = read_statement(statement)
    arrays = [
        name
        for name in dict.fromkeys(parsed.read)
        if name in values and values[name].kind == "array"
    ]
    inputs = {name: values[name] for name in parsed.read if name in values}
    if len(arrays) > 1:
        for model in arrays:
            like = values[model]
            same_shape, same_dtype = dict(inputs), dict(inputs)
            for name in arrays:
                operand = values[name]
                ones = np.ones(like.value.shape, operand.value.dtype)
                same_shape[name] = Snap("array", operand.type_name, ones)
                same_dtype[name] = Snap(
                    "array", like.type_name, np.ones(operand.value.shape, like.value.dtype)
                )
            yield statement, same_shape
            yield statement, same_dtype
    if parsed.written:
        node = ast.parse(statement).body[0]
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
        for target in targets:
            if isinstance(target, ast.Subscript):
                yield ast.unparse(target), inputs
                target.slice = ast.Constant(...)
        yield ast.unparse(node), inputs


def _neither(got: Snap, old: Snap | None, new: Snap | None) -> str:
    """Return a text if an undetermined array is neither the old nor the new one."""
    if old is None or new is None or got.kind != "array":
        return ""
    if old.kind != "array" or got.value.shape != old.value.shape or got.type_name != old.type_name:
        return text_of(old)
    return ""
