"""Parse statements: their function, their variables, and possible aliases."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType


def _statement_function(node: ast.AST) -> str:
    """Return the function of a statement, as named in tables of findings."""
    if isinstance(node, ast.AugAssign):
        return f"in-place {SYMBOLS[type(node.op)]}"
    if isinstance(node, ast.Assign):
        if isinstance(node.targets[0], ast.Subscript):
            return "x[key] = value"
        node = node.value
    elif isinstance(node, ast.Expr):
        node = node.value
    return _function(node)


def _function(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        text = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and not text.startswith("xp."):
            return f"x.{node.func.attr}()"
        return text.removeprefix("xp.")
    if isinstance(node, ast.Attribute):
        return f"x.{node.attr}"
    if isinstance(node, ast.Subscript):
        return "x[key]"
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        return SYMBOLS[type(node.op)]
    if isinstance(node, ast.Compare):
        return SYMBOLS[type(node.ops[0])]
    return type(node).__name__


SYMBOLS: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
    ast.Mod: "%", ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.USub: "-x", ast.UAdd: "+x",
    ast.Invert: "~x", ast.Not: "not x", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in",
    ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip

# Functions whose result may share memory with their argument: the standard leaves open whether
# it does, and so does portarray ("a view where the library has views").
MAY_SHARE = frozenset((
    "asarray", "from_dlpack", "astype", "reshape", "squeeze", "expand_dims", "permute_dims",
    "moveaxis", "flip", "broadcast_to", "broadcast_arrays", "matrix_transpose",
    "linalg.matrix_transpose", "linalg.diagonal", "meshgrid", "unstack", "real", "imag", "conj",
    "x.reshape()", "x.squeeze()", "x.astype()", "x.conj()", "x.to_device()", "x.T", "x.mT",
    "x.real", "x.imag", "x[key]", "Name", "Tuple", "list", "tuple",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """The parsed statement.

    ``bound`` are the names it binds, ``written`` the one it writes into, ``read`` those it reads;
    ``shares`` is whether the bound names may share memory with the names it reads.
    """

    code: CodeType | None
    function: str
    bound: tuple[str, ...]
    written: str
    read: tuple[str, ...]
    shares: bool


@lru_cache(maxsize=4096)
def read_statement(text: str) -> Statement:
    """Parse a statement."""
    try:
        tree = ast.parse(text)
        node = tree.body[0]
        code = compile(tree, "<program>", "exec")
    except (SyntaxError, IndexError):
        return Statement(None, text, (), "", (), shares=False)
    function = _statement_function(node)
    read = tuple(
        name.id
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load) and name.id != "xp"
    )
    written, bound = "", []
    if isinstance(node, ast.AugAssign):
        written = _root(node.target)
        return Statement(code, function, (), written, (*read, written), shares=False)
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                written = _root(target)
            else:
                bound += [name.id for name in ast.walk(target) if isinstance(name, ast.Name)]
    return Statement(code, function, tuple(bound), written, read, function in MAY_SHARE)


def _root(target: ast.expr) -> str:
    """Return the variable that ``x[1].T[0]`` begins with."""
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


class Aliases:
    """Which variables may share memory, and which are undetermined because of that.

    Whether a write into one array shows in another that may share its memory is not promised. So
    after such a write the others are undetermined: each of their elements is the old one or the
    new one, which is checked once, and they are not used again until they are bound anew. So is
    what ``empty`` returns, which may hold anything, including bytes that are not booleans, and what
    ``from_dlpack`` makes of NumPy's arrays, which stays on NumPy's device.
    """

    def __init__(self) -> None:
        self._group: dict[str, int] = {}
        self._next = 0
        self.undetermined: set[str] = set()

    def step(self, statement: str, failed: bool) -> set[str]:
        """Record a statement that was run; return the names that it made undetermined."""
        if failed:
            return set()
        parsed = read_statement(statement)
        function, bound, written = parsed.function, parsed.bound, parsed.written
        read, shares = parsed.read, parsed.shares
        if written:
            group = self._group.get(written)
            touched = {
                name
                for name, other_group in self._group.items()
                if other_group == group and name != written and group is not None
            }
            self.undetermined |= touched
            return touched
        for name in bound:
            self.undetermined.discard(name)
        groups = {self._group[name] for name in read if name in self._group} if shares else set()
        self._next += 1
        for name, group in list(self._group.items()):
            if group in groups:
                self._group[name] = self._next
        for name in bound:
            self._group[name] = self._next
        is_host_memory = function == "from_dlpack" and "np." in statement
        if is_host_memory or function in ("empty", "empty_like"):
            self.undetermined.update(bound)
        return set()

    def uses_undetermined(self, statement: str) -> bool:
        """Return whether a statement reads or writes an undetermined variable."""
        if not self.undetermined:
            return False
        parsed = read_statement(statement)
        return bool(self.undetermined.intersection((*parsed.read, parsed.written)))
