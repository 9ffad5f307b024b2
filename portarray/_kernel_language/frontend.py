"""The front end: a function's syntax tree, with the types of its arguments, becomes a typed tree.

The types of local variables are a fix point: the function is read until none changes. Errors are
those of the last reading, all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from portarray._kernel_language import source, tree
from portarray._kernel_language.scope import Scope, Shared, Value
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.statements import Statements
from portarray.errors import KernelSyntaxError

_ROUNDS = 12


def read_kernel(
    found: source.Source, parameters: Mapping[str, Value], setting: Setting, shared: Shared
) -> tree.Function:
    """Return the typed tree of a kernel.

    Raises
    ------
    KernelSyntaxError
        With all that is wrong.
    """
    shared.read = _read
    return _read(Scope(found, dict(parameters), setting, shared, helper=False), found.node.name)


def _read(scope: Scope, name: str) -> tree.Function:
    """Read a function until its types are settled."""
    statements = Statements(scope)
    before: Any = None
    for scope.round in range(_ROUNDS):
        scope.begin(name)
        body = statements.block(scope.source.node.body, top=True)
        state = (dict(scope.types), set(scope.varying), set(scope.uneven), scope.returned)
        if state == before:
            break
        before = state
    if scope.problems:
        unique = {(p.line, p.column, p.message): p for p in scope.problems}
        raise KernelSyntaxError(sorted(unique.values(), key=lambda p: (p.line, p.column)))
    for known, value in scope.constants.items():
        scope.shared.constants[id(scope.source.function), known] = (scope.lookup, known, value)
    scope.result.body = body
    scope.result.variables = dict(scope.types)
    scope.result.result = scope.returned
    return scope.result
