"""Draw bodies of functions for compilers: elementwise calls and reductions on odd values.

The first statements make the arguments, which read no variable; the remaining ones are the body.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from portarray_conformance.programs import values
from portarray_conformance.programs.generator import NAMES, ProgramOptions
from portarray_conformance.programs.program import Machine
from portarray_conformance.programs.values import KINDS, Shape

FEWEST, MOST = 4, 9
LARGE: Sequence[Shape] = ((40960,), (40, 1024), (8, 40, 128))
"""Shapes that are worth a kernel: each call then has 40,960 elements."""
SMALL: Sequence[Shape] = ((), (1,), (3,), (2, 1), (3, 5), (2, 3, 4))
MOST_ELEMENTS = 1 << 17
LENGTHS = (7, 11, 13, 17, 19, 23)
"""Numbers of distinct values of an argument: primes, so that two arguments meet in all pairs."""

REAL = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.5, 3.0, -3.0, 7.0, 0.1, -0.7, 1e-3, 1e4),
    *(65503.0, 2.0**24 + 1, 2.0**31, -(2.0**31), 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**64),
    *(1e30, -1e30, 1e-30),
)  # fmt: skip
SPECIAL = (float("nan"), float("inf"), float("-inf"))
SCALARS: Mapping[str, Sequence[str]] = {
    "b": ("True", "False"),
    "i": ("0", "1", "-1", "2", "3", "-3", "7", "10", "127", "255"),
    "f": ("0.0", "-0.0", "1.0", "-1.0", "0.5", "2.0", "-2.0", "3.0", "0.1", "inf", "-inf", "nan",
          "1e30", "1e-30"),
}  # fmt: skip

ANY, NUMBERS, REALS, INTEGERS = "biuf", "iuf", "f", "iu"
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
UNARY: Mapping[str, str] = {
    **dict.fromkeys(("abs", "negative", "positive", "sign", "square"), NUMBERS),
    **dict.fromkeys(("floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite"), NUMBERS),
    **dict.fromkeys(("sqrt", "reciprocal", "signbit", "exp", "expm1", "log", "log1p"), REALS),
    **dict.fromkeys(("log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan"), REALS),
    **dict.fromkeys(("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), REALS),
    **dict.fromkeys(("kernels.relu", "kernels.silu", "kernels.gelu"), REALS),
    "logical_not": ANY, "bitwise_invert": "biu", "conj": NUMBERS, "real": NUMBERS,
}  # fmt: skip
BINARY: Mapping[str, str] = {
    **dict.fromkeys(("add", "subtract", "multiply", "floor_divide", "remainder"), NUMBERS),
    **dict.fromkeys(("minimum", "maximum", "pow", "divide"), NUMBERS),
    **dict.fromkeys(COMPARISONS, ANY),
    **dict.fromkeys(("copysign", "atan2", "hypot", "logaddexp", "nextafter"), REALS),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), "biu"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), INTEGERS),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ANY),
}
REDUCTIONS: Mapping[str, str] = {
    **dict.fromkeys(("sum", "prod", "max", "min", "mean"), NUMBERS),
    **dict.fromkeys(("any", "all"), ANY),
}
COMMON = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "where"),
    *("where", "minimum", "maximum", "sign", "copysign", "astype", "astype", "abs", "negative"),
    *("less", "equal", "clip", "round", "isnan", "signbit", "square", "reciprocal"),
)
"""Functions that are drawn more often."""


@dataclass(slots=True)
class Body:
    """A program while it is drawn."""

    rng: random.Random
    machine: Machine
    options: ProgramOptions
    statements: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, tuple[Shape, str]] = field(default_factory=dict)

    def bind(self, text: str) -> bool:
        """Add a statement that binds a new variable, unless it raises."""
        name = NAMES[len(self.statements)]
        statement = f"{name} = {text}"
        if self.machine.run(statement, self.variables) is not None:
            return False
        value = self.variables[name]
        if value.size > MOST_ELEMENTS:
            return False
        self.statements.append(statement)
        self.arrays[name] = tuple(value.shape), self.machine.dtype_name(value.dtype)
        return True

    def find(self, kinds: str) -> str | None:
        """Return an array of these kinds, later ones more often."""
        fitting = [name for name, (_, dtype) in self.arrays.items() if KINDS[dtype] in kinds]
        if not fitting:
            return None
        return fitting[-1 - min(int(self.rng.expovariate(0.6)), len(fitting) - 1)]


def draw_body(seed: int, index: int, machine: Machine, options: ProgramOptions) -> tuple[str, ...]:
    """Return program ``index`` of a seed; all its statements run on the machine."""
    rng = random.Random(f"compiled {seed}:{index}")
    body = Body(rng, machine, options, variables=machine.environment())
    shape = rng.choice(LARGE if rng.random() < 0.8 else SMALL)
    dtypes = [name for name in options.dtypes if KINDS[name] in ANY]
    weights = [values.WEIGHTS[name] for name in dtypes]
    few = rng.choices(dtypes, weights, k=rng.choice((1, 1, 2, 3)))
    for _ in range(rng.randint(1, 3)):
        body.bind(argument_text(rng, _partner(rng, shape), rng.choice(few), options))
    count = rng.randint(FEWEST, MOST)
    for _ in range(4 * count):
        if count and body.bind(_call(body)):
            count -= 1
    return tuple(body.statements)


def _partner(rng: random.Random, shape: Shape) -> Shape:
    chance = rng.random()
    if chance < 0.7 or not shape:
        return shape
    if chance < 0.8:
        return shape[rng.randrange(len(shape) + 1) :]
    return tuple(1 if rng.random() < 0.5 else n for n in shape)


def argument_text(rng: random.Random, shape: Shape, dtype: str, options: ProgramOptions) -> str:
    """Return an expression for an argument that repeats a few values."""
    count = rng.choice(LENGTHS)
    kind = KINDS[dtype]
    if kind == "f":
        largest = values.LARGEST.get(dtype, 1.7976931348623157e308)
        pool = [x for x in REAL if abs(x) <= largest]
        pool += [largest, -largest, *SPECIAL, *SPECIAL]
        if options.subnormal:
            pool += [values.TINY[dtype], -values.TINY[dtype]]
        elements = [
            rng.choice(pool) if rng.random() < 0.7 else round(rng.gauss(0, 3), 2)
            for _ in range(count)
        ]
        literals = [values.float_text(x) for x in elements]
    elif kind == "b":
        literals = [rng.choice(("True", "False")) for _ in range(count)]
    else:
        low, high = values.limits(dtype)
        odd = [low, high, low + 1, high - 1, 0, 1, 2, 3, 5, 7, high // 2 + 1]
        odd += [-1, -2, -3, -7] if low else []
        literals = [str(rng.choice(odd)) for _ in range(count)]
    base = {"bfloat16": "float32", "bool": "bool"}.get(dtype, dtype)
    host = f"np.resize(np.asarray([{', '.join(literals)}], dtype='{base}'), {shape!r})"
    return f"xp.asarray({host}, dtype=xp.{dtype})"


def _call(body: Body) -> str:
    rng = body.rng
    name = rng.choice(COMMON) if rng.random() < 0.6 else rng.choice(_ALL)
    if name in UNARY:
        return f"xp.{name}({body.find(UNARY[name])})"
    if name in REDUCTIONS:
        return _reduction(body, name)
    if name == "where":
        return f"xp.where({body.find('b')}, {body.find(ANY)}, {_second(body, ANY)})"
    if name == "clip":
        return f"xp.clip({body.find(NUMBERS)}, {_second(body, 'if')}, {_second(body, 'if')})"
    if name == "astype":
        dtype = rng.choice([n for n in body.options.dtypes if KINDS[n] in ANY])
        return f"xp.astype({body.find(ANY)}, xp.{dtype})"
    if name in ("expand_dims", "reshape", "broadcast_to"):
        return _reshaped(body, name)
    x, y = body.find(BINARY[name]), _second(body, BINARY[name])
    if y is not None and y not in body.arrays and rng.random() < 0.3:
        x, y = y, x
    return f"xp.{name}({x}, {y})"


_ALL = (
    *UNARY,
    *BINARY,
    *REDUCTIONS,
    "where",
    "clip",
    "astype",
    "expand_dims",
    "reshape",
    "broadcast_to",
)


def _second(body: Body, kinds: str) -> str | None:
    """Return a second operand: an array, or a scalar."""
    rng = body.rng
    if rng.random() < 0.45:
        fitting = [kind for kind in SCALARS if kind in kinds]
        return rng.choice(SCALARS[rng.choice(fitting)])
    return body.find(kinds)


def _reduction(body: Body, name: str) -> str:
    rng = body.rng
    x = body.find(REDUCTIONS[name])
    shape = body.arrays[x][0] if x is not None else ()
    options = rng.choice(("", ", keepdims=True"))
    if shape and rng.random() < 0.7:
        options += f", axis={rng.choice((-1, -1, rng.randrange(len(shape))))}"
    return f"xp.{name}({x}{options})"


def _reshaped(body: Body, name: str) -> str:
    x = body.find(ANY)
    shape = body.arrays[x][0] if x is not None else ()
    if name == "expand_dims":
        # A column and a row of 40,960 elements would broadcast to gigabytes.
        axis = body.rng.randrange(len(shape) + 1) if len(shape) != 1 else 0
        return f"xp.expand_dims({x}, axis={axis})"
    if name == "broadcast_to":
        return f"xp.broadcast_to({x}, {body.rng.choice(list(body.arrays.values()))[0]!r})"
    return f"xp.reshape({x}, {tuple(n for n in shape if n > 1)!r})"
