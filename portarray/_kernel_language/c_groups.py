"""Prints kernels for processors without work-items: groups are loops.

Between two barriers all work-items of a group run in a loop, one after another. Loops and branches
that contain a barrier enclose such loops: their conditions are equal for all work-items of a group.
A variable that outlasts such a loop has an element for each work-item.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

from portarray._kernel_language import tree
from portarray._kernel_language.c_statements import Statements
from portarray._kernel_language.c_types import Types, c_name
from portarray._kernel_language.dialects import PLACES
from portarray._kernel_language.setting import MAX_AXES
from portarray._kernel_language.types import Array, Scalar

_ON_STACK = 32 * 1024
"""Bytes of private arrays that a work-item has on its thread's stack."""
_WORTH = 16 * 1024
"""Work-items without loops that are worth a second thread."""

_STATEMENTS = get_args(tree.Statement)

# Why a work-item is inactive: until the loop's next iteration, its end, or the kernel's end.
_CONTINUE, _BREAK, _RETURN = 1, 2, 3


@dataclass(slots=True)
class _Run:
    """Statements between two barriers, after initial assignments."""

    body: list[tree.Statement] = field(default_factory=list)
    initial: list[tuple[str, str]] = field(default_factory=list)
    in_loop: bool = False


@dataclass(slots=True)
class _Loop:
    """A loop around barriers, and the name of its counter."""

    node: tree.For | tree.While
    body: list[_Part]
    counter: str


@dataclass(slots=True)
class _Branch:
    """A branch around barriers."""

    node: tree.If
    first: list[_Part]
    second: list[_Part]


_Part = _Run | _Loop | _Branch


class Groups:
    """Prints the body of a kernel, and the function that runs all its groups."""

    def __init__(self, function: tree.Function, types_: Types) -> None:
        self.function = function
        self.types = types_
        self.statements = _InRuns(function, types_)
        self.axes = types_.axes
        self.count = 0
        self.taken: list[tuple[str, str, str]] = []  # memory of a group: type, name, count

        self.parts = self._parts(function.body, in_loop=False)
        initial = [
            (name, self.statements.parameter_value(name))
            for name in function.variables
            if name in function.parameters
        ]
        if initial:
            self._insert_initial(self.parts, initial, in_loop=False)
        runs = list(_runs(self.parts))
        self.exits = function.barriers and any(_leaves(run.body) for run in runs)
        uses: dict[str, list[_Run]] = {}
        for run in runs:
            for name in set(_names(run)):
                uses.setdefault(name, []).append(run)
        shared = set(_shared(self.parts))
        # Names of variables and private arrays that outlast a run.
        self.held = {
            name for name in function.variables if len(uses.get(name, ())) > 1 or name in shared
        }
        self._place_memory(uses)

    def _place_memory(self, uses: dict[str, list[_Run]]) -> None:
        arrays = list(tree.memories(self.function.body))
        private = [array for array in arrays if array.space == "private"]
        small = sum(map(_bytes, private)) <= _ON_STACK
        self.on_stack: set[str] = set()
        for array in arrays:
            name, size = self.types.name(array.name), math.prod(array.shape or ())
            runs = uses.get(array.name, [])
            if array.space == "private" and (len(runs) > 1 or any(run.in_loop for run in runs)):
                self.held.add(array.name)
                outer = self.types.generated("all", array.name)
                self.taken.append((c_name(array.dtype), outer, f"pa_items * {size}"))
            elif array.space == "private" and small:
                self.on_stack.add(array.name)
            else:
                self.taken.append((c_name(array.dtype), name, str(size)))
        self.arrays = {array.name: array for array in arrays}
        for name in self.function.variables:
            if name in self.held:
                kind = self.types.c_type(self.function.variables[name])
                self.taken.append((kind, self.types.generated("all", name), "pa_items"))
        if self.exits:
            self.taken.append(("u8", "pa_left", "pa_items"))

    def _parts(self, body: Iterable[tree.Statement], *, in_loop: bool) -> list[_Part]:
        """Split statements at barriers."""
        out: list[_Part] = []
        run: _Run | None = None
        for statement in tree.flat(body):
            if _waits(statement):
                run = None
                if isinstance(statement, (tree.For, tree.While)):
                    self.count += 1
                    inner = self._parts(statement.body, in_loop=True)
                    counter = f"pa_counter{self.count}"
                    if isinstance(statement, tree.For):
                        self._insert_initial(inner, [(statement.name, counter)], in_loop=True)
                    out.append(_Loop(statement, inner, counter))
                elif isinstance(statement, tree.If):
                    first = self._parts(statement.first, in_loop=in_loop)
                    out.append(
                        _Branch(statement, first, self._parts(statement.second, in_loop=in_loop))
                    )
                continue
            if isinstance(statement, (tree.Memory, tree.Print)):
                continue
            if run is None:
                run = _Run(in_loop=in_loop)
                out.append(run)
            run.body.append(statement)
        return out

    def _insert_initial(
        self, parts: list[_Part], initial: list[tuple[str, str]], *, in_loop: bool
    ) -> None:
        """Insert assignments before the first part."""
        if not parts or not isinstance(parts[0], _Run):
            parts.insert(0, _Run(in_loop=in_loop))
        first = parts[0]
        assert isinstance(first, _Run)
        first.initial = [*initial, *first.initial]

    def body(self) -> list[str]:
        """Return the lines of the function that runs one group, without its head."""
        kind = self.types.offset
        lines = [f"    PA_TAKE({element}, {name}, {count});" for element, name, count in self.taken]
        for d in range(3):
            if d < self.axes:
                first = f"({kind})pa_group_{d} * pa_size_{d}{self.types.origin(self.axes - 1 - d)}"
                lines.append(f"    const {kind} pa_first_{d} = {first};")
                end = f"pa_size_{d}"
                if not self.function.barriers:
                    length = self.types.length(self.axes - 1 - d)
                    end = f"({end} < {length} - pa_first_{d}"
                    end += f" ? pa_size_{d} : (i32)({length} - pa_first_{d}))"
                lines.append(f"    const i32 pa_end_{d} = {end};")
            else:
                lines.append(f"    const i32 pa_local_{d} = 0;")
        if self.exits:
            lines.append("    for (i32 pa_n = 0; pa_n < pa_items; ++pa_n) pa_left[pa_n] = 0;")
        return [*lines, *self._block(self.parts, 1)]

    def _block(self, parts: list[_Part], depth: int) -> Iterator[str]:
        for part in parts:
            if isinstance(part, _Run):
                yield from self._run(part, depth)
            else:
                pad = "    " * depth
                yield self.statements.location(part.node, depth)
                # Before a barrier, either all work-items have left or none.
                yield f"{pad}if (!pa_left[0]) {{" if self.exits else f"{pad}{{"
                if isinstance(part, _Loop):
                    yield from self._loop(part, depth + 1)
                else:
                    yield from self._branch(part, depth + 1)
                yield f"{pad}}}"

    def _run(self, run: _Run, depth: int) -> Iterator[str]:
        self.count += 1
        names = set(_names(run))
        apart = self._apart(run, names)
        pad = "    " * depth
        for d in reversed(range(self.axes)):
            if d == 0 and apart:
                yield f"{pad}PA_APART"
            loop = f"for (i32 pa_local_{d} = 0; pa_local_{d} < pa_end_{d}; ++pa_local_{d})"
            yield f"{pad}{loop}{' {' if d == 0 else ''}"
        inner = pad + "    "
        if self.function.barriers:
            linear = "pa_local_0"
            if self.axes > 1:
                linear = "(pa_local_2 * pa_size_1 + pa_local_1) * pa_size_0 + pa_local_0"
            yield f"{inner}const i32 pa_n = {linear};"
            if self.exits:
                yield f"{inner}if (pa_left[pa_n]) continue;"
        yield from self._places(inner)
        for name in self.function.variables:
            if name in names:
                c_variable, kind = (
                    self.types.name(name),
                    self.types.c_type(self.function.variables[name]),
                )
                value = f" = {self.types.generated('all', name)}[pa_n]" if name in self.held else ""
                yield f"{inner}{kind} {c_variable}{value};"
        for name, array in self.arrays.items():
            c_variable, size = self.types.name(name), math.prod(array.shape or ())
            kind = c_name(array.dtype)
            if name in names and name in self.held:
                outer = self.types.generated("all", name)
                yield f"{inner}{kind}* const {c_variable} = {outer} + (i64)pa_n * {size};"
            elif name in names and name in self.on_stack:
                yield f"{inner}{kind} {c_variable}[{size}];"
        for name, value in run.initial:
            yield f"{inner}{self.types.name(name)} = {value};"
        self.statements.next = f"pa_next{self.count}"
        self.statements.exits = self.exits
        yield from self.statements.block(run.body, depth + 1)
        yield f"{inner}{self.statements.next}:;"
        changed = {*tree.assigned_in(run.body), *(name for name, _ in run.initial)}
        for name in self.function.variables:
            if name in self.held and name in changed:
                outer = self.types.generated("all", name)
                yield f"{inner}{outer}[pa_n] = {self.types.name(name)};"
        yield f"{pad}}}"

    def _apart(self, run: _Run, names: set[str]) -> bool:
        """Return whether compilers may treat work-items as independent.

        Work-items of one run share memory only through atomic functions, tuples, complex numbers,
        and private arrays that are allocated once for all of them.
        """
        one_place = any(
            array.space == "private" and name in names and name not in self.held
            for name, array in self.arrays.items()
        )
        return not one_place and not any(
            isinstance(x, (tree.Atomic, tree.Items, tree.Item)) or _is_complex(x)
            for statement in run.body
            for x in _deep(statement)
        )

    def _places(self, pad: str) -> Iterator[str]:  # numpydoc ignore=YD01
        """Yield the declarations of a work-item's index."""
        ndim, kind = self.types.setting.ndim, self.types.offset
        if ndim <= MAX_AXES:
            for d in reversed(range(ndim)):
                yield f"{pad}const {kind} pa_index{ndim - 1 - d} = pa_first_{d} + pa_local_{d};"
            return
        for line in self.types.unraveled("pa_first_0 + pa_local_0"):
            yield f"{pad}{line}"

    def _read(self, expressions: Sequence[tree.Expr], pad: str) -> Iterator[str]:
        """Yield declarations of the variables of expressions that are equal for all work-items."""
        nodes = [x for expression in expressions for x in tree.walk(expression)]
        used = {x.name for x in nodes if isinstance(x, tree.Variable)}
        # Temporary variables of the expressions themselves.
        assigned = {name for x in nodes if isinstance(x, tree.Sequence) for name in x.names}
        for name, type_ in self.function.variables.items():
            c_variable, kind = self.types.name(name), self.types.c_type(type_)
            if name in assigned:
                yield f"{pad}{kind} {c_variable};"
            elif name in used:
                yield f"{pad}const {kind} {c_variable} = {self.types.generated('all', name)}[0];"

    def _branch(self, part: _Branch, depth: int) -> Iterator[str]:
        pad = "    " * depth
        self.count += 1
        name = f"pa_branch{self.count}"
        yield f"{pad}bool {name};"
        yield f"{pad}{{"
        yield from self._read([part.node.condition], pad + "    ")
        yield f"{pad}    {name} = {self.statements.values.text(part.node.condition)};"
        yield f"{pad}}}"
        yield f"{pad}if ({name}) {{"
        yield from self._block(part.first, depth + 1)
        yield f"{pad}}} else {{"
        yield from self._block(part.second, depth + 1)
        yield f"{pad}}}"

    def _loop(self, part: _Loop, depth: int) -> Iterator[str]:
        pad = "    " * depth
        inner = pad + "    "
        node = part.node
        values = self.statements.values
        if isinstance(node, tree.While):
            yield f"{pad}for (;;) {{"
            yield f"{inner}{{"
            yield from self._read([node.condition], inner + "    ")
            yield f"{inner}    if (!({values.text(node.condition)})) break;"
            yield f"{inner}}}"
        else:
            type_ = self.function.variables[node.name]
            assert isinstance(type_, Scalar)
            kind, name = self.types.c_type(type_), part.counter
            bounds = {"begin": node.start, "stop": node.stop, "step": node.step}
            yield f"{pad}{kind} {', '.join(f'{name}_{bound}' for bound in bounds)};"
            yield f"{pad}{{"
            yield from self._read(list(bounds.values()), inner)
            for bound, value in bounds.items():
                yield f"{inner}{name}_{bound} = {values.converted(value, type_)};"
            yield f"{pad}}}"
            up, down = f"{name} < {name}_stop", f"{name} > {name}_stop"
            test = f"({name}_step > 0 && {up}) || ({name}_step < 0 && {down})"
            yield f"{pad}for ({kind} {name} = {name}_begin; {test}; {name} += {name}_step) {{"
        yield from self._block(part.body, depth + 1)
        if not self.exits:
            yield f"{pad}}}"
            return
        every = "for (i32 pa_n = 0; pa_n < pa_items; ++pa_n)"
        yield f"{inner}{every} if (pa_left[pa_n] == {_CONTINUE}) pa_left[pa_n] = 0;"
        yield f"{inner}if (pa_left[0]) break;"
        yield f"{pad}}}"
        yield f"{pad}{every} if (pa_left[pa_n] == {_BREAK}) pa_left[pa_n] = 0;"

    def program(
        self, body: Sequence[str], pointers: Sequence[str], values: Sequence[tuple[str, str]]
    ) -> list[str]:
        """Return the functions that run one group and all groups."""
        c_function = self.types.generated("kernel", self.function.name)
        places = PLACES[3:]  # those of the group
        head = self.types.dialect.head(
            c_function,
            [*pointers, *(f"const i32 {declaration}" for declaration in places), "char* pa_memory"],
            values,
            plain=False,
        )
        items = "const i64 pa_items = (i64)pa_size_0 * pa_size_1 * pa_size_2;"
        entry = ["const char* pa_values", *pointers]
        n = len(values)
        reads = [f"    PA_GIVEN({kind}, {name}, {k});" for k, (kind, name) in enumerate(values)]
        for d in range(3):
            reads.append(f"    PA_GIVEN(i32, pa_range_{d}, {n + 2 - d});")
            reads.append(f"    PA_GIVEN(i32, pa_size_{d}, {n + 5 - d});")
            reads.append(f"    const i32 pa_count_{d} = pa_range_{d} / pa_size_{d};")
        reads.append(f"    PA_GIVEN(i64, pa_together, {n + 6});")
        memory = " + ".join(f"PA_BYTES({kind}, {count})" for kind, _, count in self.taken) or "0"
        passed = [
            *(declaration.rpartition(" ")[2].lstrip("*") for declaration in pointers),
            "(i32)(pa_g % pa_count_0)",
            "(i32)(pa_g / pa_count_0 % pa_count_1)",
            "(i32)(pa_g / pa_count_0 / pa_count_1)",
            *places[3:],
            "pa_memory",
            *(name for _, name in values),
        ]
        loops = any(
            isinstance(x, (tree.For, tree.While))
            for declaration in self.function.body
            for x in _deep(declaration)
        )
        return [
            head,
            f"    {items}",
            *body,
            "}",
            f"PA_ENTRY i32 pa_run_{len(pointers)}({', '.join(entry)}) {{",
            *reads,
            f"    {items}",
            "    const i64 pa_groups = (i64)pa_count_0 * pa_count_1 * pa_count_2;",
            f"    const i64 pa_bytes = {memory};",
            "    const i64 pa_chunk = 1 + pa_groups / 512;",
            "    i32 pa_failed = 0;",
            "    #pragma omp parallel if (pa_together && pa_groups > 1"
            f"{'' if loops else f' && pa_groups * pa_items >= {_WORTH}'})",
            "    {",
            "        char* const pa_memory = pa_bytes ? __builtin_malloc(pa_bytes) : 0;",
            "        #pragma omp for schedule(dynamic, pa_chunk)",
            "        for (i64 pa_g = 0; pa_g < pa_groups; ++pa_g) {",
            "            if (pa_bytes && !pa_memory) {",
            "                __atomic_store_n(&pa_failed, 1, __ATOMIC_RELAXED);",
            "                continue;",
            "            }",
            f"            {c_function}({', '.join(passed)});",
            "        }",
            "        __builtin_free(pa_memory);",
            "    }",
            "    return pa_failed;",
            "}",
            "",
        ]


class _InRuns(Statements):
    """Prints the statements of a run; a work-item jumps to the run's end to leave it."""

    next = ""
    exits = False

    def _do_return(self, x: tree.Return, depth: int) -> Iterator[str]:
        yield from self._leave(_RETURN, depth)

    def _do_jump(self, x: tree.Jump, depth: int) -> Iterator[str]:
        if self.values.changing:  # in a loop of the work-item's own
            yield from super()._do_jump(x, depth)
        else:
            yield from self._leave(_CONTINUE if x.word == "continue" else _BREAK, depth)

    def _leave(self, why: int, depth: int) -> Iterator[str]:
        pad = "    " * depth
        if self.exits:
            yield f"{pad}pa_left[pa_n] = {why};"
        yield f"{pad}goto {self.next};"


def _is_complex(x: object) -> bool:
    return isinstance(x, tree.Expr) and isinstance(x.type, Scalar) and x.type.kind == "c"


def _waits(x: tree.Statement) -> bool:
    return any(isinstance(node, tree.Barrier) for node in tree.walk(x))


def _runs(parts: Iterable[_Part]) -> Iterator[_Run]:
    for part in parts:
        if isinstance(part, _Run):
            yield part
        elif isinstance(part, _Loop):
            yield from _runs(part.body)
        else:
            yield from _runs(part.first)
            yield from _runs(part.second)


def _shared(parts: Iterable[_Part]) -> Iterator[str]:
    """Yield the variables that are read once for all work-items."""
    for part in parts:
        if isinstance(part, _Run):
            continue
        read: list[tree.Expr]
        if isinstance(part, _Branch):
            read = [part.node.condition]
            yield from _shared(part.first)
            yield from _shared(part.second)
        elif isinstance(part.node, tree.While):
            read = [part.node.condition]
            yield from _shared(part.body)
        else:
            read = [part.node.start, part.node.stop, part.node.step]
            yield from _shared(part.body)
        nodes = [x for expression in read for x in tree.walk(expression)]
        temporary = {name for x in nodes if isinstance(x, tree.Sequence) for name in x.names}
        yield from (
            x.name for x in nodes if isinstance(x, tree.Variable) and x.name not in temporary
        )


def _names(run: _Run) -> Iterator[str]:
    """Yield the names of variables and arrays that a run uses."""
    yield from (name for name, _ in run.initial)
    for statement in run.body:
        for node in tree.walk(statement):
            if isinstance(node, tree.Variable):
                yield node.name
            elif isinstance(node, (tree.Assign, tree.Sequence)):
                yield from node.names
            elif isinstance(node, tree.For):
                yield node.name
            elif isinstance(node, tree.HelperCall):
                yield from (array.name for array in tree.arrays_of(node.helper))
            elif isinstance(node, (tree.Load, tree.Store, tree.Atomic)):
                yield node.array.name


def _deep(x: object) -> Iterator[object]:
    """Yield a node, everything below it, and the bodies of helpers that it calls."""
    for node in tree.walk(x):
        yield node
        if isinstance(node, tree.HelperCall):
            for statement in node.helper.body:
                yield from _deep(statement)


def _leaves(body: Iterable[tree.Statement]) -> bool:
    """Return whether a work-item may leave a run before its end."""
    return any(
        isinstance(inner, (tree.Return, tree.Jump))
        for statement in body
        for inner in _statements_of_run(statement)
    )


def _statements_of_run(x: tree.Statement) -> Iterator[tree.Statement]:  # numpydoc ignore=YD01
    """Yield a statement and those in it, without the jumps of nested loops."""
    stack = [(x, False)]
    while stack:
        statement, in_loop = stack.pop()
        if not (in_loop and isinstance(statement, tree.Jump)):
            yield statement
        in_loop = in_loop or isinstance(statement, (tree.For, tree.While))
        inner = [part for part in tree.parts(statement) if isinstance(part, _STATEMENTS)]
        stack += [(part, in_loop) for part in inner]


def _bytes(array: Array) -> int:
    return math.prod(array.shape or ()) * array.dtype.itemsize
