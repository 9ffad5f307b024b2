"""What is known of a function while it is read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from portarray._kernel_language import source, tree
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.types import Array, Constant, Scalar, Tuple
from portarray.errors import KernelProblem

Value: TypeAlias = "tree.Expr | Array | Constant"


class Wrong(Exception):  # noqa: N818  (it becomes a Problem)
    """What is wrong with an expression; its statement is left out and checking goes on."""

    def __init__(self, at: ast.AST, message: str) -> None:
        super().__init__(message)
        self.at = at


def visited(reader: object, node: ast.AST, refused: Mapping[type[ast.AST], str]) -> Any:
    """Return what a reader's method for such nodes makes of one."""
    visit = getattr(reader, _method_of(type(node).__name__), None)
    if visit is None or type(node) in refused:
        what = refused.get(type(node), type(node).__name__)
        raise Wrong(node, f"{what} is not in the kernel language")
    return visit(node)


@cache
def _method_of(node: str) -> str:
    return f"_{node.lower()}"


class Shared:
    """What a kernel and its helpers have in common while they are read."""

    def __init__(self) -> None:
        self.helpers: dict[tuple[Any, ...], tree.Function] = {}
        self.running: list[Any] = []
        self.constants: dict[tuple[int, str], tuple[Callable[[str], Any], str, Any]] = {}
        self.count = 0
        self.read: Callable[[Scope, str], tree.Function]  # of a helper; set by the front end


class Scope:
    """One function: what its names mean, and what has been found in it so far."""

    def __init__(
        self,
        found: source.Source,
        parameters: dict[str, Value],
        setting: Setting,
        shared: Shared,
        *,
        helper: bool,
    ) -> None:
        self.source = found
        self.setting = setting
        self.lookup = source.lookup(found.function)
        self.parameters = parameters
        self.shared = shared
        self.helper = helper
        self.types: dict[str, Scalar | Tuple] = {}
        self.local_names = self.named()
        self.varying: set[str] = set()
        self.uneven: set[int] = set()  # loops that some work-items leave before others
        self.round = 0
        self.returned: Scalar | Tuple | None = None

    def begin(self, name: str) -> None:
        """Forget what one reading has found, but for the types."""
        self.result = tree.Function(name, dict(self.parameters), source=self.source)
        self.problems: list[KernelProblem] = []
        self.constants: dict[str, Any] = {}
        self.memory: dict[str, Array] = {}
        self.assigned: set[str] = set()
        self.unknown: set[str] = set()  # what wrong statements assign to
        self.divergent = 0
        self.loops: list[bool] = []  # whether each enclosing loop is uniform
        self.bodies: list[int] = []  # the statements of each enclosing loop
        self.left = False  # whether some work-items may have returned
        self.top = True

    def named(self) -> set[str]:
        """Return the names that the function assigns to, but for those of arrays and constants."""
        stored = {
            one.id
            for one in self.source.nodes()
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        return {
            name
            for name in stored
            if isinstance(self.parameters.get(name, None), (tree.Variable, type(None)))
        }

    def is_given(self, name: str) -> bool:
        """Tell whether a name that is assigned to is that of a parameter."""
        return isinstance(self.parameters.get(name), tree.Expr)

    def known_names(self) -> list[str]:
        """Return names that a misspelled one may mean."""
        return [*self.local_names, *self.parameters]

    def uniform(self, x: tree.Expr) -> bool:
        """Tell whether a value is the same for all work-items of a group."""
        return not any(
            isinstance(one, (tree.Load, tree.Atomic, tree.HelperCall))
            or (isinstance(one, tree.Place) and one.what in ("index", "local_index"))
            or (isinstance(one, tree.Variable) and one.name in self.varying)
            for one in tree.walk(x)
        )
