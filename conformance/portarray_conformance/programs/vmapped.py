"""Compare functions of a batch, made by ``pa.vmap``, with the function of each example.

Programs are those of :mod:`portarray_conformance.programs.compiled`. Three examples have the same
elements in other orders; some arguments are the same for all. Axes often have three elements too,
so that a batch whose axes are mixed up has the right shape.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from portarray_conformance.programs.compiled import (
    Body,
    CompiledPrograms,
    Values,
    judge_values,
    other_arguments,
)
from portarray_conformance.programs.judge import Difference
from portarray_conformance.programs.program import Machine, Raised, raised
from portarray_conformance.programs.suite import run_programs
from portarray_conformance.run import Result
from portarray_conformance.target import Target

EXAMPLES = 3
SHARED = 0.2
"""Share of arguments that are the same for all examples."""


def judge_vmapped(machine: Machine, statements: Sequence[str]) -> Difference | None:
    """Return the first difference between a function of a batch and that of its examples.

    A line that raises for one example raises for the batch.
    """
    import portarray as pa  # only here: other namespaces are tested without it

    body = Body.of(statements)
    first = body.arguments(machine)
    if not first:
        return None
    rng = random.Random("\n".join(statements))
    shared = {name for name in first if rng.random() < SHARED}
    if len(shared) == len(first):
        shared = set()
    examples = [first]
    while len(examples) < EXAMPLES:
        following = other_arguments(machine, examples[-1])
        examples.append({name: (first if name in shared else following)[name] for name in first})
    axes = {
        name: None if name in shared else rng.randrange(-x.ndim - 1, x.ndim + 1)
        for name, x in first.items()
    }
    batch = {
        name: pa.asarray(first[name], copy=True)
        if axis is None
        else pa.stack([x[name] for x in examples], axis=axis)
        for name, axis in axes.items()
    }
    values: Values | Raised
    try:
        values = pa.vmap(lambda arguments: body(machine, arguments), (axes,))(batch)
    except Exception as error:  # noqa: BLE001 - exceptions are compared
        values = raised(error)
    differences = [
        # Programs may write into views of their arguments.
        judge_values(machine, body, _copied(arguments), _example(machine, values, n))
        for n, arguments in enumerate(examples)
    ]
    unraised = [x is not None and x.kind.endswith("for a result") for x in differences]
    if all(unraised):
        return differences[0]
    return next(
        (x for x, raises in zip(differences, unraised, strict=True) if x and not raises), None
    )


def _copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    import portarray as pa  # as above

    return {name: pa.asarray(x, copy=True) for name, x in arguments.items()}


def _example(machine: Machine, values: Any, n: int) -> Any:
    """Return the values of one example."""
    if machine.is_array(values):
        return values[n, ...]
    if isinstance(values, dict):
        return {line: _example(machine, value, n) for line, value in values.items()}
    if isinstance(values, (tuple, list)):
        items = [_example(machine, value, n) for value in values]
        return type(values)(*items) if hasattr(values, "_fields") else type(values)(items)
    return values


@dataclass(slots=True)
class VmappedPrograms(CompiledPrograms):
    """The suite of vmapped programs on one target."""

    aspect: ClassVar[str] = "vmapped"

    def differences(self, programs: Sequence[Sequence[str]]) -> list[Difference | None]:
        """Return the first difference of each of several programs."""
        return [judge_vmapped(self.machine, statements) for statements in programs]


def run_vmapped(
    target: Target, count: int, seed: int, *, on_result: Callable[[Result], None] | None = None
) -> list[Result]:
    """Compare vmapped functions of drawn programs with the functions, on a device of portarray.

    Return a result for each distinct difference and for each function without any.
    """
    return run_programs(target, count, seed, suite=VmappedPrograms, on_result=on_result)
