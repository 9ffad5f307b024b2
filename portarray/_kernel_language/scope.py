"""The state of a function while it is read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from portarray._kernel_language import source, tree
from portarray._kernel_language.captures import Capture, is_fixed
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.types import Array, Constant, Scalar, Tuple
from portarray.errors import KernelProblem

Value: TypeAlias = "tree.Expr | Array | Constant"


class Wrong(Exception):  # noqa: N818  (it becomes a Problem)
    """An invalid expression; its statement is skipped and checking continues."""

    def __init__(self, at: ast.AST, message: str) -> None:
        super().__init__(message)
        self.at = at


def visited(reader: object, node: ast.AST, refused: Mapping[type[ast.AST], str]) -> Any:
    """Call a reader's method for a node's type."""
    visit = getattr(reader, _method_of(type(node).__name__), None)
    if visit is None or type(node) in refused:
        construct = refused.get(type(node), type(node).__name__)
        raise Wrong(node, f"{construct} is not in the kernel language")
    return visit(node)


@cache
def _method_of(node: str) -> str:
    return f"_{node.lower()}"


class Shared:
    """State that a kernel and its helpers share while they are read."""

    def __init__(self) -> None:
        self.helpers: dict[tuple[Any, ...], tree.Function] = {}
        self.running: list[Any] = []
        self.captures: dict[tuple[int, tuple[str, ...]], Capture] = {}
        self.count = 0
        self.read: Callable[[Scope, str], tree.Function]  # of a helper; set by the front end


class Scope:
    """The names of one function, and what is known about them."""

    def __init__(
        self,
        text: source.Source,
        parameters: dict[str, Value],
        setting: Setting,
        shared: Shared,
        *,
        helper: bool,
    ) -> None:
        self.source = text
        self.setting = setting
        self.lookup = source.lookup(text.function)
        self.parameters = parameters
        self.shared = shared
        self.helper = helper
        self.types: dict[str, Scalar | Tuple] = {}
        self.local_names = self.named()
        self.varying: set[str] = set()
        self.uneven: set[int] = set()  # loops that some work-items leave before others
        self.round = 0
        self.returned: Scalar | Tuple | None = None

    def reset(self, name: str) -> None:
        """Discard the results of one reading, except the types."""
        self.result = tree.Function(name, dict(self.parameters), source=self.source)
        self.problems: list[KernelProblem] = []
        self.captured: dict[tuple[str, ...], Any] = {}
        self.memory: dict[str, Array] = {}
        self.assigned: set[str] = set()
        self.unknown: set[str] = set()  # what wrong statements assign to
        self.divergent = 0
        self.loops: list[bool] = []  # whether each enclosing loop is uniform
        self.bodies: list[int] = []  # the statements of each enclosing loop
        self.exited = False  # whether some work-items may have returned
        self.top = True

    def capture(self, path: tuple[str, ...], value: Any) -> None:
        """Record what an outside name means."""
        if not is_fixed(self.source.function):
            self.captured[path] = value

    def named(self) -> set[str]:
        """Return assigned names, except those of arrays and constants."""
        stored = {
            node.id
            for node in self.source.nodes()
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        return {
            name
            for name in stored
            if isinstance(self.parameters.get(name, None), (tree.Variable, type(None)))
        }

    def is_given(self, name: str) -> bool:
        """Return whether an assigned name is a parameter."""
        return isinstance(self.parameters.get(name), tree.Expr)

    def known_names(self) -> list[str]:
        return [*self.local_names, *self.parameters]

    def uniform(self, x: tree.Expr) -> bool:
        """Return whether a value is equal for all work-items of a group."""
        return not any(
            isinstance(node, (tree.Load, tree.Atomic, tree.HelperCall))
            or (isinstance(node, tree.Position) and node.name in ("index", "local_index"))
            or (isinstance(node, tree.Variable) and node.name in self.varying)
            for node in tree.walk(x)
        )
