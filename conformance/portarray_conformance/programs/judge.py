"""Compares a target's run of a program with the reference, statement by statement.

After each statement the reference takes over the target's values where these are within bounds, so
that every statement is judged from the inputs that the target had: errors are followed through the
program, and a small one never turns into another branch, index or rank.

The bound of a statement comes from running it in noisy references, whose functions perturb their
results by what each function may be off. How far the noisy results spread is how far the target's
may be off; where they disagree about more than digits (a comparison, an index, a shape) nothing is
compared.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from portarray_conformance.programs.allowed import Allowed, loose_parts
from portarray_conformance.programs.compare import Comparison, text_of
from portarray_conformance.programs.factors import FACTORS, decomposed, wrong_factors
from portarray_conformance.programs.program import Machine, Raised, Snap, Step
from portarray_conformance.programs.statements import Aliases, read_statement

NOISES = 6
# What the reference raises where the next step depends on a value that is left open.
UNSURE = "Unsure"


class References(Protocol):
    """The reference, and noisy ones made on demand."""

    exact: Machine
    strict_errors: bool

    def noisy(self, seed: int) -> Machine:
        """Return a reference whose functions perturb their results."""

    def restore(self, machine: Machine, snap: Snap) -> Any:
        """Return a value of that machine's namespace from its snapshot."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between a target's run of a program and the reference's."""

    line: int
    function: str
    kind: str
    got: str
    wanted: str
    variable: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What findings are counted by: the function, and the kind of difference."""
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
    wanted: Sequence[Step] | None = None,
) -> Difference | None:
    """Return the first difference, or None.

    Parameters
    ----------
    wanted
        What the reference made of the program, where that is known: equal runs are told at once.
    """
    if wanted is not None and _all_same(statements, got, wanted, references.strict_errors):
        return None
    return _Judge(statements, references, allowed).run(got)


def _all_same(
    statements: Sequence[str], got: Sequence[Step], wanted: Sequence[Step], strict: bool
) -> bool:
    aliases = Aliases()
    for statement, one, other in zip(statements, got, wanted, strict=True):
        if (one.error is None) != (other.error is None):
            return False
        both = one.error is not None and other.error is not None
        if both and strict and error_difference(one.error, other.error):  # type: ignore[arg-type]
            return False
        aliases.step(statement, one.error is not None)
        for name, snap in one.after.items():
            if name in aliases.undetermined:
                continue
            if name not in other.after or not snap.same(other.after[name]):
                return False
    return True


def error_difference(got: Raised, wanted: Raised) -> str:
    """Say how two exceptions differ, or return an empty text."""
    one, other = error_name(got), error_name(wanted)
    if not {other, *wanted.also}.intersection(got.bases):
        return f"{one} for {other}"
    if got.module.split(".")[0] not in ("builtins", "portarray", "numpy"):
        return f"{got.module}.{got.name} leaks"
    return ""


class _Judge:
    """The slow way: statement by statement, with the target's values as inputs."""

    def __init__(self, statements: Sequence[str], references: References, allowed: Allowed) -> None:
        self.statements = statements
        self.references = references
        self.allowed = allowed
        self.machine = references.exact
        self.variables = self.machine.environment()
        self.aliases = Aliases()
        # What was undetermined before the statement that is judged.
        self.unknown: set[str] = set()

    def run(self, got: Sequence[Step]) -> Difference | None:
        before: Mapping[str, Snap] = {}
        for line, (statement, step) in enumerate(zip(self.statements, got, strict=True)):
            if self.aliases.uses_undetermined(statement):
                return None
            found = self.check(line, statement, step, before)
            if found is not None:
                return found
            before = step.after
        return None

    def check(
        self, line: int, statement: str, step: Step, before: Mapping[str, Snap]
    ) -> Difference | None:
        function = read_statement(statement).function

        def differs(kind: str, got: str, wanted: str, variable: str = "") -> Difference:
            return Difference(line, function, kind, got, wanted, variable)

        self.unknown = set(self.aliases.undetermined)
        error = self.machine.run(statement, self.variables)
        mine = self.machine.snapshot(self.variables)
        self.allowed.begin(statement, before, mine)
        if error is not None and error.name == UNSURE:
            self.forget(statement, step)
            return None
        if (step.error is None) != (error is None):
            if self.unstable_error(statement, before, error):
                self.forget(statement, step)
                return None
            if error is not None:
                bound = read_statement(statement).bound
                value = step.after[bound[0]] if bound and bound[0] in step.after else None
                shown = text_of(value) if value is not None else "no exception"
                return differs(
                    f"no exception for {error_name(error)}", shown, f"{error.name}: {error.text}"
                )
            assert step.error is not None
            bound = read_statement(statement).bound
            value = mine[bound[0]] if bound and bound[0] in mine else None
            shown = text_of(value) if value is not None else "no exception"
            return differs(
                f"{error_name(step.error)} for a result",
                f"{step.error.name}: {step.error.text}",
                shown,
            )
        if step.error is not None and error is not None and self.references.strict_errors:
            problem = error_difference(step.error, error)
            if problem and not self.two_mistakes(statement, before, step.error):
                return differs(
                    problem,
                    f"{step.error.name}: {step.error.text}",
                    f"{error.name}: {error.text}",
                )

        touched = self.aliases.step(statement, error is not None)
        return self.compare(statement, step, before, mine, touched, differs)

    def forget(self, statement: str, step: Step) -> None:
        """Go on after a statement whose answer is left open, with the target's values."""
        known = read_statement(statement)
        self.aliases.step(statement, failed=False)
        if step.error is not None:
            self.aliases.undetermined.update((*known.bound, known.written))
            return
        for name in (*known.bound, known.written):
            if name in step.after:
                self.variables[name] = self.references.restore(self.machine, step.after[name])

    def compare(
        self,
        statement: str,
        step: Step,
        before: Mapping[str, Snap],
        mine: Mapping[str, Snap],
        touched: set[str],
        differs: Callable[..., Difference],
    ) -> Difference | None:
        known = read_statement(statement)
        bound, written = known.bound, known.written
        samples: list[Mapping[str, Snap]] | None = None
        for name, snap in step.after.items():
            if name in touched:
                problem = _neither(snap, before.get(name), mine.get(name))
                if problem:
                    return differs("a view is neither old nor new", text_of(snap), problem, name)
                continue
            if name in self.aliases.undetermined:
                continue
            want = mine.get(name)
            if want is not None and snap.same(want):
                if want.unsure is not None:
                    self.take_over(name, snap)
                continue
            if name not in bound and name != written:
                kind = "left behind" if step.error is not None else "another variable changed"
                return differs(kind, text_of(snap), text_of(want), name)
            if step.error is not None:
                return differs("left behind", text_of(snap), text_of(want), name)
            assert want is not None
            if samples is None:
                samples = self.samples(statement, before)
            noisy = [sample[name] for sample in samples if name in sample]
            comparison = Comparison(self.allowed, loose_parts(statement))
            problem = comparison.problem(snap, want, noisy)
            problem = problem or self.factors(statement, snap, before)
            if problem:
                return differs(problem, comparison.got or text_of(snap),
                               comparison.wanted or text_of(want), name)  # fmt: skip
            self.take_over(name, snap)
        missing = [name for name in mine if name not in step.after]
        if missing:
            return differs("a variable is missing", "", text_of(mine[missing[0]]), missing[0])
        return None

    def factors(self, statement: str, snap: Snap, before: Mapping[str, Snap]) -> str:
        """Say what is wrong with factors of a matrix, where the statement made such."""
        known = read_statement(statement)
        text = decomposed(statement) if known.function in FACTORS else ""
        if not text:
            return ""
        variables = self.given(self.machine, known.read, before)
        if self.machine.run(f"x = {text}", variables) is not None:
            return ""
        return wrong_factors(known.function, self.machine.snap(variables["x"]), snap)

    def given(
        self, machine: Machine, names: Iterable[str], before: Mapping[str, Snap]
    ) -> dict[str, Any]:
        """Return variables of a machine with the target's values before the statement."""
        variables = machine.environment()
        for name in names:
            if name in before and name not in self.unknown:
                variables[name] = self.references.restore(machine, before[name])
        return variables

    def take_over(self, name: str, snap: Snap) -> None:
        """Give the reference the target's value of a variable."""
        self.variables[name] = self.references.restore(self.machine, snap)

    def samples(self, statement: str, before: Mapping[str, Snap]) -> list[Mapping[str, Snap]]:
        """Return what the statement gives in noisy references, from the target's inputs."""
        found: list[Mapping[str, Snap]] = []
        known = read_statement(statement)
        bound, written = known.bound, known.written
        wanted = (*known.read, *bound, written)
        for seed in range(NOISES):
            machine = self.references.noisy(seed)
            variables = self.given(machine, dict.fromkeys(wanted), before)
            if machine.run(statement, variables) is not None:
                continue
            found.append(
                {n: machine.snap(variables[n]) for n in (*bound, written) if n in variables}
            )
        return found

    def two_mistakes(self, statement: str, before: Mapping[str, Snap], got: Raised) -> bool:
        """Say whether a statement makes two mistakes, of which the target names the other one.

        One mistake is put right at a time: the shapes, the dtypes, or the key of an assignment. If
        the reference then raises what the target does, that is a mistake too.
        """
        for text, inputs in corrected(statement, before):
            variables = self.given(self.machine, inputs, inputs)
            error = self.machine.run(text, variables)
            if error is not None and error_name(error) in got.bases:
                return True
        return False

    def unstable_error(
        self, statement: str, before: Mapping[str, Snap], error: Raised | None
    ) -> bool:
        """Say whether noisy references disagree about whether the statement raises."""
        failures = NOISES - len(self.samples(statement, before))
        return failures != (0 if error is None else NOISES)


def corrected(
    statement: str, before: Mapping[str, Snap]
) -> Iterator[tuple[str, Mapping[str, Snap]]]:
    """Yield a statement and its inputs with one kind of mistake put right."""
    known = read_statement(statement)
    arrays = [name for name in dict.fromkeys(known.read) if _is_array(before, name)]
    inputs = {name: before[name] for name in known.read if name in before}
    if len(arrays) > 1:
        for model in arrays:
            like = before[model]
            same_shape, same_dtype = dict(inputs), dict(inputs)
            for name in arrays:
                own = before[name]
                ones = np.ones(like.value.shape, own.value.dtype)
                same_shape[name] = Snap("array", own.what, ones)
                same_dtype[name] = Snap(
                    "array", like.what, np.ones(own.value.shape, like.value.dtype)
                )
            yield statement, same_shape
            yield statement, same_dtype
    if known.written:
        node = ast.parse(statement).body[0]
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
        for target in targets:
            if isinstance(target, ast.Subscript):
                yield ast.unparse(target), inputs
                target.slice = ast.Constant(...)
        yield ast.unparse(node), inputs


def _is_array(before: Mapping[str, Snap], name: str) -> bool:
    return name in before and before[name].kind == "array"


def _neither(got: Snap, old: Snap | None, new: Snap | None) -> str:
    """Return a text where an undetermined array holds elements that are neither old nor new."""
    if old is None or new is None or got.kind != "array":
        return ""
    if old.kind != "array" or got.value.shape != old.value.shape or got.what != old.what:
        return text_of(old)
    return ""
