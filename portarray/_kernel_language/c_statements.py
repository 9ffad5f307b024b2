"""Prints typed statements in C-like languages, each with the line of Python that it is from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from portarray._kernel_language import tree, types
from portarray._kernel_language.c_expressions import Expressions
from portarray._kernel_language.c_text import opened
from portarray._kernel_language.c_types import HALVES, Types, c_name
from portarray._kernel_language.deep import deep
from portarray._kernel_language.types import Scalar


class Statements:
    def __init__(self, function: tree.Function, types_: Types) -> None:
        self.function = function
        self.types = types_
        self.values = Expressions(function, types_)
        self.count = 0

    @deep
    def block(self, body: Iterable[tree.Statement], depth: int) -> list[str]:
        """Return the lines of statements, each after a comment with its line in Python."""
        out: list[str] = []
        previous = ""
        for statement in body:
            lines = getattr(self, f"_do_{type(statement).__name__.lower()}")(statement, depth)
            lines = list(lines)
            if lines and not isinstance(statement, (tree.Block, tree.Memory)):
                location = self.location(statement, depth)
                if location != previous:
                    out.append(location)
                previous = location
            out += lines
        return out

    def location(self, x: tree.Node, depth: int) -> str:
        """Return a comment with a node's line number; no text of the user is in programs."""
        assert self.function.source is not None
        return f"{'    ' * depth}// line {self.function.source.line(x.at)}"

    def _do_block(self, x: tree.Block, depth: int) -> Iterator[str]:
        yield from self.block(x.body, depth)

    def _do_assign(self, x: tree.Assign, depth: int) -> Iterator[str]:
        pad = "    " * depth
        values = [
            self.values.stored(value, self.function.variables[name])
            for name, value in zip(x.names, x.values, strict=True)
        ]
        if len(values) == 1:
            yield f"{pad}{self.types.name(x.names[0])} = {values[0]};"
            return
        self.count += 1
        kinds = [self.types.c_type(self.function.variables[name]) for name in x.names]
        yield f"{pad}{{"
        for n, (kind, value) in enumerate(zip(kinds, values, strict=True)):
            yield f"{pad}    const {kind} pa_t{n} = {value};"
        for n, name in enumerate(x.names):
            yield f"{pad}    {self.types.name(name)} = pa_t{n};"
        yield f"{pad}}}"

    def _do_store(self, x: tree.Store, depth: int) -> Iterator[str]:
        pad = "    " * depth
        name, offset = self.types.name(x.array.name), self.values.element(x.array, x.index)
        value = self.values.converted(x.value, types.strong(x.array.dtype))
        if x.array.dtype.name in HALVES:
            yield f"{pad}pa_store_{c_name(x.array.dtype)}({name} + {offset}, {value});"
        else:
            yield f"{pad}{name}[{offset}] = {value};"

    def _do_if(self, x: tree.If, depth: int) -> Iterator[str]:
        pad = "    " * depth
        yield f"{pad}if ({opened(self.values.branch(x.condition))}) {{"
        yield from self.block(x.first, depth + 1)
        second = x.second
        while len(second) == 1 and isinstance(branch := second[0], tree.If):  # without nesting
            yield f"{pad}}} else if ({opened(self.values.branch(branch.condition))}) {{"
            yield self.location(branch, depth + 1)
            yield from self.block(branch.first, depth + 1)
            second = branch.second
        if second:
            yield f"{pad}}} else {{"
            yield from self.block(second, depth + 1)
        yield f"{pad}}}"

    def _do_while(self, x: tree.While, depth: int) -> Iterator[str]:
        pad = "    " * depth
        yield f"{pad}PA_LOOP"
        yield f"{pad}while ({opened(self.values.text(x.condition))}) {{"
        self.values.changing.append(set(tree.assigned_in(x.body)))
        yield from self.block(x.body, depth + 1)
        self.values.changing.pop()
        yield f"{pad}}}"

    def _do_for(self, x: tree.For, depth: int) -> Iterator[str]:
        pad = "    " * depth
        type_ = self.function.variables[x.name]
        assert isinstance(type_, Scalar)
        kind = self.types.c_type(type_)
        name = self.types.name(x.name)
        changed = x.keeps or x.name in set(tree.assigned_in(x.body))
        counter = self.types.generated("counter", x.name) if changed else name
        self.count += 1
        mark = self.count
        yield f"{pad}{{"
        inner = pad + "    "
        start = self.values.converted(x.start, type_)
        stop = self.values.converted(x.stop, type_)
        # Computed once, as the body may change what it depends on.
        if not isinstance(x.stop, (tree.Literal, tree.Size, tree.Position)):
            yield f"{inner}const {kind} pa_stop{mark} = {stop};"
            stop = f"pa_stop{mark}"
        initial = f"{kind} {counter} = {start}" if changed else f"{counter} = {start}"
        if isinstance(x.step, tree.Literal):
            step = int(x.step.value)
            sign = "<" if step > 0 else ">"
            test = f"{counter} {sign} {stop}"
            change = f"++{counter}" if step == 1 else f"{counter} += {step}"
        else:
            step_text = f"pa_step{mark}"
            yield f"{inner}const {kind} {step_text} = {self.values.converted(x.step, type_)};"
            up, down = f"{counter} < {stop}", f"{counter} > {stop}"
            test = f"({step_text} > 0 && {up}) || ({step_text} < 0 && {down})"
            change = f"{counter} += {step_text}"
        yield f"{inner}{'PA_UNROLL' if x.unroll else 'PA_LOOP'}"
        yield f"{inner}for ({initial}; {test}; {change}) {{"
        if changed:
            yield f"{inner}    {name} = {counter};"
        self.values.changing.append({*tree.assigned_in(x.body), x.name})
        yield from self.block(x.body, depth + 2)
        self.values.changing.pop()
        yield f"{inner}}}"
        yield f"{pad}}}"

    def _do_jump(self, x: tree.Jump, depth: int) -> Iterator[str]:
        yield f"{'    ' * depth}{x.word};"

    def _do_return(self, x: tree.Return, depth: int) -> Iterator[str]:
        pad = "    " * depth
        if x.value is None:
            yield f"{pad}return;"
            return
        assert self.function.result is not None
        yield f"{pad}return {self.values.stored(x.value, self.function.result)};"

    def _do_barrier(self, x: tree.Barrier, depth: int) -> Iterator[str]:
        yield f"{'    ' * depth}PA_BARRIER;"

    def _do_memory(self, x: tree.Memory, depth: int) -> Iterator[str]:
        return iter(())  # declared at the top

    def _do_print(self, x: tree.Print, depth: int) -> Iterator[str]:
        return iter(())  # in debug mode alone

    def _do_evaluate(self, x: tree.Evaluate, depth: int) -> Iterator[str]:
        yield f"{'    ' * depth}{self.values.text(x.value)};"

    def declarations(self) -> Iterator[str]:
        """Yield the declarations of local variables."""
        for name, type_ in self.function.variables.items():
            value = ""
            if name in self.function.parameters:
                value = f" = {self.parameter_value(name)}"
            yield f"    {self.types.c_type(type_)} {self.types.name(name)}{value};"

    def parameter_value(self, name: str) -> str:
        """Return the value of a parameter, converted to its variable's type."""
        passed, stored = self.function.parameters[name].type, self.function.variables[name]
        value = self.types.generated("given", name)
        if isinstance(passed, Scalar) and isinstance(stored, Scalar):
            source, target = self.types.settled(passed), self.types.settled(stored)
            return value if source == target else self.types.cast(value, source, target)
        return value
