"""Prints one program statement by statement, the target's values beside the reference's."""

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
    target: Target, seed: int, number: int, *, echo: Callable[[str], object] = click.echo
) -> bool:
    """Print program ``number`` of a seed as it runs on a target; say whether it agrees.

    Parameters
    ----------
    target : Target
    seed, number : int
        Which program: ``3:17`` in a list of findings is seed 3 and number 17.
    echo : callable
        Prints a line.
    """
    with warnings.catch_warnings(), target.scope():
        warnings.simplefilter("ignore")
        suite = Programs.on(target)
        drawn = suite.draw(seed, number)
        return show_statements(suite, drawn.statements, f"{seed}:{number}", echo)


def show_statements(
    suite: Programs, statements: Sequence[str], name: str, echo: Callable[[str], object]
) -> bool:
    """Print a program statement by statement; say whether target and reference agree."""
    label = suite.target.label
    got = suite.machine.trace(statements)
    wanted = suite.references.exact.trace(statements)
    difference = suite.find(statements)
    echo(click.style(f"program {name} on {label}", bold=True))
    aliases = Aliases()
    for line, statement in enumerate(statements):
        mark = "!!" if difference is not None and difference.line == line else "  "
        echo(f"{mark}{line + 1:3d}  {statement}")
        failed = wanted[line].error is not None
        aliases.step(statement, failed)
        for text in _values(statement, got[line], wanted[line], label):
            echo(text)
        if difference is not None and difference.line == line:
            where = f" of {difference.variable}" if difference.variable else ""
            echo(click.style(f"        {difference.function}: {difference.kind}{where}", fg="red"))
            echo(f"          got     {difference.got}")
            echo(f"          wanted  {difference.wanted}")
            echo("        (the values below and above come from runs on their own; this verdict "
                 "from the target's values before the line)")  # fmt: skip
    if difference is None:
        echo("target and reference agree")
        return True
    small, found = suite.smaller(statements, difference)
    echo("\nas small as it gets:\n")
    echo(pasted(small, label))
    where = f" of {found.variable}" if found.variable else ""
    echo(
        f"\n{found.function}: {found.kind}{where}\n  got     {found.got}\n  wanted  {found.wanted}"
    )
    return False


def _values(statement: str, got: Step, wanted: Step, label: str) -> list[str]:
    """Return the lines that show what a statement gave on both sides."""
    known = read_statement(statement)
    names = [*known.bound, *((known.written,) if known.written else ())]
    lines = []
    pairs: list[tuple[str, str, str]] = []
    if got.error is not None or wanted.error is not None:
        one, other = (
            "no exception" if e is None else f"{e.name}: {e.text}"
            for e in (got.error, wanted.error)
        )
        pairs.append(("raises", one, other))
    for name in names:
        first: Snap | None = got.after.get(name)
        second: Snap | None = wanted.after.get(name)
        if first is not None or second is not None:
            pairs.append((name, text_of(first), text_of(second)))
    for name, one, other in pairs:
        if one == other:
            lines.append(f"          {name} = {one}")
        else:
            lines.append(f"          {name} {label:<18} {one}")
            lines.append(f"          {name} {'reference':<18} {other}")
    return lines
