"""Functions for plans: drawn ones, and ones that must be called each time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray._transforms import planning

UNARY = ("sin", "tanh", "exp", "negative", "square", "floor", "sign")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "hypot", "atan2")
REDUCTIONS = ("sum", "max", "mean", "min", "prod")


def placed(values: Any, device: str) -> pa.Array:
    return pa.asarray(np.asarray(values, "f4"), device=device)


def count_calls(patch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[Any]:
    """Return a list that gets the functions that ``module.name`` is called with from now on."""
    functions: list[Any] = []
    called = getattr(module, name)

    def counted(function: Any, *args: Any) -> Any:
        functions.append(function)
        return called(function, *args)

    patch.setattr(module, name, counted)
    return functions


def called_often(transformed: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """Return a function that has been called often enough to have a plan."""
    for _ in range(planning.UNPLANNED):
        transformed(*args)
    return transformed


def drawn(rng: random.Random, ndim: int, depth: int = 4) -> str:
    """Return an expression of arrays ``x``, ``y`` and ``w`` of 4 elements and ``m``, a matrix."""
    if depth == 0:
        return (f"x[{rng.randrange(-4, 4)}]", rng.choice("xyw"), "m")[ndim]

    def of(n: int) -> str:
        return drawn(rng, n, depth - 1)

    forms: list[Callable[[], str]] = [
        lambda: f"pa.{rng.choice(UNARY)}({of(ndim)})",
        lambda: f"pa.{rng.choice(BINARY)}({of(ndim)}, {of(ndim)})",
        lambda: f"({of(ndim)} {rng.choice('+-*/')} {rng.choice(('2', '0.5', 'SCALE'))})",
        lambda: f"pa.where({of(ndim)} > 0, {of(ndim)}, 0.0)",
    ]
    forms += (
        [
            lambda: f"pa.{rng.choice(REDUCTIONS)}({of(rng.choice((1, 2)))})",
            lambda: f"({of(1)} @ {of(1)})",
        ],
        [
            lambda: f"({of(1)} @ {of(2)})",
            lambda: f"{of(2)}.{rng.choice(REDUCTIONS)}(axis={rng.choice((0, 1, -1))})",
            lambda: f"{of(1)}[::-1]",
            lambda: f"({of(0)} + {of(1)})",
        ],
        [lambda: f"({of(1)}[:, None] * {of(1)})", lambda: f"{of(2)}.T"],
    )[ndim]
    return rng.choice(forms)()


def defined(text: str, **names: Any) -> Any:
    """Return a function of three arrays, in a module of its own."""
    code = compile(f"def f(x, y, w):\n    return {text}\n", "<drawn>", "exec").co_consts[0]
    return FunctionType(code, {"pa": pa, "SCALE": 0.25, "__name__": "drawn", **names})


WEIGHTS = pa.asarray([1.0, 2.0], dtype=pa.float32, device="numpy")
STATE = SimpleNamespace(scale=2.0)
TABLE = {"scale": WEIGHTS}
COUNTS = [0]
COUNT = 0


def counted_globally(row: Any) -> Any:
    global COUNT
    COUNT += 1
    return row


def appended(row: Any) -> Any:
    COUNTS.append(1)
    return row


def stored(row: Any) -> Any:
    COUNTS[0] = COUNTS[0] + 1
    return row


def attribute(row: Any) -> Any:
    return row * STATE.scale


def assigned(row: Any) -> Any:
    STATE.scale = 2.0
    return row


def written(row: Any) -> Any:
    WEIGHTS[0] = 1.0
    return row


def added(row: Any) -> Any:
    weights = WEIGHTS
    weights += 0.0
    return row * weights


def read(row: Any) -> Any:
    return row * float(WEIGHTS[1])


def branched(row: Any) -> Any:
    return row if WEIGHTS[1] > 1 else -row


def timed(row: Any) -> Any:
    return row + time.time() * 0.0


def random_number(row: Any) -> Any:
    return row + random.random() * 0.0


def imported(row: Any) -> Any:
    import math

    return row * math.pi


def printed(row: Any) -> Any:
    print(end="")  # noqa: T201
    return row


def indexed(row: Any) -> Any:
    return row[pa.asarray([1, 0], device="numpy")]


def inverted(row: Any) -> Any:
    return pa.linalg.inv(row[:, None] * row + pa.eye(2, dtype=row.dtype, device="numpy"))


def compared(row: Any) -> Any:
    return row if row is not WEIGHTS else -row


def configured(row: Any) -> Any:
    with pa.config(kernel_debug=False):
        return row * 2.0


def generated(row: Any) -> Any:
    return sum(row * n for n in COUNTS if COUNTS.pop is not None)


EFFECTS = (
    *(counted_globally, appended, stored, attribute, assigned, written, added, read, branched),
    *(timed, random_number, imported, printed, indexed, inverted, compared, configured),
    generated,
)
"""Functions of a row that have effects, read values, or depend on more than arrays and numbers."""
