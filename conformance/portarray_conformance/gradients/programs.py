"""Programs of several calls that have gradients: drawn, run on a device, and compared."""

from __future__ import annotations

import ast
import copy
import random
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

import portarray as pa
from portarray_conformance.gradients.case import Values
from portarray_conformance.gradients.differences import KinkError, along, has, loss, placed
from portarray_conformance.programs import arguments, values
from portarray_conformance.programs.generator import Generator, Rules, call
from portarray_conformance.programs.program import BUILTINS, Snap, target_machine
from portarray_conformance.programs.statements import Aliases, Statement, read_statement
from portarray_conformance.programs.values import Flavor
from portarray_conformance.run import Result, shorten
from portarray_conformance.target import Target, portarray_target

__all__ = ["draw_program", "run_programs"]

FEWEST, MOST = 3, 8
TRIES = 60
# Larger results are not used, nor are functions of them.
LARGEST = 50.0
LARGEST_GRADIENT = 1e4
# How often a call without floating-point results is kept.
OTHER = 0.2
DIRECTIONS = 2
NEAR = 1e-3
SHRINK_SECONDS = 10.0
CHAPTER = "gradients of programs"
WIDE, NARROW = 1e-6, 3e-3
"""Largest errors in double and in single precision, beside 1 and the largest element."""
MAGNIFIED = 30
"""How many times the rounding errors of NumPy's own results may be exceeded."""
SINGLE = 0.25

NOT_CALLED = frozenset(
    {
        # what has no gradient, or none that is the same everywhere
        *("unique_all", "unique_counts", "unique_inverse", "unique_values", "from_dlpack"),
        *("empty", "empty_like", "linalg.eig", "linalg.matrix_rank", "nextafter"),
        # what reads values
        *("x.item()", "x.tolist()", "float", "int", "bool", "complex", "list", "x.__index__()"),
        *("finfo", "iinfo", "isdtype", "can_cast", "result_type", "broadcast_shapes", "len"),
    }
)
SYMMETRIC = re.compile(r"xp\.linalg\.(cholesky|eigh|eigvalsh)\((\w+)")
ITEMS = re.compile(r"xp\.linalg\.(svd|qr|eigh|slogdet)\((\w+|\w+ \+ xp\.conj\(\w+\.mT\)).*\)$")
# Central differences do not see steps and waves that are shorter than theirs; orders of norms may
# be infinite.
EXTREME = re.compile(r"\de-?\d|(?<!ord=)(?<!ord=-)\binf\b|\bnan\b")
# Where derivatives are infinite, which times zero is NaN: what functions are not called near.
EDGES = {
    **dict.fromkeys(("asin", "acos", "acosh", "atanh"), 1.0),
    **dict.fromkeys(("sqrt", "pow", "**", "in-place **", "linalg.vector_norm"), 0.0),
}
CUT = frozenset(
    {
        *("acos", "acosh", "asin", "asinh", "atan", "atanh", "log", "log10", "log1p", "log2"),
        *("pow", "sqrt", "**", "in-place **"),
    }
)
COMPLEX = re.compile(r"complex|fft|eig|\dj|\.conj|\.imag")


class Program(NamedTuple):
    """Statements, the arrays that they begin with, and those that are there at the end."""

    inputs: tuple[str, ...]
    args: tuple[Values, ...]
    statements: tuple[str, ...]
    outputs: tuple[str, ...]

    def text(self) -> str:
        """Return the program as a function that can be pasted into Python."""
        given = [
            f"{name} = {value.tolist()}" for name, value in zip(self.inputs, self.args, strict=True)
        ]
        body = [f"    {line}" for line in (*self.statements, f"return {', '.join(self.outputs)}")]
        return "\n".join([*given, f"def program({', '.join(self.inputs)}):", *body])


class _Drafted(Generator):
    """A program while it is drawn: statements are kept whose results are finite and not large."""

    making = False

    def make(self, text: str) -> str:
        """Emit an array that is needed; those of floating-point numbers depend on earlier ones."""
        if "xp.asarray" in text and re.search(r"dtype=xp\.(float|complex)", text):
            known = [
                name
                for name, info in self.arrays.items()
                if info.dtype == "float64" and 0 not in info.shape
            ]
            if known:
                text = f"{text} + xp.sin(xp.mean({self.rng.choice(known)})) / 8"
        before, self.making = self.making, True
        try:
            return super().make(text)
        finally:
            self.making = before

    def emit(self, statement: str) -> bool:
        """Add a statement if it does what programs with gradients may do."""
        statement = _rewritten(statement, self.rng)
        read = read_statement(statement)
        if read.code is None or read.function in NOT_CALLED or EXTREME.search(statement):
            return False
        if self._repeats(statement) or self._at_edge(read):
            return False
        known, overlapped = dict(self.arrays), set(self.overlapped)
        names, aliases = self.variables.keys() | set(), copy.deepcopy(self.aliases)
        count = len(self.statements)
        if super().emit(statement) and self._keeps(statement, count):
            return True
        del self.statements[count:], self.steps[count:]
        self.arrays, self.overlapped = known, overlapped
        if not read.written:
            for name in self.variables.keys() - names:
                del self.variables[name]
            self.aliases = aliases
            return False
        self.variables = self.machine.environment()
        self.aliases = Aliases()
        for one in self.statements:
            self.machine.run(one, self.variables)
            self.aliases.step(one, failed=False)
        return False

    def _at_edge(self, read: Statement) -> bool:
        """Tell whether a function has no derivative at one of its operands, or an infinite one."""
        edge = EDGES.get(read.function)
        if not self.steps:
            return False
        for snap in (self.steps[-1].after.get(name) for name in read.read):
            # Integers too: PyTorch's derivative of 0 ** z by a complex z is NaN.
            if snap is None or snap.kind != "array" or snap.value.dtype.kind not in "iufc":
                continue
            x = snap.value
            if edge is not None and np.any(np.abs(np.abs(x) - edge) < NEAR):
                return True
            # On branch cuts rounding errors decide.
            if read.function in CUT and x.dtype.kind == "c" and np.any(np.abs(x.imag) < NEAR):
                return True
        return False

    def _repeats(self, statement: str) -> bool:
        """Tell whether a statement assigns to one place several times: which stays is open."""
        node = ast.parse(statement).body[0]
        target: ast.expr | None = node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
        if not isinstance(target, ast.Subscript):
            return False
        info = self.arrays.get(ast.unparse(target.value))
        if info is None:
            return False
        numbers = f"xp.reshape(xp.arange({values.size_of(info.shape)}), {info.shape!r})"
        target.value = ast.parse(numbers, mode="eval").body
        try:
            places = np.asarray(eval(ast.unparse(target), self.variables))  # noqa: S307 - own text
        except (IndexError, TypeError, ValueError):
            return False
        return len(np.unique(places)) < places.size

    def _keeps(self, statement: str, place: int) -> bool:
        after = self.steps[place].after
        if not all(map(self._moderate, after.values())):
            return False
        bound = [after[name] for name in read_statement(statement).bound if name in after]
        floating = not bound or any(
            one.kind == "tuple" or (one.kind == "array" and one.value.dtype.kind in "fc")
            for one in bound
        )
        return floating or self.making or self.rng.random() < OTHER

    def _moderate(self, snap: Snap) -> bool:
        if snap.kind == "tuple":
            return all(map(self._moderate, snap.value))
        if snap.kind != "array" or snap.value.dtype.kind not in "fc":
            return True
        return bool(np.all(np.abs(snap.value) <= LARGEST)) and snap.what in self.everything


def _rewritten(statement: str, rng: random.Random) -> str:
    """Return a statement whose value is determined: factors are fixed but for signs and phases."""
    # Of a matrix and its transpose, as these functions look at one half alone.
    statement = SYMMETRIC.sub(r"xp.linalg.\1(\2 + xp.conj(\2.mT)", statement)
    statement = re.sub(r"(xp\.linalg\.eigvals\(\w+\))", r"xp.sum(xp.abs(\1))", statement)
    name, _, expression = statement.partition(" = ")
    found = ITEMS.fullmatch(expression)
    if found is None:
        return statement
    function, x = found.groups()
    more, count = {
        "svd": (", full_matrices=False", 3),
        "qr": ("", 2),
        "eigh": ("", 2),
        "slogdet": ("", 2),
    }[function]
    return f"{name} = xp.abs(xp.linalg.{function}({x}{more})[{rng.randrange(count)}])"


@lru_cache(maxsize=20_000)
def draw_program(seed: int, number: int) -> Program:
    """Return program ``number`` of a seed, in double precision."""
    rng = random.Random(f"gradients {seed}:{number}")
    dtypes = ["float64", "complex128"] if rng.random() < 0.25 else ["float64"]
    target = portarray_target("numpy")
    with target.scope(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = target_machine(target)
        g = _Drafted(rng, machine, Rules([*dtypes, "int64", "bool"]))
        g.variables = machine.environment()
        g.flavor = Flavor(apart=True)
        g.dtypes, g.everything = dtypes, [*dtypes, "int64", "bool"]
        for _ in range(rng.choice((1, 1, 2, 3))):
            shape = values.shape_of(rng, most=3)
            arguments.new_array(g, shape, rng.choice(dtypes))
        inputs = tuple(g.arrays)
        args = tuple(g.steps[-1].after[name].value for name in inputs)
        begun = len(g.statements)
        wanted = rng.randint(FEWEST, MOST)
        for _ in range(TRIES):
            if sum("xp.asarray" not in one for one in g.statements[begun:]) >= wanted:
                break
            call(g)
    outputs = tuple(name for name, info in g.arrays.items() if info.dtype in dtypes)
    return Program(inputs, args, tuple(g.statements[begun:]), outputs)


def _function(program: Program, replaced: Sequence[tuple[str, str]]) -> Callable[..., Any]:
    """Return a program, with other dtypes, as a function of the sum of its outputs' losses."""
    text = "\n".join(program.statements)
    for one, other in replaced:
        # Python's types stand for dtypes too, alone and not called.
        python = rf"(?<=[ =]){one.rstrip('0123456789')}(?=[,)])"
        text = re.sub(rf"xp\.{one}\b|{python}", f"xp.{other}", text)
    code = compile(text, "<program>", "exec")

    def function(*args: Any) -> Any:
        variables = {"xp": pa, **BUILTINS, **dict(zip(program.inputs, args, strict=False))}
        exec(code, variables)  # noqa: S102 - the suite's own text
        losses = [loss(variables[name]) for name in program.outputs]
        return sum(losses[1:], start=losses[0])

    return function


class Reference(NamedTuple):
    """What a program gives on NumPy's device."""

    value: float
    gradients: list[Values]
    # How far rounding errors of double and single precision go.
    wide: float
    narrow: float


class Refused(NamedTuple):
    """Why a program is not compared: ``"kink"`` or ``"rounding"``, and in words."""

    kind: str
    why: str


def _gradients(
    program: Program, device: Any, *, narrow: bool, way: str = "grad"
) -> tuple[Any, Any]:
    """Return the value and the gradients on a device, as arrays of it."""
    replaced = []
    if narrow:
        replaced += [("float64", "float32"), ("complex128", "complex64")]
    if not has(device, "int64"):
        replaced.append(("int64", "int32"))
    function = _function(program, replaced)
    args = [placed(x, device, narrow=narrow) for x in program.args]
    places = tuple(range(len(args)))
    if way == "beside another device":
        found = pa.value_and_grad(function, (*places, len(args)))(*args, pa.ones(2, device="numpy"))
        return found[0], found[1][:-1]
    if way == "checkpoint":
        function = pa.checkpoint(function)
    return pa.value_and_grad(function, places)(*args)  # type: ignore[no-any-return]


def _flat(arrays: Sequence[Any]) -> Values:
    parts = [np.reshape(np.asarray(x), -1).astype(np.complex128) for x in arrays]
    return np.concatenate(parts) if parts else np.zeros(0, np.complex128)


@lru_cache(maxsize=20_000)
def _reference(seed: int, number: int) -> Reference | Refused:
    program = draw_program(seed, number)
    return reference(program)


def reference(program: Program) -> Reference | Refused:
    """Return NumPy's value and gradient of a program, which central differences agree with.

    Raises
    ------
    AssertionError
        Where they do not.
    """
    function = _function(program, ())
    rng = np.random.default_rng(3)

    def value(args: Sequence[Values]) -> float:
        return float(function(*(placed(x, "numpy", narrow=False) for x in args)))

    def drawn(x: Values) -> Values:
        found = rng.normal(size=x.shape)
        return np.asarray(found + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else found)

    with pa.device("numpy"), np.errstate(all="ignore"):
        y, found = _gradients(program, "numpy", narrow=False)
        gradients = [np.asarray(x) for x in found]
        flat = _flat(gradients)
        most = float(np.max(np.abs(flat), initial=0))
        differences = []
        try:
            for _ in range(DIRECTIONS):
                directions = {n: drawn(x) for n, x in enumerate(program.args)}
                differences.append((directions, along(value, program.args, directions)))
        except KinkError as error:
            return Refused("kink", str(error))
        except (ValueError, IndexError) as error:  # shapes depend on values there
            return Refused("kink", f"near the point it raises {error}")
        if not most <= LARGEST_GRADIENT and np.isfinite(most):
            return Refused("rounding", f"the largest element of the gradient is {most:.2g}")
        spreads = []
        for eps, narrow in ((1e-14, False), (1e-7, True)):
            moved = program._replace(
                args=tuple(
                    np.asarray(x * (1 + eps * rng.normal(size=x.shape))) for x in program.args
                )
            )
            others = [_gradients(moved, "numpy", narrow=False)]
            if narrow:
                others.append(_gradients(program, "numpy", narrow=True))
            spread = max(np.max(np.abs(_flat(one[1]) - flat), initial=0) for one in others)
            spreads.append(max(spread, *(abs(float(one[0]) - float(y)) for one in others)))
    for directions, wanted in differences:
        got = float(np.real(np.vdot(_flat(list(directions.values())), flat)))
        if not abs(got - wanted) <= WIDE * (1 + most) + MAGNIFIED * spreads[0]:
            if spreads[0] > WIDE * (1 + most):
                return Refused(
                    "rounding", f"rounding errors change the gradient by {spreads[0]:.2g}"
                )
            raise AssertionError(
                f"central differences: the derivative in a direction is {wanted:.9g}, the "
                f"gradient's {got:.9g}"
            )
    return Reference(float(y), gradients, *map(float, spreads))


def compare(program: Program, target: Target, way: str, *, narrow: bool, known: Reference) -> None:
    """Compare a program's value and gradient on a device with NumPy's.

    Raises
    ------
    AssertionError
        Where they differ.
    """
    y, found = _gradients(program, target.device, narrow=narrow, way=way)
    where = f" by {way}{' in single precision' if narrow else ''}"
    bound = NARROW if narrow else WIDE
    spread = MAGNIFIED * (known.narrow if narrow else known.wide)
    value = float(y)
    size = (
        1
        + abs(known.value)
        + max([float(np.max(np.abs(x), initial=0)) for x in known.gradients], default=0)
    )
    if not abs(value - known.value) <= bound * size + spread:
        raise AssertionError(f"value{where}: got {value:.9g}, wanted {known.value:.9g}")
    for n, (x, want) in enumerate(zip(found, known.gradients, strict=True)):
        got = target.get(x)
        if got.shape != want.shape:
            raise AssertionError(f"gradient{where}: shape {got.shape} of {want.shape}")
        off = np.max(np.abs(got - want), initial=0)
        if not off <= bound * size + spread:
            raise AssertionError(
                f"gradient{where}: that of {program.inputs[n]} is {off:.3g} off\n"
                f"got    {got.tolist()}\nwanted {want.tolist()}"
            )


class Drawn(NamedTuple):
    """How a program is run on a device."""

    way: str
    narrow: bool


def drawn_way(program: Program, target: Target, seed: int, number: int) -> Drawn:
    """Return how a program is run on a device."""
    rng = random.Random(f"way {seed}:{number}")
    way = rng.choice(("grad", "grad", "beside another device", "checkpoint"))
    wide = has(target.device, "float64")
    if COMPLEX.search("\n".join(program.statements)) or any(
        x.dtype.kind == "c" for x in program.args
    ):
        wide = wide and has(target.device, "complex128")
    return Drawn(way, not wide or rng.random() < SINGLE)


def _fails(program: Program, target: Target, drawn: Drawn) -> str:
    """Return what is wrong with a program on a target; nothing where all is right."""
    try:
        known = reference(program)
    except Exception as error:  # noqa: BLE001 - whatever is raised is what is wrong
        return _kind(error)
    if isinstance(known, Refused):
        return ""
    try:
        compare(program, target, drawn.way, narrow=drawn.narrow, known=known)
    except Exception as error:  # noqa: BLE001 - as above
        return _kind(error)
    return ""


def _kind(error: Exception) -> str:
    if isinstance(error, AssertionError):
        return str(error).partition(":")[0].partition(" by ")[0]
    return type(error).__name__


def smaller(program: Program, target: Target, drawn: Drawn, kind: str) -> Program:
    """Return a program with the same fault and fewer statements."""
    until = time.monotonic() + SHRINK_SECONDS
    found = program
    place = len(found.statements) - 1
    while place >= 0 and time.monotonic() < until:
        rest = (*found.statements[:place], *found.statements[place + 1 :])
        gone = set(read_statement(found.statements[place]).bound)
        outputs = tuple(name for name in found.outputs if name not in gone)
        for kept in ((outputs[-1:],) if len(outputs) > 1 else ()) + (outputs,):
            less = found._replace(statements=rest, outputs=kept)
            if kept and _fails(less, target, drawn) == kind:
                found = less
                break
        place -= 1
    for name in found.outputs:
        less = found._replace(outputs=tuple(one for one in found.outputs if one != name))
        if less.outputs and time.monotonic() < until and _fails(less, target, drawn) == kind:
            found = less
    return found


def run_programs(
    target: Target,
    count: int,
    seed: int,
    *,
    on_result: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Compare values and gradients of drawn programs on a device with central differences.

    Parameters
    ----------
    target : Target
        A device of portarray.
    count, seed : int
        How many programs are drawn, and what draws them.
    on_result : callable
        Called once for each program.

    Returns
    -------
    list of Result
        One for each distinct fault, one for each function without any, and one that counts the
        programs that could not be compared.
    """
    found: dict[tuple[str, str], list[Any]] = {}
    called: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    passed = Result("programs", CHAPTER, "drawn", target.label, "", "passed", 0.0)
    with warnings.catch_warnings(), target.scope(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for number in range(count):
            program = draw_program(seed, number)
            if not program.outputs:
                refused["nothing to differentiate"] += 1
                on_result(passed)
                continue
            drawn = drawn_way(program, target, seed, number)
            try:
                known = _reference(seed, number)
                if isinstance(known, Refused):
                    refused[known.kind] += 1
                    on_result(passed)
                    continue
                compare(program, target, drawn.way, narrow=drawn.narrow, known=known)
            except Exception as error:  # noqa: BLE001 - whatever is raised is a finding
                kind = _kind(error)
                less = smaller(program, target, drawn, kind)
                function = read_statement(less.statements[-1]).function if less.statements else ""
                key = function, kind
                new = key not in found
                found.setdefault(key, [0, less, f"{type(error).__name__}: {error}", number])[0] += 1
                result = _finding(target, seed, key, found[key])
                on_result(result if new else passed)
                continue
            called.update(read_statement(one).function for one in program.statements)
            on_result(passed)
            if number % 500 == 499:
                target.forget()
    bad = {function for function, _ in found}
    return [
        *(_finding(target, seed, key, one) for key, one in found.items()),
        *(
            Result(name, CHAPTER, "drawn", target.label, "", "passed", 0.0, n)
            for name, n in sorted(called.items())
            if name not in bad
        ),
        *(
            Result(
                "programs", CHAPTER, f"not compared: {kind}", target.label, "", "not run", 0.0, n,
                reason=f"{n} of {count} programs: {WHY[kind]}",
            )
            for kind, n in sorted(refused.items())
        ),
    ]  # fmt: skip


WHY = {
    "kink": "central differences of two steps differ, so that there is a kink near the point",
    "rounding": "rounding errors of NumPy's double precision change the gradient visibly",
    "nothing to differentiate": "no array of floating-point numbers is left at the end",
}


def _finding(target: Target, seed: int, key: tuple[str, str], one: list[Any]) -> Result:
    count, program, message, number = one
    return Result(
        function=key[0],
        chapter=CHAPTER,
        aspect=key[1],
        target=target.label,
        served="",
        status="failed",
        seconds=0.0,
        examples=count,
        example=program.text(),
        message=shorten(f"{message}\nprogram {seed}:{number}; {count} programs"),
    )
