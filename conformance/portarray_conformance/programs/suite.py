"""Runs the suite of programs on a target: draws, judges, shrinks, and counts what it found."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from portarray_conformance.programs.allowed import Allowed
from portarray_conformance.programs.corpus import corpus
from portarray_conformance.programs.generator import Drawn, Rules, draw_program
from portarray_conformance.programs.judge import Difference, References, judge
from portarray_conformance.programs.program import Machine, target_machine
from portarray_conformance.programs.references import find_reference, flushes, rules_of
from portarray_conformance.programs.shrink import shrink
from portarray_conformance.programs.statements import read_statement
from portarray_conformance.run import Result
from portarray_conformance.target import Target

PROGRAMS = 300
# Seconds spent on making the first program of one finding smaller, and all of a run together.
SHRINK_SECONDS = 4.0
SHRINK_TOTAL = 120.0
# Programs of one finding that are named.
NAMED = 5


@dataclass(slots=True)
class Finding:
    """One distinct difference: a function and a kind, how often, and the smallest program."""

    function: str
    kind: str
    programs: list[str] = field(default_factory=list)
    count: int = 0
    statements: tuple[str, ...] = ()
    difference: Difference | None = None

    def result(self, target: str) -> Result:
        """Return the finding as a result of the report."""
        difference = self.difference
        message = f"{self.count} programs, among them {', '.join(self.programs)}."
        if difference is not None:
            of = f" of {difference.variable}" if difference.variable else ""
            message = (
                f"{self.kind}{of} after the last line\n"
                f"got    {difference.got}\nwanted {difference.wanted}\n{message}"
            )
        return Result(
            function=self.function,
            chapter="programs",
            aspect=self.kind,
            target=target,
            served="",
            status="failed",
            seconds=0.0,
            examples=self.count,
            example=pasted(self.statements, target),
            message=message,
        )


def pasted(statements: Sequence[str], label: str) -> str:
    """Return a program as it can be pasted into Python."""
    text = "\n".join(statements)
    imports = ["import numpy as np"] if "np." in text else []
    if any(word in text for word in ("nan", "inf")):
        imports.append("from math import inf, nan")
    if label.startswith("module "):
        head = [f"import {label.removeprefix('module ')} as xp", *imports]
        return "\n".join([*head, *statements])
    head = ["import portarray as xp", *imports, f"xp.set_default_device({label!r})"]
    return "\n".join([*head, *statements])


@dataclass(slots=True)
class Programs:
    """The suite on one target."""

    target: Target
    machine: Machine
    references: References
    rules: Rules
    flushes: bool
    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)
    called: Counter[str] = field(default_factory=Counter)
    failed: set[str] = field(default_factory=set)
    shrunk_seconds: float = 0.0

    @classmethod
    def on(cls, target: Target) -> Programs:
        """Return the suite for a target; it must be used inside the target's scope."""
        machine = target_machine(target)
        flushed = flushes(machine)
        rules = rules_of(target, machine, subnormal=not flushed)
        references = find_reference(target, rules)
        return cls(target, machine, references, rules, flushed)

    def find(self, statements: Sequence[str]) -> Difference | None:
        """Run a program on the target and return its first difference."""
        return self.judged(statements, None)

    def judged(self, statements: Sequence[str], drawn: Drawn | None) -> Difference | None:
        """Run a program on the target and return its first difference from the reference."""
        got = self.machine.trace(statements)
        allowed = Allowed(flushes=self.flushes)
        wanted = None if drawn is None else drawn.steps
        return judge(statements, got, self.references, allowed, wanted)

    def draw(self, seed: int, number: int) -> Drawn:
        """Return a program of a seed."""
        return draw_program(seed, number, self.references.exact, self.rules)

    def check(self, name: str, statements: Sequence[str], drawn: Drawn | None) -> Result | None:
        """Check one program; return a result where it found what no other had found."""
        for statement in statements:
            self.called[read_statement(statement).function] += 1
        difference = self.judged(statements, drawn)
        if difference is None:
            return None
        self.failed.add(name)
        finding = self.findings.get(difference.key)
        new = finding is None
        if finding is None:
            finding = self.findings[difference.key] = Finding(*difference.key)
            finding.statements, finding.difference = self.smaller(statements, difference)
        finding.count += 1
        if len(finding.programs) < NAMED:
            finding.programs.append(name)
        return finding.result(self.target.label) if new else None

    def smaller(
        self, statements: Sequence[str], difference: Difference
    ) -> tuple[tuple[str, ...], Difference]:
        """Return the program made smaller, while there is time for that."""
        left = min(SHRINK_SECONDS, SHRINK_TOTAL - self.shrunk_seconds)
        if left <= 0:
            return tuple(statements[: difference.line + 1]), difference
        began = time.monotonic()
        found = shrink(statements, difference, self.find, self.machine.trace, left)
        self.shrunk_seconds += time.monotonic() - began
        return found

    def results(self) -> list[Result]:
        """Return the findings, the most frequent first, and a passed result for the rest."""
        label = self.target.label
        found = sorted(self.findings.values(), key=lambda one: -one.count)
        results = [one.result(label) for one in found]
        bad = {one.function for one in found}
        for function, count in sorted(self.called.items()):
            if function not in bad:
                results.append(
                    Result(function, "programs", "drawn", label, "", "passed", 0.0, count)
                )
        return results


def run_programs(
    target: Target,
    count: int,
    seed: int,
    *,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the corpus and drawn programs on a target.

    Parameters
    ----------
    target : Target
    count, seed : int
        How many programs are drawn, and what draws them.
    on_result : callable, optional
        Called once for each program: with what it found, where no other had found that.

    Returns
    -------
    list of Result
        One for each distinct difference, and one for each function without any.
    """
    passed = Result("programs", "programs", "drawn", target.label, "", "passed", 0.0)
    with warnings.catch_warnings(), target.scope():
        warnings.simplefilter("ignore")
        suite = Programs.on(target)
        for name, statements in corpus(suite.rules.portarray, suite.rules.dtypes):
            result = suite.check(name, statements, None)
            if on_result is not None:
                on_result(result or passed)
        for number in range(count):
            drawn = suite.draw(seed, number)
            result = suite.check(f"{seed}:{number}", drawn.statements, drawn)
            if on_result is not None:
                on_result(result or passed)
            if number % 1000 == 999:
                target.forget()
    return suite.results()
