"""The forward sweep of an adjoint: the kernel's statements, as far as their values are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from portarray._kernel_language import tree, types
from portarray._kernel_language.derivatives import python_text
from portarray._kernel_language.derivatives.analysis import Analysis, Needed, assigned_in, closure
from portarray._kernel_language.derivatives.lines import Lines, indented
from portarray._kernel_language.derivatives.simple_statements import (
    Add,
    Assign,
    If,
    Loop,
    Statement,
    Store,
    Unsupported,
    arrays_in,
    expressions,
    fresh,
    variables_in,
    walk,
)
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.types import Array, DType, Scalar


def cotangent_dtype(dtype: DType) -> DType:
    """Return the dtype in which cotangents of a dtype are added: float32 for 16 bits."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def adjoint_type(type_: Scalar) -> Scalar:
    """Return the type of the cotangent of a number."""
    return type_ if type_.dtype is None else types.strong(cotangent_dtype(type_.dtype))


class ForwardSweep:
    """The text of a forward sweep, and the names and values that the reverse shares with it."""

    def __init__(
        self, analysis: Analysis, setting: Setting, needed: Needed | None, *, saves: bool
    ) -> None:
        self.saves_states = saves
        self.analysis = analysis
        self.kernel = analysis.kernel
        self.program = analysis.program
        self.weak = tree.weak_dtype(self.kernel, setting.default)  # in which weak floats are saved
        self.slice = needed  # what the forward sweep computes; everything if None
        self.needed: set[str] = set()
        self.needed_arrays: set[str] = set()
        self.used: set[str] = set()  # names in the text
        self.changed: set[str] = set()  # cotangents of arrays that are written
        self.names = set(analysis.names)
        self.cotangent_arrays = analysis.cotangent_arrays
        self.printer = python_text.PythonText(self.size, setting.ndim)
        self.declared: dict[str, str] = {}  # names to the values that they begin with
        self.tapes: Lines = []
        self.saves: dict[int, dict[str, str]] = {}
        self.depth = 0
        self.loops = 0

    def is_needed(self, name: str) -> bool:
        return self.slice is None or name in self.slice.variables

    def is_needed_array(self, name: str) -> bool:
        return self.slice is None or name in self.slice.arrays

    def size(self, array: Array, axis: int) -> str:
        name = self.cotangent_arrays.get(array.name, array.name)
        self.used.add(name)
        return f"{name}.shape[{axis}]"

    def show(self, x: tree.Expr) -> str:
        """Return an expression of the forward sweep."""
        self.used.update(variables_in(x), arrays_in(x))
        return self.printer.opened(x)

    def need(self, x: tree.Expr, *, operand: bool = False) -> str:
        """Return an expression of the reverse, which needs its values."""
        self.needed |= variables_in(x)
        self.needed_arrays |= arrays_in(x)
        self.used.update(variables_in(x), arrays_in(x))
        return self.printer.text(x) if operand else self.printer.opened(x)

    def element(self, name: str, index: Sequence[tree.Expr], *, reverse: bool = True) -> str:
        self.used.add(name)
        parts = [self.need(part) if reverse else self.show(part) for part in index]
        return f"{name}[{', '.join(parts) or '()'}]"

    def declare(self, name: str, type_: Scalar) -> str:
        """Declare a variable that is assigned in blocks."""
        self.declared.setdefault(name, python_text.zero(type_))
        return name

    def variable(self, name: str, type_: Scalar) -> str:
        """Return a new variable of the adjoint."""
        return self.declare(fresh(self.names, name), type_)

    def cotangent(self, name: str) -> str:
        """Return the cotangent of a variable."""
        cotangent_name = self.analysis.cotangents[name]
        return self.declare(cotangent_name, adjoint_type(self.program.variables[name]))

    def saved(self, x: Statement, name: str, type_: Scalar) -> str:
        """Return the variable that holds a value from before a statement."""
        saves = self.saves.setdefault(id(x), {})
        if name not in saves:
            saves[name] = self.variable(f"saved_{name}", type_)
        return saves[name]

    def forward(self, body: Sequence[Statement], *, saves: bool) -> Lines:
        """Return statements as far as their values are needed.

        With `saves` they save what they overwrite, for one reverse.
        """
        out: Lines = []
        for x in body:
            out += self.forward_statement(x, saves=saves)
        return out

    def forward_statement(self, x: Statement, *, saves: bool) -> Lines:
        if isinstance(x, Assign):
            return self.forward_assign(x, saves=saves)
        if isinstance(x, Store) or (isinstance(x, Add) and not x.atomic):
            return self.forward_store(x, saves=saves)
        if isinstance(x, Add):
            if self.slice is not None and x.array.name in self.slice.arrays:
                raise Unsupported(
                    x.location, f"the derivative needs {x.array.name}, to which work-items add"
                )
            return []
        if isinstance(x, If):
            self.depth += 1
            first = self.forward(x.first, saves=saves)
            second = self.forward(x.second, saves=saves)
            self.depth -= 1
            return self.branch(x, first, second, self.show)
        return self.forward_loop(x, saves=saves)

    def branch(self, x: If, first: Lines, second: Lines, show: Callable[[tree.Expr], str]) -> Lines:
        if not first and not second:
            return []
        condition = show(x.condition)
        if not first:
            return [f"if not {condition}:", *indented(second)]
        out = [f"if {condition}:", *indented(first)]
        return [*out, "else:", *indented(second)] if second else out

    def forward_assign(self, x: Assign, *, saves: bool) -> Lines:
        if not self.is_needed(x.name):
            return []
        out = []
        type_ = self.program.variables[x.name]
        is_parameter = isinstance(self.kernel.parameters.get(x.name), tree.Variable)
        if not is_parameter and (self.depth or self.analysis.points[x.name] > 1):
            self.declare(x.name, type_)
        if saves and self.analysis.overwrites(x):
            out.append(f"{self.saved(x, x.name, type_)} = {x.name}")
        value = self.show(x.value)
        source = x.value.scalar
        if source.kind == "f" and not types.same_dtype(source.dtype, type_.dtype):
            value = python_text.cast(value, type_)
        out.append(f"{x.name} = {value}")
        return out

    def forward_store(self, x: Store | Add, *, saves: bool) -> Lines:
        if not self.is_needed_array(x.array.name):
            return []
        if self.slice is not None and self.loops:
            raise Unsupported(
                x.location,
                f"the derivative needs values of {x.array.name} that the loop overwrites; keep "
                f"them in a variable",
            )
        element = self.element(x.array.name, x.index, reverse=saves)
        out = []
        if saves:
            type_ = types.strong(x.array.dtype)
            out.append(f"{self.saved(x, x.array.name, type_)} = {element}")
        value = self.show(x.value)
        return [*out, f"{element} = {f'{element} + ' * isinstance(x, Add)}{value}"]

    def overwritten(self, x: Loop) -> list[str]:
        """Return the variables that a loop changes, and whose previous values are needed."""
        is_overwritten = self.analysis.is_overwritten
        return sorted(n for n in assigned_in(x) if self.is_needed(n) and is_overwritten(n))

    def forward_loop(self, x: Loop, *, saves: bool) -> Lines:
        out = self.entry(x) if saves else []
        count = self.count(x) if saves and self.is_counted(x) else ""
        outer, self.slice = self.slice, self.slice_after(x, is_counted=bool(count))
        lines = self.forward_iterations(x, count)
        self.slice = outer
        return [*out, *lines]

    def slice_after(self, x: Loop, *, is_counted: bool) -> Needed | None:
        """Return what a loop computes that is read after it; its reverse repeats the rest."""
        if self.slice is None:
            return None
        inside = {id(part) for part in walk([x])}
        read = {x.flag} if is_counted or not x.counter else set()
        if self.loops:  # the next iteration of the loop around it
            read |= self.exposed(x.body, set())
        for part in self.analysis.statements:
            if id(part) not in inside:
                read.update(*map(variables_in, self.read_later(part)))
                read.add(getattr(part, "flag", ""))
        return closure([x], read & self.slice.variables, self.slice.arrays)

    def read_later(self, x: Statement) -> Sequence[tree.Expr]:
        """Return the expressions of a statement that the forward sweep or the reverse reads."""
        if isinstance(x, (Store, Add)) and not self.is_needed_array(x.array.name):
            is_variable = isinstance(x.value, tree.Variable)
            return x.index if is_variable else expressions(x)  # the value itself is not read
        return expressions(x)

    def exposed(self, body: Sequence[Statement], defined: set[str]) -> set[str]:
        """Return needed variables that statements read before they assign to them."""
        out: set[str] = set()
        for x in body:
            for part in expressions(x):
                out |= {n for n in variables_in(part) if self.is_needed(n)} - defined
            if isinstance(x, Assign):
                defined.add(x.name)
            elif isinstance(x, If):
                first, second = set(defined), set(defined)
                out |= self.exposed(x.first, first) | self.exposed(x.second, second)
                defined |= first & second
            elif isinstance(x, Loop):
                inner = {*defined, x.counter} if x.counter else set(defined)
                out |= self.exposed(x.body, inner)
                if x.flag and x.flag not in defined:
                    out |= {x.flag} if self.is_needed(x.flag) else set()
        return out

    def forward_iterations(self, x: Loop, count: str) -> Lines:
        out: Lines = []
        self.depth += 1
        self.loops += 1
        body = self.forward(x.body, saves=False)
        self.loops -= 1
        self.depth -= 1
        if count:
            out.append(f"{count} = 0")
            body.insert(0, f"{count} += 1")
        is_counter_needed = bool(x.counter) and self.is_needed(x.counter)
        if not body and not is_counter_needed:
            return out
        if not x.counter:
            self.used.add(x.flag)
            return [*out, f"while {x.flag}:", *indented(body or ["pass"])]
        self.declare_counter(x)
        if x.flag:
            body += [f"if not {x.flag}:", "    break"]
        start, stop, step = map(self.show, x.bounds)
        head = f"for {x.counter} in range({start}, {stop}, {step}):"
        return [*out, head, *indented(body or ["pass"])]

    def declare_counter(self, x: Loop) -> None:
        if not isinstance(self.kernel.parameters.get(x.counter), tree.Variable):
            self.declare(x.counter, self.program.variables[x.counter])

    def entry(self, x: Loop) -> Lines:
        """Return the saving of the state before a loop."""
        return [
            f"{self.saved(x, name, self.program.variables[name])} = {name}"
            for name in self.overwritten(x)
        ]

    def is_counted(self, x: Loop) -> bool:
        """Return whether the number of iterations is known only when the loop has run."""
        return not x.counter or bool(x.flag) or not isinstance(x.bounds[2], tree.Literal)

    def count(self, x: Loop) -> str:
        return self.saved(x, "count", types.weak_int(types.INDEX_BITS))
