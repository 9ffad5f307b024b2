"""Draw programs, each from its own seed; the reference runs every statement as it is drawn."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from portarray_conformance.programs import arguments, calls, invalid_arguments, keys, values
from portarray_conformance.programs.arguments import Draft, Info
from portarray_conformance.programs.matrices import DRAWERS
from portarray_conformance.programs.program import Machine, Snap, Step
from portarray_conformance.programs.statements import Aliases, read_statement
from portarray_conformance.programs.values import KINDS, Flavor

# Statements that are calls, apart from those that only make arrays.
FEWEST, MOST = 3, 10
WRONG = 1 / 6
REPEATING = ("broadcast_to", "broadcast_arrays", "meshgrid")
NAMES = [f"{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"] + [f"v{i}" for i in range(200)]


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """Which programs are drawn for a target.

    Parameters
    ----------
    dtypes
        Names of the dtypes it has.
    portarray
        Whether mixed kinds, all indexing, methods and invalid arguments are drawn too, as
        portarray defines them. Otherwise only what the standard defines is drawn.
    subnormal
        Whether subnormal numbers are drawn.
    """

    dtypes: Sequence[str]
    portarray: bool = True
    subnormal: bool = True


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program and its steps in the reference."""

    statements: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(slots=True)
class Generator:
    """One program while it is drawn; drawers use it as an ``arguments.Builder``."""

    rng: random.Random
    machine: Machine
    options: ProgramOptions
    extended: bool = True
    dtypes: list[str] = field(default_factory=list)
    everything: list[str] = field(default_factory=list)
    arrays: dict[str, Info] = field(default_factory=dict)
    flavor: Flavor = field(default_factory=Flavor)
    special: float = 0.0
    statements: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    aliases: Aliases = field(default_factory=Aliases)
    # Arrays of which several elements may share memory: writing into them is undefined.
    overlapped: set[str] = field(default_factory=set)
    fresh: int = 0

    def name(self) -> str:
        """Return the next unused name of a variable."""
        self.fresh += 1
        return NAMES[self.fresh - 1]

    def make(self, text: str) -> str:
        """Emit a statement that binds a new variable to an expression; return its name."""
        name = self.name()
        self.emit(f"{name} = {text}")
        return name

    def emit(self, statement: str) -> bool:
        """Add a statement, run it in the reference and record the arrays that it bound."""
        error = self.machine.run(statement, self.variables)
        previous: Mapping[str, Snap] = self.steps[-1].after if self.steps else {}
        parsed = read_statement(statement)
        bound, written = parsed.bound, parsed.written
        if parsed.function in REPEATING or (
            parsed.shares and self.overlapped.intersection(parsed.read)
        ):
            self.overlapped.update(bound)
        touched = self.aliases.step(statement, error is not None)
        after = dict(previous)
        for name in (*bound, *((written,) if written else ()), *touched):
            if name in self.variables:
                after[name] = self.machine.snap(self.variables[name])
        self.statements.append(statement)
        self.steps.append(Step(error, after))
        for name in touched:
            self.arrays.pop(name, None)
        if error is None:
            for name in bound:
                self.register(name, after[name])
            if written:
                self.register(written, after[written])
        return error is None

    def register(self, name: str, snap: Snap) -> None:
        """Record a variable that later statements may use."""
        self.arrays.pop(name, None)
        if name in self.aliases.undetermined:
            return  # nothing that uses it is compared
        if (
            snap.kind == "array"
            and snap.value.size <= arguments.MOST_ELEMENTS
            and snap.type_name in KINDS
        ):
            self.arrays[name] = Info(snap.value.shape, snap.type_name)
        elif snap.kind == "tuple":
            for index, item in enumerate(snap.value[:3]):
                small = item.kind == "array" and item.value.size <= arguments.MOST_ELEMENTS
                if small and self.rng.random() < 0.4:
                    self.make(f"{name}[{index}]")


def draw_program(seed: int, index: int, machine: Machine, options: ProgramOptions) -> Drawn:
    """Return program ``index`` of a seed; it depends on these and the options alone."""
    rng = random.Random(f"{seed}:{index}")
    g = Generator(rng, machine, options, extended=options.portarray)
    g.variables = machine.environment()
    g.flavor = Flavor(subnormal=options.subnormal)
    # Few dtypes in one program, so that its arrays meet.
    few = rng.choice((1, 2, 2, 3, len(options.dtypes)))
    g.dtypes = g.everything = list(options.dtypes)
    g.dtypes = list(dict.fromkeys(arguments.pick_dtype(g, "iufcb") for _ in range(few)))
    g.dtypes += [name for name in options.dtypes if name not in g.dtypes and rng.random() < 0.3]
    for _ in range(rng.choice((1, 1, 2))):
        arguments.new_array(g, values.shape_of(rng), arguments.pick_dtype(g, "iufcb"))
    for _ in range(rng.randint(FEWEST, MOST)):
        call(g)
    return Drawn(tuple(g.statements), tuple(g.steps))


def call(g: Generator) -> None:
    """Emit one statement, preceded by those that create its arguments."""
    rng = g.rng
    # The standard does not define the effect of most mistakes.
    bad = g.extended and rng.random() < WRONG
    chance = rng.random()
    if chance < 0.5:
        function_call(g, bad)
    elif chance < 0.64:
        operator(g, bad)
    elif chance < 0.76:
        indexing(g, bad)
    elif chance < 0.87:
        assignment(g, bad)
    elif chance < 0.94:
        in_place(g, bad)
    else:
        plain(g)


FUNCTIONS = {
    extended: [name for name in calls.names(extended) for _ in range(calls.WEIGHT.get(name, 1))]
    for extended in (True, False)
}


def function_call(g: Generator, bad: bool) -> None:
    """Emit a call of a function or method."""
    rng = g.rng
    name = rng.choice(FUNCTIONS[g.extended])
    d = Draft(g)
    positional: list[tuple[str, str]] = []
    keywords: list[tuple[str, str, str]] = []
    left_out = False
    for word in calls.row(name).split():
        optional = word.endswith("?")
        keyword, _, argument = word.rstrip("?").rpartition("=")
        drawer, _, spec = argument.partition(":")
        if optional and rng.random() < 0.5 and not (keyword and keyword in d.memory):
            left_out = left_out or not keyword
            continue
        if left_out and not keyword:
            continue
        text = DRAWERS[drawer](d, spec)
        if not text:
            continue
        if keyword:
            keywords.append((keyword, drawer, text))
        else:
            positional.append((drawer, text))
    if bad:
        invalid_arguments.corrupt(g, d, positional, keywords)
    call_arguments = [text for _, text in positional] + [
        f"{key}={text}" for key, _, text in keywords
    ]
    if name.startswith("x."):
        if not call_arguments or not call_arguments[0].isidentifier():
            return
        expression = f"{call_arguments[0]}{name[1:]}({', '.join(call_arguments[1:])})"
    else:
        expression = f"xp.{name}({', '.join(call_arguments)})"
    g.emit(f"{g.name()} = {expression}")


OPERANDS = {
    "@": "iufc", "&": "iub", "|": "iub", "^": "iub", "<<": "iu", ">>": "iu", "==": "iufcb",
    "!=": "iufcb", "<": "iuf", "<=": "iuf", ">": "iuf", ">=": "iuf", "//": "iuf", "%": "iuf",
    "/": "fc+iu", "**": "fc+iu",
}  # fmt: skip


def operands(g: Generator, symbol: str, bad: bool) -> tuple[str, str]:
    """Return the two operands of an operator, the array first."""
    rng = g.rng
    d = Draft(g)
    kinds = OPERANDS.get(symbol, "iufc")
    x = arguments.draw_x(d, kinds + (":1" if symbol == "@" else ""))
    if bad:
        return x, invalid_arguments.bad_array(g, d)
    if symbol in ("<<", ">>"):
        return x, arguments.draw_shift(d, "")
    if symbol == "@":
        return x, DRAWERS["product"](d, "")
    if symbol == "**" and KINDS[d.info.dtype] in "iu" and rng.random() < 0.7:
        return x, str(rng.randint(0, 4))
    return x, arguments.draw_y(d, kinds)


def operator(g: Generator, bad: bool) -> None:
    """Emit ``x op y``, or ``y op x`` where y is a scalar."""
    symbol = g.rng.choice(calls.BINARY)
    x, y = operands(g, symbol, bad)
    reflected = symbol != "@" and symbol not in ("<<", ">>") and g.rng.random() < 0.3
    left, right = (y, x) if reflected else (x, y)
    if left.startswith("-") and symbol == "**":
        left = f"({left})"
    g.emit(f"{g.name()} = {left} {symbol} {right}")


def indexing(g: Generator, bad: bool) -> None:
    """Emit ``x[key]``."""
    name = arguments.find(g, "iufcb", 0 if g.rng.random() < 0.1 else 1)
    if name not in g.arrays:
        return
    shape = g.arrays[name].shape
    key = keys.bad_key(g, shape) if bad and g.extended else keys.key_text(g, shape)
    g.emit(f"{g.name()} = {name}[{key}]")


def writable(g: Generator, least: int = 0) -> str:
    """Return an array that may be written into: none of whose elements share memory."""
    name = arguments.find(g, "iufcb", least)
    return g.make(f"xp.asarray({name}, copy=True)") if name in g.overlapped else name


def assignment(g: Generator, bad: bool) -> None:
    """Emit ``x[key] = value`` or ``x[key] op= value``."""
    rng = g.rng
    name = writable(g, 0 if rng.random() < 0.1 else 1)
    if name not in g.arrays:
        return
    info = g.arrays[name]
    # Keys of fewer axes than the array has are portarray's.
    overlaps = bool(info.shape) and info.shape[0] > 1 and (g.extended or len(info.shape) == 1)
    if overlaps and rng.random() < 0.2 and not bad:
        g.emit(keys.overlap(g, name, info.shape))
        return
    key = keys.key_text(g, info.shape, assigned=True)
    if bad:
        key = keys.bad_key(g, info.shape)
    d = Draft(g)
    arguments.use(d, name)
    if bad and rng.random() < 0.5:
        value = invalid_arguments.bad_array(g, d)
    elif rng.random() < 0.45:
        kind = {"b": "b", "i": "i", "u": "u", "f": "if", "c": "ifc"}[KINDS[info.dtype]]
        value = values.scalar(rng, kind, wild=0.1 if g.extended else 0, numpy=g.extended)
    else:
        value = fitting_value(g, name, key, info.dtype)
    symbol = rng.choice(("=", "=", "=", "+=", "*=", "-=")) if info.dtype != "bool" else "="
    g.emit(f"{name}[{key}] {symbol} {value}")


def fitting_value(g: Generator, name: str, key: str, dtype: str) -> str:
    """Return an array that broadcasts to ``name[key]``."""
    try:
        shape = tuple(eval(f"{name}[{key}]", g.variables).shape)  # noqa: S307 - the suite's own text
    except Exception:  # noqa: BLE001 - the assignment will fail in the same way
        return "1"
    if values.size_of(shape) > arguments.MOST_ELEMENTS:
        return "1"
    if g.rng.random() < 0.3:
        shape = tuple(1 if g.rng.random() < 0.3 else n for n in shape)
        shape = shape[g.rng.randint(0, len(shape)) :]
    if not g.extended:
        return arguments.new_array(g, shape, dtype)
    return arguments.find(g, KINDS[arguments.promoted(g, dtype, "iufcb")], shape=shape, fresh=0.4)


def in_place(g: Generator, bad: bool) -> None:
    """Emit ``x op= y``."""
    symbol = g.rng.choice(calls.INPLACE_OPERATORS)
    d = Draft(g)
    kinds, _ = arguments.split(OPERANDS.get(symbol[:-1], "iufc"), g.extended)
    name = writable(g)
    if name not in g.arrays or (KINDS[g.arrays[name].dtype] not in kinds and not bad):
        return
    arguments.use(d, name)
    shape = d.info.shape
    if bad:
        value = invalid_arguments.bad_array(g, d)
    elif symbol == "@=":
        if len(shape) < 2:
            return
        value = arguments.find(g, KINDS[d.info.dtype], shape=(shape[-1], shape[-1]))
    elif symbol in ("<<=", ">>="):
        value = arguments.draw_shift(d, "")
    elif symbol == "**=" and KINDS[d.info.dtype] in "iu":
        value = str(g.rng.randint(0, 3))
    elif g.rng.random() < 0.5:
        kind = {"b": "b", "i": "i", "u": "u", "f": "if", "c": "ifc"}[KINDS[d.info.dtype]]
        value = values.scalar(g.rng, kind, wild=0.15 if g.extended else 0, numpy=g.extended)
    else:
        value = arguments.find(
            g, KINDS[d.info.dtype], shape=arguments.partner_shape(g.rng, shape), fresh=0.4
        )
    g.emit(f"{name} {symbol} {value}")


def plain(g: Generator) -> None:
    """Emit an attribute, a conversion to a Python scalar, or a unary operator."""
    text = g.rng.choice(
        calls.ARRAY_EXPRESSIONS + (calls.ARRAY_EXPRESSION_EXTRAS if g.extended else ())
    )
    least = 2 if text.endswith(".mT") and g.rng.random() < 0.9 else 0
    if text.endswith("({x})") and g.rng.random() < 0.7 and text != "abs({x})":
        name = arguments.find(g, "iufcb", shape=())
    else:
        name = arguments.find(g, "iufcb", least)
    if name not in g.arrays:
        return
    if text.endswith(".T") and len(g.arrays[name].shape) != 2 and not g.extended:
        return
    g.emit(f"{g.name()} = {text.format(x=name)}")
