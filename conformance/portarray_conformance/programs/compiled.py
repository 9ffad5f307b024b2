"""Compare compiled functions with the functions themselves.

A program is text: statements that read no variable make the arguments, the others are the body of a
function. The function is compiled and called twice, with other arguments of the same shapes the
second time. It returns every value of the body, so that each statement is judged from the inputs
that it had in the compiled function: rounding never turns into another branch. Where no statement
rounds, the function that returns its last values alone, of which a compiler may merge more, is
compared too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from portarray_conformance.programs.bodies import draw_body
from portarray_conformance.programs.compare import text_of
from portarray_conformance.programs.compiled_differences import difference_of, is_settled
from portarray_conformance.programs.judge import Difference
from portarray_conformance.programs.program import (
    BUILTINS,
    Machine,
    Raised,
    Snap,
    raised,
    restore,
)
from portarray_conformance.programs.statements import read_statement
from portarray_conformance.programs.suite import Programs, run_programs
from portarray_conformance.run import Result
from portarray_conformance.target import Target

BATCH = 10
"""Programs of one compiled function: PyTorch compiles for seconds."""
MOST_DRAWN = 0.25
"""Share of programs that call all functions of the standard, on small arrays."""

Values = dict[int, Any]
"""The value of each line of a program that binds or writes a variable, or its exception."""


@dataclass(frozen=True, slots=True)
class Body:
    """A program as a function of its arguments."""

    statements: tuple[str, ...]
    names: tuple[str, ...]  # that each line binds or writes, "" for arguments
    written: frozenset[str]
    outputs: tuple[int, ...]  # lines

    @classmethod
    def of(cls, statements: Sequence[str], *, last: bool = False) -> Body:
        """Return a program as a function; ``last`` returns only values that no line reads."""
        parsed = [read_statement(statement) for statement in statements]
        names = [
            "" if is_argument(statement) else (*line.bound, line.written)[0]
            for statement, line in zip(statements, parsed, strict=True)
        ]
        used = {name for line in parsed for name in line.read}
        outputs = [n for n, name in enumerate(names) if name and not (last and name in used)]
        written = frozenset(line.written for line in parsed if line.written)
        return cls(tuple(statements), tuple(names), written, tuple(outputs))

    def arguments(self, machine: Machine) -> dict[str, Any]:
        """Return new arguments."""
        variables = machine.environment()
        for statement, name in zip(self.statements, self.names, strict=True):
            if not name:
                machine.run(statement, variables)
        return {x: value for x, value in variables.items() if machine.is_array(value)}

    def __call__(self, machine: Machine, arguments: Mapping[str, Any]) -> Values:
        """Run the body; return its outputs, and the exceptions of lines that raise."""
        variables = {**machine.environment(), **arguments}
        for name in self.written.intersection(arguments):
            variables[name] = machine.xp.asarray(variables[name], copy=True)
        values = {}
        for line, statement in enumerate(self.statements):
            name = self.names[line]
            if not name:
                continue
            error = machine.run(statement, variables)
            if error is not None:
                values[line] = error
            elif line in self.outputs:
                value = variables[name]
                # Arrays that share memory with one that is written into cannot be returned.
                values[line] = _copied(machine, value) if self.written else value
        return values


def _copied(machine: Machine, value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_copied(machine, item) for item in value]
    return machine.xp.asarray(value, copy=True) if machine.is_array(value) else value


def is_argument(statement: str) -> bool:
    """Return whether a statement reads no variable."""
    parsed = read_statement(statement)
    return bool(parsed.bound) and not set(parsed.read) - set(BUILTINS)


def other_arguments(machine: Machine, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with the same elements, in another order."""

    def rolled(n: int, x: Any) -> Any:
        snap = machine.snap(x)
        value = np.roll(snap.value.reshape(-1), n + 1).reshape(snap.value.shape)
        return restore(machine, Snap("array", snap.type_name, value))

    return {name: rolled(n, x) for n, (name, x) in enumerate(arguments.items())}


def calls_of(
    machine: Machine, bodies: Sequence[Body], compile: Callable[..., Any]
) -> Iterator[list[tuple[Mapping[str, Any], Values | Raised]]]:
    """Compile the bodies as one function; yield the arguments and values of each in two calls.

    Values of the first call are read after the second, which must not change them.
    """

    def function(arguments: Sequence[Mapping[str, Any]]) -> list[Values]:
        return [body(machine, x) for body, x in zip(bodies, arguments, strict=True)]

    compiled = compile(function)
    first = [body.arguments(machine) for body in bodies]
    second = [other_arguments(machine, arguments) for arguments in first]
    values: list[Any] = []
    try:
        values.append(compiled(first))
        values.append(compiled(second))
        reasons = compiled.explain(first).reasons
    except Exception as error:  # noqa: BLE001 - exceptions are compared
        if len(bodies) == 1:
            yield [
                (first[0], values[0][0] if values else raised(error)),
                (second[0], raised(error)),
            ]
            return
        reasons = {"'s compiler": ""}
    if len(bodies) > 1 and any(name.endswith("'s compiler") for name in reasons):
        for body in bodies:  # one of them is the reason
            yield from calls_of(machine, [body], compile)
        return
    for n in range(len(bodies)):
        yield [(first[n], values[0][n]), (second[n], values[1][n])]


UNTRACED = frozenset(("TracedArrayError", "NameError"))
"""Exceptions of lines that read values while they are traced, and of lines that need theirs."""


def judge_values(
    machine: Machine, body: Body, arguments: Mapping[str, Any], values: Values | Raised
) -> Difference | None:
    """Return the first value that differs from what its statement makes of the compiled inputs.

    A line that raises for these values need not raise in the compiled function, which checks no
    values on some devices: the page of differences says which.
    """
    if isinstance(values, Raised) and values.name in UNTRACED:
        return None
    variables = {**machine.environment(), **arguments}
    for name in body.written.intersection(arguments):
        variables[name] = machine.xp.asarray(variables[name], copy=True)
    for line, statement in enumerate(body.statements):
        name = body.names[line]
        if not name:
            continue
        function = read_statement(statement).function
        previous = dict(variables)
        error = machine.run(statement, variables)
        if isinstance(values, Raised):
            if error is not None:
                return None
            continue
        value = values.get(line)
        if isinstance(value, Raised) and error is None and value.name not in UNTRACED:
            shown = text_of(machine.snap(variables[name]))
            return Difference(line, function, f"{value.name} for a result", str(value), shown, name)
        if error is not None or value is None or isinstance(value, Raised):
            variables.pop(name, None)
            if value is not None and not isinstance(value, Raised):
                variables[name] = value
            continue
        expected = _copied(machine, variables[name]) if body.written else variables[name]
        got, want = machine.snap(value), machine.snap(expected)
        if got.same(want):
            continue
        difference = difference_of(machine, statement, previous, got, want)
        if difference is not None:
            return Difference(line, function, *difference, name)
        is_copied = name in body.written and machine.is_array(value)
        variables[name] = machine.xp.asarray(value, copy=True) if is_copied else value
    if isinstance(values, Raised):
        return Difference(len(body.statements) - 1, "compile", values.name, str(values), "a result")
    return None


def is_exact(machine: Machine, body: Body, arguments: Mapping[str, Any]) -> bool:
    """Return whether no statement of a body rounds, and none has an undetermined result."""
    variables = {**machine.environment(), **arguments}
    for statement, name in zip(body.statements, body.names, strict=True):
        if not name:
            continue
        previous = dict(variables)
        if machine.run(statement, variables) is not None:
            return False
        if not is_settled(machine, statement, previous, machine.snap(variables[name])):
            return False
    return True


@dataclass(slots=True)
class CompiledPrograms(Programs):
    """The suite of compiled programs on one target."""

    aspect: ClassVar[str] = "compiled"
    is_dynamic: bool = False

    def outcomes(self, count: int, seed: int) -> Iterator[Result | None]:
        """Compare drawn programs; yield a result for each, None if it is not new."""
        for first in range(0, count, BATCH):
            indices = range(first, min(count, first + BATCH))
            programs = [self.drawn(seed, index) for index in indices]
            for index, statements, difference in zip(
                indices, programs, self.differences(programs), strict=True
            ):
                yield self.report(f"{seed}:{index}", statements, difference)
            if indices[-1] % 1000 > 1000 - BATCH:
                self.target.forget()

    def drawn(self, seed: int, index: int) -> tuple[str, ...]:
        """Return the statements of a program."""
        if index % round(1 / MOST_DRAWN) == 0:
            return self.draw(seed, index).statements
        return draw_body(seed, index, self.machine, self.options)

    def find(self, statements: Sequence[str], drawn: Any = None) -> Difference | None:
        """Return the first difference between the compiled function and the function."""
        return next(iter(self.differences([statements])))

    def differences(self, programs: Sequence[Sequence[str]]) -> list[Difference | None]:
        """Return the first difference of each of several programs."""
        differences: list[Difference | None] = [None] * len(programs)
        for last in (False, True):
            bodies = [Body.of(statements, last=last) for statements in programs]
            for n, calls in enumerate(calls_of(self.machine, bodies, self.compile)):
                for arguments, values in calls:
                    if differences[n] is None and not (
                        last and not is_exact(self.machine, bodies[n], arguments)
                    ):
                        differences[n] = judge_values(self.machine, bodies[n], arguments, values)
        return differences

    def compile(self, function: Callable[..., Any]) -> Any:
        """Compile a function, every second one for several sizes."""
        import portarray as pa  # only here: other namespaces are tested without it

        self.is_dynamic = not self.is_dynamic
        return pa.compile(function, dynamic=self.is_dynamic)


def run_compiled(
    target: Target, count: int, seed: int, *, on_result: Callable[[Result], None] | None = None
) -> list[Result]:
    """Compare compiled functions of drawn programs with the functions, on a device of portarray.

    Return a result for each distinct difference and for each function without any.
    ``on_result`` is called once for each program, with its finding if that is new.
    """
    return run_programs(target, count, seed, suite=CompiledPrograms, on_result=on_result)
