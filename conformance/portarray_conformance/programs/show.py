"""Print one program statement by statement, with the target's and the reference's values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import click

from portarray_conformance.programs.compare import text_of
from portarray_conformance.programs.program import Snap, Step
from portarray_conformance.programs.statements import Aliases, read_statement
from portarray_conformance.programs.suite import Programs, pasted
from portarray_conformance.target import Target


def show_program(
    target: Target, seed: int, index: int, *, echo: Callable[[str], object] = click.echo
) -> bool:
    """Print a program of a seed as it runs on a target; return whether it agrees."""
    with warnings.catch_warnings(), target.scope():
        warnings.simplefilter("ignore")
        suite = Programs.on(target)
        drawn = suite.draw(seed, index)
        return show_statements(suite, drawn.statements, f"{seed}:{index}", echo)


def show_statements(
    suite: Programs, statements: Sequence[str], name: str, echo: Callable[[str], object]
) -> bool:
    """Print a program statement by statement; say whether target and reference agree."""
    label = suite.target.label
    got = suite.machine.trace(statements)
    expected = suite.references.exact.trace(statements)
    difference = suite.find(statements)
    echo(click.style(f"program {name} on {label}", bold=True))
    aliases = Aliases()
    for line, statement in enumerate(statements):
        mark = "!!" if difference is not None and difference.line == line else "  "
        echo(f"{mark}{line + 1:3d}  {statement}")
        failed = expected[line].error is not None
        aliases.step(statement, failed)
        for text in _values(statement, got[line], expected[line], label):
            echo(text)
        if difference is not None and difference.line == line:
            where = f" of {difference.variable}" if difference.variable else ""
            echo(click.style(f"        {difference.function}: {difference.kind}{where}", fg="red"))
            echo(f"          got     {difference.got}")
            echo(f"          wanted  {difference.expected}")
            echo("        (the values above and below come from separate runs; this verdict "
                 "from the target's values before the line)")  # fmt: skip
    if difference is None:
        echo("target and reference agree")
        return True
    small, smaller = suite.smaller(statements, difference)
    echo("\nas small as it gets:\n")
    echo(pasted(small, label))
    where = f" of {smaller.variable}" if smaller.variable else ""
    echo(f"\n{smaller.function}: {smaller.kind}{where}")
    echo(f"  got     {smaller.got}\n  wanted  {smaller.expected}")
    return False


def _values(statement: str, got: Step, expected: Step, label: str) -> list[str]:
    """Return lines with the results of a statement on both sides."""
    parsed = read_statement(statement)
    names = [*parsed.bound, *((parsed.written,) if parsed.written else ())]
    lines = []
    pairs: list[tuple[str, str, str]] = []
    if got.error is not None or expected.error is not None:
        actual, reference = (
            "no exception" if e is None else str(e) for e in (got.error, expected.error)
        )
        pairs.append(("raises", actual, reference))
    for name in names:
        first: Snap | None = got.after.get(name)
        second: Snap | None = expected.after.get(name)
        if first is not None or second is not None:
            pairs.append((name, text_of(first), text_of(second)))
    for name, actual, reference in pairs:
        if actual == reference:
            lines.append(f"          {name} = {actual}")
        else:
            lines.append(f"          {name} {label:<18} {actual}")
            lines.append(f"          {name} {'reference':<18} {reference}")
    return lines
