"""Run the suite of programs on a target: draw, judge, shrink, and count the findings."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from portarray_conformance.programs.allowed_differences import Allowed
from portarray_conformance.programs.corpus import corpus
from portarray_conformance.programs.generator import Drawn, ProgramOptions, draw_program
from portarray_conformance.programs.judge import Difference, References, judge
from portarray_conformance.programs.program import Machine, Step, target_machine
from portarray_conformance.programs.references import flushes, options_for, reference_for
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
    statements: tuple[str, ...]
    difference: Difference
    programs: list[str] = field(default_factory=list)
    count: int = 0

    def result(self, target: str) -> Result:
        """Return the finding as a result of the report."""
        difference = self.difference
        variable = f" of {difference.variable}" if difference.variable else ""
        message = (
            f"{self.kind}{variable} after the last line\n"
            f"got    {difference.got}\nwanted {difference.expected}\n"
            f"{self.count} programs, among them {', '.join(self.programs)}."
        )
        return Result(
            function=self.function,
            category="programs",
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

    aspect: ClassVar[str] = "drawn"
    target: Target
    machine: Machine
    references: References
    options: ProgramOptions
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
        options = options_for(target, machine, subnormal=not flushed)
        references = reference_for(target, options)
        return cls(target, machine, references, options, flushed)

    def outcomes(self, count: int, seed: int) -> Iterator[Result | None]:
        """Run the corpus and drawn programs; yield a result for each, None if it is not new."""
        for name, statements in corpus(self.options.portarray, self.options.dtypes):
            yield self.check(name, statements, None)
        for index in range(count):
            drawn = self.draw(seed, index)
            yield self.check(f"{seed}:{index}", drawn.statements, drawn)
            if index % 1000 == 999:
                self.target.forget()

    def find(self, statements: Sequence[str], drawn: Drawn | None = None) -> Difference | None:
        """Run a program on the target and return its first difference from the reference."""
        got = self.machine.trace(statements)
        expected = None if drawn is None else drawn.steps
        return self.judge(statements, got, expected)

    def judge(
        self, statements: Sequence[str], got: Sequence[Step], expected: Sequence[Step] | None = None
    ) -> Difference | None:
        """Return the first difference between a run and the reference."""
        return judge(statements, got, self.references, Allowed(self.flushes), expected)

    def draw(self, seed: int, index: int) -> Drawn:
        """Return a program of a seed."""
        return draw_program(seed, index, self.references.exact, self.options)

    def check(self, name: str, statements: Sequence[str], drawn: Drawn | None) -> Result | None:
        """Check one program; return a result if its finding is new."""
        return self.report(name, statements, self.find(statements, drawn))

    def report(
        self, name: str, statements: Sequence[str], difference: Difference | None
    ) -> Result | None:
        """Count a program and its difference; return a result if the finding is new."""
        for statement in statements:
            self.called[read_statement(statement).function] += 1
        if difference is None:
            return None
        self.failed.add(name)
        new = difference.key not in self.findings
        if new:
            shown = self.smaller(statements, difference)
            self.findings[difference.key] = Finding(*difference.key, *shown)
        return self.count(difference.key, name, new=new)

    def count(self, key: tuple[str, str], name: str, *, new: bool) -> Result | None:
        """Count a program that shows a finding; return a result if the finding is new."""
        finding = self.findings[key]
        finding.count += 1
        if len(finding.programs) < NAMED and name not in finding.programs:
            finding.programs.append(name)
        return finding.result(self.target.label) if new else None

    def smaller(
        self, statements: Sequence[str], difference: Difference
    ) -> tuple[tuple[str, ...], Difference]:
        """Return the program shrunk, within the time limits."""
        remaining = min(SHRINK_SECONDS, SHRINK_TOTAL - self.shrunk_seconds)
        if remaining <= 0:
            return tuple(statements[: difference.line + 1]), difference
        began = time.monotonic()
        shrunk = shrink(statements, difference, self.find, self.machine.trace, remaining)
        self.shrunk_seconds += time.monotonic() - began
        return shrunk

    def results(self) -> list[Result]:
        """Return the findings, the most frequent first, and a passed result for the rest."""
        label = self.target.label
        findings = sorted(self.findings.values(), key=lambda finding: -finding.count)
        results = [finding.result(label) for finding in findings]
        bad = {finding.function for finding in findings}
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
    suite: type[Programs] = Programs,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run the corpus and drawn programs of a suite on a target.

    Return a result for each distinct difference and for each function without any.
    ``on_result`` is called once for each program, with its finding if that is new.
    """
    passed = Result("programs", "programs", suite.aspect, target.label, "", "passed", 0.0)
    with warnings.catch_warnings(), target.scope():
        warnings.simplefilter("ignore")
        programs = suite.on(target)
        for result in programs.outcomes(count, seed):
            if on_result is not None:
                on_result(result or passed)
    return programs.results()
