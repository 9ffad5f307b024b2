"""The adjoint of a kernel: the kernel that computes its vector-Jacobian product.

For each work-item the adjoint runs the statements forward as far as their values are needed, then
backwards. A variable ``x`` has a cotangent ``d_x``, and so has each array. A statement's reverse
restores the variable or element that the statement changed, so that all values are again those that
the statement read. A loop runs its iterations backwards: where these depend on the previous ones,
from the nearest saved state, of up to 32 parts of the loop and 32 steps of a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from portarray._kernel_language import partial_derivatives, python_text, tree, types
from portarray._kernel_language.adjoint_analysis import (
    Analysis,
    Needed,
    assigned_in,
    closure,
    operands_of,
)
from portarray._kernel_language.adjoint_lines import Lines, names_in, simplified
from portarray._kernel_language.partial_derivatives import Partial
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.simple_statements import (
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
    range_of,
    simplify,
    variables_in,
    walk,
)
from portarray._kernel_language.types import Array, DType, Scalar

_SAVED = 32
"""States of a loop that are saved."""


@dataclass(frozen=True, slots=True)
class Adjoint:
    """The text of an adjoint kernel.

    Parameters
    ----------
    name : str
        Its name.
    text : str
        A function in the kernel language, with the globals kl, math and np.
    cotangents : dict of str to str
        Parameters that are cotangents, by the names of the kernel's arrays.
    values : list of str
        The kernel's arrays and numbers among the parameters, which come after the cotangents.
    written : list of str
        The arrays whose cotangents the adjoint writes, in the order of its parameters.
    restored : list of str
        Written arrays that the adjoint needs as they were before the call; it changes them.
    """

    name: str
    text: str
    cotangents: dict[str, str]
    values: list[str]
    written: list[str]
    restored: list[str]


def cotangent_dtype(dtype: DType) -> DType:
    """Return the dtype in which cotangents of a dtype are added: float32 for 16 bits."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def adjoint_of(
    kernel: tree.Function, setting: Setting, wanted: frozenset[str], *, saves: bool = True
) -> Adjoint:
    """Return the adjoint of a kernel.

    Parameters
    ----------
    kernel
        Its typed tree.
    setting
        What the kernel is read for.
    wanted
        The arrays whose cotangents are needed, as they are before the call.
    saves
        Whether states of loops are saved in private memory. Without, all are computed again from
        the first: such an adjoint has an adjoint.

    Raises
    ------
    Unsupported
        At the first statement without a derivative.
    """
    program = simplify(kernel)
    analysis = Analysis(kernel, program, setting.ndim, wanted)
    # What the reverse needs is known when it has been written once.
    draft = _Writer(analysis, setting, None, saves=saves)
    draft.lines()
    needed = closure(program.body, draft.needed, draft.needed_arrays)
    return _Writer(analysis, setting, needed, saves=saves).adjoint()


class _Writer:
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

    # --- text -------------------------------------------------------------------------------

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
        own = self.analysis.cotangents[name]
        return self.declare(own, _adjoint_type(self.program.variables[name]))

    # --- forward ----------------------------------------------------------------------------

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
            return [f"if not {condition}:", *_indented(second)]
        out = [f"if {condition}:", *_indented(first)]
        return [*out, "else:", *_indented(second)] if second else out

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
        if source.kind == "f" and source.dtype != type_.dtype:
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
                read.update(*map(variables_in, expressions(part)))
                read.add(getattr(part, "flag", ""))
        return closure([x], read & self.slice.variables, self.slice.arrays)

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
            return [*out, f"while {x.flag}:", *_indented(body or ["pass"])]
        self.declare_counter(x)
        if x.flag:
            body += [f"if not {x.flag}:", "    break"]
        start, stop, step = map(self.show, x.bounds)
        head = f"for {x.counter} in range({start}, {stop}, {step}):"
        return [*out, head, *_indented(body or ["pass"])]

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

    # --- reverse ----------------------------------------------------------------------------

    def lines(self) -> Lines:
        return self.both(self.program.body)

    def both(self, body: Sequence[Statement]) -> Lines:
        """Return statements forward, then their reverse."""
        if not body:
            return []
        *first, last = body
        out = self.forward(first, saves=True)
        if isinstance(last, If):
            self.depth += 1
            branches = self.both(last.first), self.both(last.second)
            self.depth -= 1
            out += self.branch(last, *branches, self.need)
        elif isinstance(last, Loop) and not self.is_counted(last):
            out += self.entry(last)
            out += self.reverse_loop(last)
        elif isinstance(last, Assign) and self.analysis.is_overwritten(last.name):
            out += self.reverse_assign(last)  # nothing reads the new value
        else:
            out += self.forward_statement(last, saves=True)
            out += self.reverse_statement(last)
        return out + self.reverse(first)

    def reverse(self, body: Sequence[Statement]) -> Lines:
        out: Lines = []
        for x in reversed(body):
            out += self.reverse_statement(x)
        return out

    def reverse_statement(self, x: Statement) -> Lines:
        if isinstance(x, Assign):
            return [*self.restored(x), *self.reverse_assign(x)]
        if isinstance(x, Store):
            return self.reverse_store(x)
        if isinstance(x, Add):
            return [*self.restored_element(x), *self.reverse_value(x)]
        if isinstance(x, If):
            self.depth += 1
            first, second = self.reverse(x.first), self.reverse(x.second)
            self.depth -= 1
            return self.branch(x, first, second, self.need)
        return self.reverse_loop(x)

    def restored(self, x: Assign) -> Lines:
        if self.is_needed(x.name) and self.analysis.overwrites(x):
            saved = self.saved(x, x.name, self.program.variables[x.name])
            return [f"{x.name} = {saved}"]
        return []

    def reverse_assign(self, x: Assign) -> Lines:
        if x.name not in self.analysis.cotangents:
            return []
        g = self.cotangent(x.name)
        type_ = self.program.variables[x.name]
        operands = operands_of(x.value)
        out: Lines = []
        if any(map(self.analysis.is_active, operands)):
            result = tree.Variable(x.value.at, type_, x.name)
            for n, (operand, partial) in enumerate(zip(operands, self.partials(x), strict=True)):
                if self.analysis.is_active(operand) and partial.text:
                    out += self.contribution(x, n, partial, operands, result, g)
        if x.name in self.program.temporaries and x.name not in self.program.results:
            return out
        return [*out, f"{g} = {python_text.zero(_adjoint_type(type_))}"]

    def partials(self, x: Assign) -> Sequence[Partial]:
        value = x.value
        if isinstance(value, tree.Operation):
            if value.sign == "**" and isinstance(value.operands[1], tree.Literal):
                return (_power(value.operands[1].value), Partial(""))
            found = partial_derivatives.OPERATIONS.get(value.sign)
            name = value.sign
        elif isinstance(value, tree.Call):
            found = partial_derivatives.FUNCTIONS.get(value.row.name)
            name = value.row.name
        else:
            return (Partial("1"),)
        if found is None:
            raise Unsupported(x.location, f"{name} has no derivative in kernels")
        return found

    def contribution(
        self,
        x: Assign,
        n: int,
        partial: Partial,
        operands: Sequence[tree.Expr],
        result: tree.Variable,
        g: str,
    ) -> Lines:
        """Return the addition of what a result's cotangent gives that of an operand."""
        work = getattr(x.value, "work", x.value.scalar)
        type_ = _adjoint_type(self.program.variables[x.name])
        computed = _adjoint_type(work)
        if computed.dtype != type_.dtype:
            g = python_text.cast(g, computed)
        text = partial.text
        if text == "1":
            return self.add(operands[n], g, computed)
        if text == "-1":
            return self.add(operands[n], f"-{g}", computed)
        parts = [
            self.in_type(part, computed) if f"{{{k}}}" in text else ""
            for k, part in enumerate(operands)
        ]
        r = self.in_type(result, computed) if "{r}" in text else ""
        if "{g}" not in text:
            is_simple = text.strip("{}").isalnum() or text.startswith("(")
            product = text if is_simple else f"({text})"
            text = f"{{g}} * {product}"
        value = text.format(*parts, r=r, g=g)
        if partial.steep:
            value = f"({value}) if {g} != 0.0 else {g}"
        return self.add(operands[n], value, computed)

    def in_type(self, x: tree.Expr, type_: Scalar) -> str:
        """Return an operand converted to the type that a derivative is computed in."""
        text = self.need(x, operand=True)
        if x.scalar.weak or x.scalar.dtype == type_.dtype:
            return text
        return python_text.cast(text, type_)

    def add(self, x: tree.Expr, value: str, type_: Scalar) -> Lines:
        """Return the addition of a value to the cotangent of an operand."""
        if isinstance(x, tree.Variable):
            name = self.cotangent(x.name)
            own = _adjoint_type(self.program.variables[x.name])
            value = value if own.dtype == type_.dtype else python_text.cast(value, own)
            if x.name in self.program.temporaries:
                return [f"{name} = {value}"]
            return [f"{name} = {name} + {_bracketed(value)}"]
        assert isinstance(x, tree.Load)
        return self.add_to_element(x.array, x.index, value, type_)

    def add_to_element(
        self, array: Array, index: Sequence[tree.Expr], value: str, type_: Scalar
    ) -> Lines:
        name = self.cotangent_arrays[array.name]
        self.changed.add(array.name)
        dtype = cotangent_dtype(array.dtype)
        if type_.dtype != dtype:
            value = python_text.cast(value, types.strong(dtype))
        element = self.element(name, index)
        if self.analysis.own[array.name]:
            return [f"{element} = {element} + {_bracketed(value)}"]
        places = element[len(name) + 1 : -1]
        where = f"({places})" if len(index) > 1 else places
        return [f"kl.atomic_add({name}, {where}, {value})"]

    def restored_element(self, x: Store | Add) -> Lines:
        if self.slice is None or x.array.name not in self.slice.arrays:
            return []
        saved = self.saved(x, x.array.name, types.strong(x.array.dtype))
        return [f"{self.element(x.array.name, x.index)} = {saved}"]

    def reverse_value(self, x: Store | Add) -> Lines:
        """Return the addition of an element's cotangent to that of what is written."""
        name = self.cotangent_arrays.get(x.array.name)
        if name is None or not self.analysis.is_active(x.value):
            return []
        type_ = types.strong(cotangent_dtype(x.array.dtype))
        return self.add(x.value, self.element(name, x.index), type_)

    def reverse_store(self, x: Store) -> Lines:
        out = [*self.restored_element(x), *self.reverse_value(x)]
        name = self.cotangent_arrays.get(x.array.name)
        if name is None:
            return out
        if x.array.name in self.analysis.consumed:
            self.changed.add(x.array.name)
            zero = python_text.zero(types.strong(cotangent_dtype(x.array.dtype)))
            out.append(f"{self.element(name, x.index)} = {zero}")
        return out

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

    def reverse_loop(self, x: Loop) -> Lines:
        restore = [
            f"{name} = {self.saved(x, name, self.program.variables[name])}"
            for name in self.overwritten(x)
        ]
        self.depth += 1
        self.loops += 1
        outer = self.slice
        body, needed = self.recorded(x.body)
        state: list[str] = []
        if outer is not None:  # else what the reverse needs is not known yet
            # Of what the loop computes, its reverse may need less than what follows.
            self.slice = closure(x.body, *needed)
            body = self.both(x.body)
            counter = {x.counter} if x.counter else set()
            state = sorted(self.exposed(x.body, counter) & assigned_in(x) - self.program.results)
        if body:
            for part in x.bounds:
                self.need(part)
            body = self.backwards(x, body, state)
        self.slice = outer
        self.loops -= 1
        self.depth -= 1
        return [*body, *restore]

    def recorded(self, body: Sequence[Statement]) -> tuple[Lines, tuple[set[str], set[str]]]:
        """Return statements forward and in reverse, and what the reverse needs."""
        before = self.needed, self.needed_arrays
        self.needed, self.needed_arrays = set(), set()
        lines = self.both(body)
        needed = self.needed, self.needed_arrays
        self.needed, self.needed_arrays = before[0] | needed[0], before[1] | needed[1]
        return lines, needed

    def backwards(self, x: Loop, body: Lines, state: list[str]) -> Lines:
        """Return a loop whose iterations, forward and in reverse, run backwards."""
        if not x.counter or not self.is_plain(x) or state:
            return self.reverse_saved(x, body, state)
        # For a counter from 0 in steps of 1 the loop runs backwards.
        self.declare_counter(x)
        stop = self.need(x.bounds[1], operand=True)
        return [f"for {x.counter} in range({_before(stop)}, -1, -1):", *_indented(body)]

    def is_plain(self, x: Loop) -> bool:
        start, stop, step = x.bounds
        return (
            not self.is_counted(x)
            and stop.scalar.kind == "i"
            and isinstance(start, tree.Literal)
            and start.value == 0
            and isinstance(step, tree.Literal)
            and step.value == 1
        )

    def reverse_saved(self, x: Loop, body: Lines, state: list[str]) -> Lines:
        """Return a loop backwards, from saved states where iterations depend on each other."""
        index = types.weak_int(types.INDEX_BITS)
        count = self.count(x)
        step_back = self.variable("back", index)
        out: Lines = []
        if not self.is_counted(x):
            if (counters := range_of(x.bounds)) is not None:
                count = str(len(counters))
            else:
                out.append(f"{count} = {self.trip_count(x)}")
        here = self.counter_at(x, step_back)
        if not state:
            head = f"for {step_back} in range({_before(count)}, -1, -1):"
            return [*out, head, *_indented([*here, *body])]
        again = self.variable("again", index)
        plain = [*self.counter_at(x, again), *self.forward(x.body, saves=False)]
        entry = [f"{name} = {self.saved(x, name, self.program.variables[name])}" for name in state]
        if not self.saves_states:
            return [
                *out,
                f"for {step_back} in range({_before(count)}, -1, -1):",
                *_indented([*entry, f"for {again} in range({step_back}):", *_indented(plain)]),
                *_indented([*here, *body]),
            ]
        if count.isdigit() and int(count) <= _SAVED:  # each state is saved
            save, restore = self.tape(state, int(count), again, step_back)
            return [
                *out,
                *entry,
                f"for {again} in range({count}):",
                *_indented([*save, *plain]),
                f"for {step_back} in range({_before(count)}, -1, -1):",
                *_indented([*restore, *here, *body]),
            ]
        # The first states of parts are saved, then those of steps within each part. Nested loops
        # need no divisions in each iteration.
        stride, size = self.variable("stride", index), self.variable("step", index)
        part, first = self.variable("part", index), self.variable("first", index)
        last, step = self.variable("last", index), self.variable("step", index)
        start = self.variable("start", index)
        save, restore = self.tape(state, _SAVED, part, part)
        save_step, restore_step = self.tape(state, _SAVED, step, step)
        bounds = [f"{first} = {part} * {stride}", f"{last} = min({first} + {stride}, {count})"]
        stop = f"min({start} + {size}, {last})"
        step_start = f"{start} = {first} + {step} * {size}"
        steps = f"({last} - {first} - 1) // {size}"
        return [
            *out,
            *entry,
            f"{stride} = {count} // {_SAVED} + 1",
            f"{size} = {stride} // {_SAVED} + 1",
            f"for {part} in range(({_before(count)}) // {stride} + 1):",
            *_indented([
                *save,
                *bounds,
                f"for {again} in range({first}, {last}):",
                *_indented(plain),
            ]),
            f"for {part} in range(({_before(count)}) // {stride}, -1, -1):",
            *_indented([
                *bounds,
                *restore,
                f"for {step} in range({steps} + 1):",
                *_indented([
                    *save_step,
                    step_start,
                    f"for {again} in range({start}, {stop}):",
                    *_indented(plain),
                ]),
                f"for {step} in range({steps}, -1, -1):",
                *_indented([
                    step_start,
                    f"for {step_back} in range({stop} - 1, {start} - 1, -1):",
                    *_indented([
                        *restore_step,
                        f"for {again} in range({start}, {step_back}):",
                        *_indented(plain),
                        *here,
                        *body,
                    ]),
                ]),
            ]),
        ]  # fmt: skip

    def tape(self, state: list[str], size: int, slot: str, slot_back: str) -> tuple[Lines, Lines]:
        """Return the saving of a state in private memory, and its restoring."""
        save, restore = [], []
        for name in state:
            type_ = self.program.variables[name]
            dtype = types.settled(type_, self.weak).strong_dtype
            tape = fresh(self.names, f"states_of_{name}")
            self.tapes.append(f"{tape} = kl.private({size}, kl.{dtype.name})")
            save.append(f"{tape}[{slot}] = {name}")
            value = f"{tape}[{slot_back}]"
            restore.append(f"{name} = {python_text.cast(value, type_) if type_.weak else value}")
        return save, restore

    def counter_at(self, x: Loop, iteration: str) -> Lines:
        """Return the assignment of the counter in an iteration."""
        if not x.counter or not self.is_needed(x.counter):
            return []
        self.declare_counter(x)
        start, _, step = x.bounds
        product = iteration
        if not (isinstance(step, tree.Literal) and step.value == 1):
            product = f"{iteration} * {self.need(step, operand=True)}"
        if not (isinstance(start, tree.Literal) and start.value == 0):
            product = f"{self.need(start, operand=True)} + {product}"
        return [f"{x.counter} = {product}"]

    def trip_count(self, x: Loop) -> str:
        start, stop, step = x.bounds
        assert isinstance(step, tree.Literal)
        ends = [f"int({self.need(part)})" if part.scalar.kind == "u" else
                self.need(part, operand=True) for part in (start, stop)]  # fmt: skip
        first, last = ends if step.value > 0 else ends[::-1]
        size = abs(int(step.value))
        return f"max(0, ({last} - {first} + {size - 1}) // {size})"

    # --- the whole --------------------------------------------------------------------------

    def adjoint(self) -> Adjoint:
        body = simplified(self.lines(), self.analysis.cotangents.values())
        changed = [name for name in self.cotangent_arrays if name in self.changed]
        unchanged = [
            name
            for name, own in self.cotangent_arrays.items()
            if own in self.used and name not in self.changed
        ]
        # Names that only the cotangents' own text declares are used as well.
        values = [
            name
            for name, parameter in self.kernel.parameters.items()
            if (isinstance(parameter, tree.Variable) and self.mentions(name, body))
            or (isinstance(parameter, Array) and name in self.used)
        ]
        restored = [name for name in values if name in self.kernel.written]
        cotangents = {name: self.cotangent_arrays[name] for name in (*changed, *unchanged)}
        declared = [f"{name} = {value}" for name, value in self.declared.items()
                    if self.mentions(name, body)]  # fmt: skip
        parameters = [*cotangents.values(), *values]
        name = fresh(self.names, f"{self.kernel.name}_adjoint")
        lines = [
            f"def {name}({', '.join(parameters)}):",
            *_indented([*self.tapes, *declared, *body]),
            "",
        ]
        return Adjoint(name, "\n".join(lines), cotangents, values, changed, restored)

    def mentions(self, name: str, body: Lines) -> bool:
        return any(name in names_in(line) for line in body)


def _adjoint_type(type_: Scalar) -> Scalar:
    """Return the type of the cotangent of a number."""
    return type_ if type_.dtype is None else types.strong(cotangent_dtype(type_.dtype))


def _power(exponent: float) -> Partial:
    """Return the derivative of a power with a constant exponent."""
    if exponent in (0, 1, 2):
        return Partial(("", "1", "2.0 * {0}")[int(exponent)])
    literal = python_text.literal(exponent, types.of_python(exponent))
    lower = python_text.literal(exponent - 1, types.of_python(exponent - 1))
    return Partial(f"{literal} * {{0}} ** {lower}", steep=exponent < 1 or type(exponent) is float)


def _before(count: str) -> str:
    """Return the last index of a count."""
    return str(int(count) - 1) if count.isdigit() else f"{count} - 1"


def _indented(lines: Iterable[str]) -> Lines:
    return [f"    {line}" for line in lines]


def _bracketed(value: str) -> str:
    return f"({value})" if " if " in value or value.startswith("-") else value
