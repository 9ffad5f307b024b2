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
from portarray_conformance.gradients.differences import (
    NARROW,
    SINGLE,
    WIDE,
    KinkError,
    along,
    has,
    loss,
    placed,
)
from portarray_conformance.programs import arguments, values
from portarray_conformance.programs.allowed_differences import is_lost_write
from portarray_conformance.programs.generator import Generator, ProgramOptions, call
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
# Share of calls without floating-point results that are kept.
OTHER = 0.2
DIRECTIONS = 2
NEAR = 1e-3
SHRINK_SECONDS = 10.0
CATEGORY = "gradients of programs"
MAGNIFIED = 30
"""Allowed multiple of the rounding errors of NumPy's own results."""

NOT_CALLED = frozenset(
    {
        # without a gradient, or without a unique one
        *("unique_all", "unique_counts", "unique_inverse", "unique_values", "from_dlpack"),
        *("empty", "empty_like", "linalg.eig", "linalg.matrix_rank", "nextafter"),
        # reads values
        *("x.item()", "x.tolist()", "float", "int", "bool", "complex", "list", "x.__index__()"),
        *("finfo", "iinfo", "isdtype", "can_cast", "result_type", "broadcast_shapes", "len"),
    }
)
SYMMETRIC = re.compile(r"xp\.linalg\.(cholesky|eigh|eigvalsh)\((\w+)")
ITEMS = re.compile(r"xp\.linalg\.(svd|qr|eigh|slogdet)\((\w+|\w+ \+ xp\.conj\(\w+\.mT\)).*\)$")
# Central differences do not see steps and waves that are shorter than theirs; orders of norms may
# be infinite.
EXTREME = re.compile(r"\de-?\d|(?<!ord=)(?<!ord=-)\binf\b|\bnan\b")
# Points with infinite derivatives, whose products with zero are NaN; no calls near them.
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
        inputs = [
            f"{name} = {value.tolist()}" for name, value in zip(self.inputs, self.args, strict=True)
        ]
        body = [f"    {line}" for line in (*self.statements, f"return {', '.join(self.outputs)}")]
        return "\n".join([*inputs, f"def program({', '.join(self.inputs)}):", *body])


class _Drafted(Generator):
    """A program while it is drawn: statements are kept whose results are finite and not large."""

    making = False

    def make(self, text: str) -> str:
        """Emit an array that is needed; those of floating-point numbers depend on earlier ones."""
        if "xp.asarray" in text and re.search(r"dtype=xp\.(float|complex)", text):
            sources = [
                name
                for name, info in self.arrays.items()
                if info.dtype == "float64" and 0 not in info.shape
            ]
            if sources:
                text = f"{text} + xp.sin(xp.mean({self.rng.choice(sources)})) / 8"
        previous, self.making = self.making, True
        try:
            return super().make(text)
        finally:
            self.making = previous

    def emit(self, statement: str) -> bool:
        """Add a statement if it is suitable for programs with gradients."""
        statement = _rewritten(statement, self.rng)
        read = read_statement(statement)
        if read.code is None or read.function in NOT_CALLED or EXTREME.search(statement):
            return False
        if self._repeats(statement) or self._at_edge(read):
            return False
        arrays, overlapped = dict(self.arrays), set(self.overlapped)
        names, aliases = self.variables.keys() | set(), copy.deepcopy(self.aliases)
        count = len(self.statements)
        if super().emit(statement) and self._keeps(statement, count):
            return True
        del self.statements[count:], self.steps[count:]
        self.arrays, self.overlapped = arrays, overlapped
        if not read.written:
            for name in self.variables.keys() - names:
                del self.variables[name]
            self.aliases = aliases
            return False
        self.variables = self.machine.environment()
        self.aliases = Aliases()
        for earlier in self.statements:
            self.machine.run(earlier, self.variables)
            self.aliases.step(earlier, failed=False)
        return False

    def _at_edge(self, read: Statement) -> bool:
        """Return whether a derivative is missing or infinite at one of the operands."""
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
        """Return whether a statement assigns to one element several times (undefined result)."""
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

    def _keeps(self, statement: str, index: int) -> bool:
        after = self.steps[index].after
        if not all(map(self._moderate, after.values())):
            return False
        bound = [after[name] for name in read_statement(statement).bound if name in after]
        floating = not bound or any(
            snap.kind == "tuple" or (snap.kind == "array" and snap.value.dtype.kind in "fc")
            for snap in bound
        )
        return floating or self.making or self.rng.random() < OTHER

    def _moderate(self, snap: Snap) -> bool:
        if snap.kind == "tuple":
            return all(map(self._moderate, snap.value))
        if snap.kind != "array" or snap.value.dtype.kind not in "fc":
            return True
        return bool(np.all(np.abs(snap.value) <= LARGEST)) and snap.type_name in self.everything


def _rewritten(statement: str, rng: random.Random) -> str:
    """Return a statement whose value is determined: factors are fixed but for signs and phases."""
    # Made symmetric, because these functions read only one triangle.
    statement = SYMMETRIC.sub(r"xp.linalg.\1(\2 + xp.conj(\2.mT)", statement)
    statement = re.sub(r"(xp\.linalg\.eigvals\(\w+\))", r"xp.sum(xp.abs(\1))", statement)
    name, _, expression = statement.partition(" = ")
    match = ITEMS.fullmatch(expression)
    if match is None:
        return statement
    function, x = match.groups()
    more, count = {
        "svd": (", full_matrices=False", 3),
        "qr": ("", 2),
        "eigh": ("", 2),
        "slogdet": ("", 2),
    }[function]
    return f"{name} = xp.abs(xp.linalg.{function}({x}{more})[{rng.randrange(count)}])"


@lru_cache(maxsize=20_000)
def draw_program(seed: int, index: int) -> Program:
    """Return program ``index`` of a seed, in double precision."""
    rng = random.Random(f"gradients {seed}:{index}")
    dtypes = ["float64", "complex128"] if rng.random() < 0.25 else ["float64"]
    target = portarray_target("numpy")
    with target.scope(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = target_machine(target)
        g = _Drafted(rng, machine, ProgramOptions([*dtypes, "int64", "bool"]))
        g.variables = machine.environment()
        g.flavor = Flavor(apart=True)
        g.dtypes, g.everything = dtypes, [*dtypes, "int64", "bool"]
        for _ in range(rng.choice((1, 1, 2, 3))):
            shape = values.shape_of(rng, most=3)
            arguments.new_array(g, shape, rng.choice(dtypes))
        inputs = tuple(g.arrays)
        args = tuple(g.steps[-1].after[name].value for name in inputs)
        begun = len(g.statements)
        length = rng.randint(FEWEST, MOST)
        for _ in range(TRIES):
            if sum("xp.asarray" not in statement for statement in g.statements[begun:]) >= length:
                break
            call(g)
    outputs = tuple(name for name, info in g.arrays.items() if info.dtype in dtypes)
    return Program(inputs, args, tuple(g.statements[begun:]), outputs)


def _function(program: Program, replaced: Sequence[tuple[str, str]]) -> Callable[..., Any]:
    """Return a program as a function that returns the sum of its outputs' losses."""
    text = "\n".join(program.statements)
    for dtype, replacement in replaced:
        # Python's types can also name dtypes, if they are not called.
        python = rf"(?<=[ =]){dtype.rstrip('0123456789')}(?=[,)])"
        text = re.sub(rf"xp\.{dtype}\b|{python}", f"xp.{replacement}", text)
    code = compile(text, "<program>", "exec")

    def function(*args: Any) -> Any:
        variables = {"xp": pa, **BUILTINS, **dict(zip(program.inputs, args, strict=False))}
        exec(code, variables)  # noqa: S102 - the suite's own text
        losses = [loss(variables[name]) for name in program.outputs]
        return sum(losses[1:], start=losses[0])

    return function


class Reference(NamedTuple):
    """The results of a program on NumPy's device."""

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
    program: Program, device: Any, *, narrow: bool, method: str = "grad"
) -> tuple[Any, Any]:
    """Return the value and the gradients on a device, as its arrays."""
    replaced = []
    if narrow:
        replaced += [("float64", "float32"), ("complex128", "complex64")]
    if not has(device, "int64"):
        replaced.append(("int64", "int32"))
    function = _function(program, replaced)
    args = [placed(x, device, narrow=narrow) for x in program.args]
    argnums = tuple(range(len(args)))
    if method == "with another device":
        result = pa.value_and_grad(function, (*argnums, len(args)))(
            *args, pa.ones(2, device="numpy")
        )
        return result[0], result[1][:-1]
    if method == "checkpoint":
        function = pa.checkpoint(function)
    return pa.value_and_grad(function, argnums)(*args)  # type: ignore[no-any-return]


def _flat(arrays: Sequence[Any]) -> Values:
    parts = [np.reshape(np.asarray(x), -1).astype(np.complex128) for x in arrays]
    return np.concatenate(parts) if parts else np.zeros(0, np.complex128)


@lru_cache(maxsize=20_000)
def _reference(seed: int, index: int) -> Reference | Refused:
    program = draw_program(seed, index)
    return reference(program)


def reference(program: Program) -> Reference | Refused:
    """Return NumPy's value and gradient of a program, after a check by central differences."""
    function = _function(program, ())
    rng = np.random.default_rng(3)

    def value(args: Sequence[Values]) -> float:
        return float(function(*(placed(x, "numpy", narrow=False) for x in args)))

    def drawn(x: Values) -> Values:
        direction = rng.normal(size=x.shape)
        return np.asarray(
            direction + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else direction
        )

    with pa.device("numpy"), np.errstate(all="ignore"):
        y, results = _gradients(program, "numpy", narrow=False)
        gradients = [np.asarray(x) for x in results]
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
        deviations = []
        for eps, narrow in ((1e-14, False), (1e-7, True)):
            moved = program._replace(
                args=tuple(
                    np.asarray(x * (1 + eps * rng.normal(size=x.shape))) for x in program.args
                )
            )
            perturbed = [_gradients(moved, "numpy", narrow=False)]
            if narrow:
                perturbed.append(_gradients(program, "numpy", narrow=True))
            deviation = max(
                np.max(np.abs(_flat(result[1]) - flat), initial=0) for result in perturbed
            )
            deviations.append(
                max(deviation, *(abs(float(result[0]) - float(y)) for result in perturbed))
            )
    for directions, expected in differences:
        got = float(np.real(np.vdot(_flat(list(directions.values())), flat)))
        if not abs(got - expected) <= WIDE * (1 + most) + MAGNIFIED * deviations[0]:
            if deviations[0] > WIDE * (1 + most):
                return Refused(
                    "rounding", f"rounding errors change the gradient by {deviations[0]:.2g}"
                )
            raise AssertionError(
                f"central differences: the derivative in a direction is {expected:.9g}, the "
                f"gradient's {got:.9g}"
            )
    return Reference(float(y), gradients, *map(float, deviations))


def compare(
    program: Program, target: Target, method: str, *, narrow: bool, expected: Reference
) -> None:
    """Compare a program's value and gradient on a device with NumPy's; raise AssertionError."""
    y, gradients = _gradients(program, target.device, narrow=narrow, method=method)
    where = f" by {method}{' in single precision' if narrow else ''}"
    bound = NARROW if narrow else WIDE
    allowance = MAGNIFIED * (expected.narrow if narrow else expected.wide)
    value = float(y)
    size = (
        1
        + abs(expected.value)
        + max([float(np.max(np.abs(x), initial=0)) for x in expected.gradients], default=0)
    )
    if not abs(value - expected.value) <= bound * size + allowance:
        raise AssertionError(f"value{where}: got {value:.9g}, wanted {expected.value:.9g}")
    for n, (x, want) in enumerate(zip(gradients, expected.gradients, strict=True)):
        got = target.get(x)
        if got.shape != want.shape:
            raise AssertionError(f"gradient{where}: shape {got.shape} of {want.shape}")
        off = np.max(np.abs(got - want), initial=0)
        if not off <= bound * size + allowance:
            raise AssertionError(
                f"gradient{where}: that of {program.inputs[n]} is {off:.3g} off\n"
                f"got    {got.tolist()}\nwanted {want.tolist()}"
            )


class Drawn(NamedTuple):
    """How a program is run on a device."""

    method: str
    narrow: bool


def draw_method(program: Program, target: Target, seed: int, index: int) -> Drawn:
    """Return how a program is run on a device."""
    rng = random.Random(f"way {seed}:{index}")
    method = rng.choice(("grad", "grad", "with another device", "checkpoint"))
    wide = has(target.device, "float64")
    if COMPLEX.search("\n".join(program.statements)) or any(
        x.dtype.kind == "c" for x in program.args
    ):
        wide = wide and has(target.device, "complex128")
    return Drawn(method, not wide or rng.random() < SINGLE)


def _fails(program: Program, target: Target, drawn: Drawn) -> str:
    """Return the kind of fault of a program on a target, or an empty text."""
    try:
        expected = reference(program)
    except Exception as error:  # noqa: BLE001 - any exception is the fault
        return _kind(error)
    if isinstance(expected, Refused):
        return ""
    try:
        compare(program, target, drawn.method, narrow=drawn.narrow, expected=expected)
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
    smallest = program
    index = len(smallest.statements) - 1
    while index >= 0 and time.monotonic() < until:
        remaining = (*smallest.statements[:index], *smallest.statements[index + 1 :])
        gone = set(read_statement(smallest.statements[index]).bound)
        outputs = tuple(name for name in smallest.outputs if name not in gone)
        for returned in ((outputs[-1:],) if len(outputs) > 1 else ()) + (outputs,):
            less = smallest._replace(statements=remaining, outputs=returned)
            if returned and _fails(less, target, drawn) == kind:
                smallest = less
                break
        index -= 1
    for name in smallest.outputs:
        less = smallest._replace(
            outputs=tuple(output for output in smallest.outputs if output != name)
        )
        if less.outputs and time.monotonic() < until and _fails(less, target, drawn) == kind:
            smallest = less
    return smallest


def run_programs(
    target: Target,
    count: int,
    seed: int,
    *,
    on_result: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Compare values and gradients of drawn programs on a device with central differences.

    Return a result for each distinct fault, for each function without any, and for each reason
    why programs were not compared. ``on_result`` is called once for each program.
    """
    findings: dict[tuple[str, str], list[Any]] = {}
    called: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    passed = Result("programs", CATEGORY, "drawn", target.label, "", "passed", 0.0)
    with warnings.catch_warnings(), target.scope(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for index in range(count):
            program = draw_program(seed, index)
            if not program.outputs:
                refused["nothing to differentiate"] += 1
                on_result(passed)
                continue
            drawn = draw_method(program, target, seed, index)
            try:
                expected = _reference(seed, index)
                if isinstance(expected, Refused):
                    refused[expected.kind] += 1
                    on_result(passed)
                    continue
                compare(program, target, drawn.method, narrow=drawn.narrow, expected=expected)
            except Exception as error:  # noqa: BLE001 - whatever is raised is a finding
                if is_lost_write(str(error)):
                    refused["lost write"] += 1
                    on_result(passed)
                    continue
                kind = _kind(error)
                less = smaller(program, target, drawn, kind)
                function = read_statement(less.statements[-1]).function if less.statements else ""
                key = function, kind
                new = key not in findings
                text = f"{type(error).__name__}: {error}"
                findings.setdefault(key, [0, less, text, index])[0] += 1
                result = _finding(target, seed, key, findings[key])
                on_result(result if new else passed)
                continue
            called.update(read_statement(s).function for s in program.statements)
            on_result(passed)
            if index % 500 == 499:
                target.forget()
    bad = {function for function, _ in findings}
    return [
        *(_finding(target, seed, key, finding) for key, finding in findings.items()),
        *(
            Result(name, CATEGORY, "drawn", target.label, "", "passed", 0.0, n)
            for name, n in sorted(called.items())
            if name not in bad
        ),
        *(
            Result(
                "programs", CATEGORY, f"not compared: {kind}", target.label, "", "not run", 0.0, n,
                reason=f"{n} of {count} programs: {WHY[kind]}",
            )
            for kind, n in sorted(refused.items())
        ),
    ]  # fmt: skip


WHY = {
    "kink": "central differences of two steps differ, so that there is a kink near the point",
    "rounding": "rounding errors of NumPy's double precision change the gradient visibly",
    "lost write": "it writes into a copy, where other libraries have views",
    "nothing to differentiate": "no array of floating-point numbers is left at the end",
}


def _finding(target: Target, seed: int, key: tuple[str, str], finding: list[Any]) -> Result:
    count, program, message, index = finding
    return Result(
        function=key[0],
        category=CATEGORY,
        aspect=key[1],
        target=target.label,
        served="",
        status="failed",
        seconds=0.0,
        examples=count,
        example=program.text(),
        message=shorten(f"{message}\nprogram {seed}:{index}; {count} programs"),
    )
