"""The front end: converts a function's syntax tree to a typed tree, for types of arguments.

The function is read until the types of its local variables do not change any more. All errors of
the last reading are raised together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from portarray._kernel_language import source, tree
from portarray._kernel_language.captures import Capture
from portarray._kernel_language.evaluation_order import evaluate_in_order
from portarray._kernel_language.scope import Scope, Shared, Value
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.statements import Statements
from portarray.errors import KernelSyntaxError

_ROUNDS = 12


def read_kernel(
    text: source.Source, parameters: Mapping[str, Value], setting: Setting, shared: Shared
) -> tree.Function:
    """Return the typed tree of a kernel.

    Raises
    ------
    KernelSyntaxError
        With all that is wrong.
    """
    shared.read = _read
    return _read(Scope(text, dict(parameters), setting, shared, helper=False), text.node.name)


def _read(scope: Scope, name: str) -> tree.Function:
    """Read a function until its types are settled."""
    statements = Statements(scope)
    previous: Any = None
    for scope.round in range(_ROUNDS):
        scope.reset(name)
        body = statements.block(scope.source.node.body, top=True)
        state = (dict(scope.types), set(scope.varying), set(scope.uneven), scope.returned)
        if state == previous:
            break
        previous = state
    if scope.problems:
        unique = {(p.line, p.column, p.message): p for p in scope.problems}
        raise KernelSyntaxError(sorted(unique.values(), key=lambda p: (p.line, p.column)))
    function = scope.source.function
    for path, value in scope.captured.items():
        scope.shared.captures[id(function), path] = Capture(function, path, value)
    scope.result.body = body
    scope.result.variables = dict(scope.types)
    scope.result.result = scope.returned
    evaluate_in_order(scope.result)
    return scope.result
