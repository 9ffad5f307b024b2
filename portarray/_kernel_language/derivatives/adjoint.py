"""The adjoint of a kernel: the kernel that computes its vector-Jacobian product.

For each work-item the adjoint runs the statements forward as far as their values are needed, then
backwards. A variable ``x`` has a cotangent ``d_x``, and so has each array. A statement's reverse
restores the variable or element that the statement changed, so that all values are again those that
the statement read. A loop runs its iterations backwards: where these depend on the previous ones,
from the nearest saved state, of up to 32 parts of the loop and 32 steps of a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from portarray._kernel_language import tree, types
from portarray._kernel_language.derivatives import python_text
from portarray._kernel_language.derivatives.analysis import Analysis, assigned_in, closure
from portarray._kernel_language.derivatives.lines import Lines, indented, names_in, simplified
from portarray._kernel_language.derivatives.reverse_assignments import ReverseAssignments
from portarray._kernel_language.derivatives.simple_statements import (
    Add,
    Assign,
    If,
    Loop,
    Statement,
    Store,
    fresh,
    range_of,
)
from portarray._kernel_language.derivatives.simplification import simplify
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.types import Array

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


def adjoint_of(
    kernel: tree.Function, setting: Setting, differentiated: frozenset[str], *, saves: bool = True
) -> Adjoint:
    """Return the adjoint of a kernel.

    Parameters
    ----------
    kernel
        Its typed tree.
    setting
        What the kernel is read for.
    differentiated
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
    analysis = Analysis(kernel, program, setting.ndim, differentiated)
    # What the reverse needs is known when it has been written once.
    draft = _Writer(analysis, setting, None, saves=saves)
    draft.lines()
    needed = closure(program.body, draft.needed, draft.needed_arrays)
    return _Writer(analysis, setting, needed, saves=saves).adjoint()


class _Writer(ReverseAssignments):
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
        previous = self.needed, self.needed_arrays
        self.needed, self.needed_arrays = set(), set()
        lines = self.both(body)
        needed = self.needed, self.needed_arrays
        self.needed, self.needed_arrays = previous[0] | needed[0], previous[1] | needed[1]
        return lines, needed

    def backwards(self, x: Loop, body: Lines, state: list[str]) -> Lines:
        """Return a loop whose iterations, forward and in reverse, run backwards."""
        if not x.counter or not self.is_plain(x) or state:
            return self.reverse_saved(x, body, state)
        # For a counter from 0 in steps of 1 the loop runs backwards.
        self.declare_counter(x)
        stop = self.need(x.bounds[1], operand=True)
        return [f"for {x.counter} in range({_last_index(stop)}, -1, -1):", *indented(body)]

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
            head = f"for {step_back} in range({_last_index(count)}, -1, -1):"
            return [*out, head, *indented([*here, *body])]
        again = self.variable("again", index)
        plain = [*self.counter_at(x, again), *self.forward(x.body, saves=False)]
        entry = [f"{name} = {self.saved(x, name, self.program.variables[name])}" for name in state]
        if not self.saves_states:
            return [
                *out,
                f"for {step_back} in range({_last_index(count)}, -1, -1):",
                *indented([*entry, f"for {again} in range({step_back}):", *indented(plain)]),
                *indented([*here, *body]),
            ]
        if count.isdigit() and int(count) <= _SAVED:  # each state is saved
            save, restore = self.tape(state, int(count), again, step_back)
            return [
                *out,
                *entry,
                f"for {again} in range({count}):",
                *indented([*save, *plain]),
                f"for {step_back} in range({_last_index(count)}, -1, -1):",
                *indented([*restore, *here, *body]),
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
            f"for {part} in range(({_last_index(count)}) // {stride} + 1):",
            *indented([
                *save,
                *bounds,
                f"for {again} in range({first}, {last}):",
                *indented(plain),
            ]),
            f"for {part} in range(({_last_index(count)}) // {stride}, -1, -1):",
            *indented([
                *bounds,
                *restore,
                f"for {step} in range({steps} + 1):",
                *indented([
                    *save_step,
                    step_start,
                    f"for {again} in range({start}, {stop}):",
                    *indented(plain),
                ]),
                f"for {step} in range({steps}, -1, -1):",
                *indented([
                    step_start,
                    f"for {step_back} in range({stop} - 1, {start} - 1, -1):",
                    *indented([
                        *restore_step,
                        f"for {again} in range({start}, {step_back}):",
                        *indented(plain),
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

    def adjoint(self) -> Adjoint:
        body = simplified(self.lines(), self.analysis.cotangents.values())
        changed = [name for name in self.cotangent_arrays if name in self.changed]
        unchanged = [
            name
            for name, cotangent_name in self.cotangent_arrays.items()
            if cotangent_name in self.used and name not in self.changed
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
            *indented([*self.tapes, *declared, *body]),
            "",
        ]
        return Adjoint(name, "\n".join(lines), cotangents, values, changed, restored)

    def mentions(self, name: str, body: Lines) -> bool:
        return any(name in names_in(line) for line in body)


def _last_index(count: str) -> str:
    """Return the last index of a count."""
    return str(int(count) - 1) if count.isdigit() else f"{count} - 1"
