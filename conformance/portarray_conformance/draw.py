"""Draw dtypes, shapes, axes and arrays through Hypothesis.

Strategies are cached, and every array is one draw, so that examples are cheap and differ from each
other. Subnormal numbers are not drawn because the standard lets libraries flush them to zero.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import hypothesis.strategies as st
import numpy as np

from portarray_conformance.cases import Draw
from portarray_conformance.promotion import BOOL, COMPLEXES, FLOATS, INTEGERS, PAIRS
from portarray_conformance.target import NotApplicable, NumpyArray, Target

Shape: TypeAlias = tuple[int, ...]

SHAPES: tuple[Shape, ...] = (
    *((6,), (2, 3), (3, 2, 2), (9,), (3, 1), (), (4, 4), (1,), (0,), (2, 0, 3), (13,), (1, 3, 2)),
)
"""Shapes for functions that accept any shape; failing examples shrink to the first."""

AXIS_SHAPES: tuple[Shape, ...] = (
    *((5,), (2, 3), (3, 2, 4), (4, 2), (8,), (1, 4), (3, 1, 2), (5, 3), (2, 2, 2), (17,)),
)
"""Shapes with at least one axis and no empty one."""

BROADCASTS: tuple[tuple[Shape, Shape], ...] = (
    *(((5,), (5,)), ((2, 3), (2, 3)), ((2, 3), (3,)), ((4,), ()), ((), (4,))),
    *(((3, 1), (1, 4)), ((3, 2), (2, 1, 2)), ((8,), (8,)), ((), ())),
    *(((0, 2), (1, 2)), ((1,), (6,))),
)
"""Pairs of shapes that broadcast."""


@dataclass(frozen=True)
class Domain:
    """Which numbers are drawn.

    Parameters
    ----------
    low, high
        Bounds of finite numbers, both included; for integer dtypes the dtype's own bounds too.
    special
        Whether NaN and the infinities are drawn, where the dtype has them.
    tiny
        Whether floating-point numbers of small magnitude (down to 2**-60) are drawn often.
    nonzero
        Whether zero is left out.
    symmetric
        Whether the most negative integer, which has no positive partner, is left out.
    """

    low: float = -math.inf
    high: float = math.inf
    special: bool = False
    tiny: bool = False
    nonzero: bool = False
    symmetric: bool = False


ANY = Domain(special=True)
FINITE = Domain()
MODERATE = Domain(-100, 100)
SMALL = Domain(-8, 8)
TINY = Domain(-8, 8, tiny=True)


def pick(draw: Draw, options: Sequence[Any], label: str) -> Any:
    """Draw one of some values."""
    return draw.draw(_sampled(tuple(options), label), label=label)


@functools.cache
def _sampled(options: tuple[Any, ...], label: str) -> st.SearchStrategy[Any]:
    # Hypothesis spends most examples on making draws of *equal* strategies equal to each other.
    # The label makes each choice a separate strategy, and examples differ.
    return st.sampled_from([(label, option) for option in options]).map(operator.itemgetter(1))


def whole(draw: Draw, low: int, high: int, label: str) -> int:
    """Draw an integer from a small range, both bounds included; near zero is simplest."""
    return int(pick(draw, sorted(range(low, high + 1), key=abs), label))


def flag(draw: Draw, label: str) -> bool:
    """Draw a truth value."""
    return bool(pick(draw, (False, True), label))


def available(target: Target, names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the dtypes that the target has; NotApplicable where it has none."""
    supported = tuple(name for name in names if name in target.dtypes())
    if not supported:
        raise NotApplicable(f"{target.label} has none of {', '.join(names)}")
    return supported


def dtype(target: Target, draw: Draw, names: Sequence[str], label: str = "dtype") -> str:
    """Draw one of the dtypes that the target has."""
    return str(pick(draw, _weighted(available(target, names)), label))


@functools.cache
def _weighted(names: tuple[str, ...]) -> tuple[str, ...]:
    """Repeat the dtypes of small families, so that two floats count like eight integers."""
    families = [
        tuple(n for n in names if n in family) for family in (BOOL, INTEGERS, FLOATS, COMPLEXES)
    ]
    most = max(map(len, families))
    return tuple(n for family in families for n in family * max(1, most // max(1, 2 * len(family))))


def dtype_pair(target: Target, draw: Draw, names: Sequence[str]) -> tuple[str, str, str]:
    """Draw two dtypes that the standard promotes, with the result: half of the pairs are equal."""
    first, second, result = pick(draw, _pairs(available(target, names)), "dtypes")
    return first, second, result


@functools.cache
def _pairs(names: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    equal = tuple((name, name, name) for name in _weighted(names))
    mixed = tuple(
        p for p in PAIRS if p[0] in names and p[1] in names and p[2] in names and p[0] != p[1]
    )
    return equal * max(1, len(mixed) // len(equal)) + mixed


@functools.cache
def arrays(name: str, shape: Shape, domain: Domain) -> st.SearchStrategy[NumpyArray]:
    """Return the strategy for arrays of a dtype and shape.

    One array is one drawn string of bytes, ten for each number: what kind of number, which one,
    and an exponent. Bytes shrink to zeros, and zeros mean 0.
    """
    numbers = math.prod(shape) * (2 if name in _PARTS else 1)
    length = _BYTES * numbers

    def make(drawn: bytes) -> NumpyArray:
        rows = np.frombuffer(drawn, dtype=np.uint8).reshape(numbers, _BYTES)
        picked = rows[:, 1:9].copy().view(">u8").ravel()
        if name in _PARTS:
            parts = _floats(rows, picked, np.dtype(_PARTS[name]), domain)
            values = np.empty(numbers // 2, dtype=name)
            values.real, values.imag = parts[::2], parts[1::2]
        elif name == "bool":
            values = picked % 2 == 1
        elif name.startswith("float"):
            values = _floats(rows, picked, np.dtype(name), domain)
        else:
            values = _integers(rows, picked, np.dtype(name), domain)
        return values.reshape(shape)

    return st.binary(min_size=length, max_size=length).map(make)


_BYTES = 10
_PARTS = {"complex64": "float32", "complex128": "float64"}
_ROUND = (0.0, 1.0, -1.0, 2.0, 0.5, -0.0, -0.5, 3.0, -2.0)
_SPECIAL = (math.nan, math.inf, -math.inf, math.nan)


def _integers(
    rows: NumpyArray, picked: NumpyArray, kind: np.dtype[Any], domain: Domain
) -> NumpyArray:
    """Decode integers: near zero, anywhere within the bounds, or at a bound."""
    limits = np.iinfo(kind)
    low = int(max(limits.min + (kind.kind == "i" and domain.symmetric), domain.low))
    high = int(min(limits.max, domain.high))
    near = (max(low, -9), min(high, 9)) if low <= 9 and high >= -9 else (low, high)
    values = []
    for choice, drawn in zip(rows[:, 0].tolist(), picked.tolist(), strict=True):
        first, last = near if choice % 8 < 4 else (low, high)
        value = first + drawn % (last - first + 1)
        if choice % 8 < 4 and first < 0:  # 0, -1, 1, -2, ...: zeros first
            value = drawn % (last - first + 1)
            value = -(value + 1) // 2 if value % 2 else value // 2
            value = min(max(value, first), last)
        elif choice % 8 == 7:
            value = (low, high, min(low + 1, high), max(high - 1, low))[drawn % 4]
        values.append(1 if value == 0 and domain.nonzero else value)
    return np.array(values, dtype=kind)


def _floats(
    rows: NumpyArray, picked: NumpyArray, kind: np.dtype[Any], domain: Domain
) -> NumpyArray:
    """Decode floating-point numbers: round, on a grid, uniform, of any magnitude, or special."""
    limits = np.finfo(kind)
    low = float(max(float(limits.min), kind.type(domain.low)))
    high = float(min(float(limits.max), kind.type(domain.high)))
    near = (max(low, -8.0), min(high, 8.0)) if low < 8 and high > -8 else (low, high)
    styles = ["round", "grid", "uniform", "uniform"]
    if high - low > 1000:
        styles += ["any magnitude"]
    if domain.tiny:
        styles += ["tiny", "tiny"]
    if domain.special:
        styles += ["special"]
    values = np.empty(len(picked), dtype=kind)
    fractions = picked.astype(np.float64) / 2.0**64
    for index, (choice, drawn) in enumerate(zip(rows[:, 0].tolist(), picked.tolist(), strict=True)):
        style = styles[choice % len(styles)]
        bounds = (low, high) if high - low <= 1000 or choice >= 128 else near
        values[index] = _value(
            style, drawn, float(fractions[index]), int(rows[index, 9]), bounds, kind
        )
    outside = (values < low) | (values > high) | ((values == 0) & domain.nonzero)
    subnormal = (values != 0) & (np.abs(values) < limits.smallest_normal)
    finite = np.isfinite(values)
    safe = kind.type(min(max(1.0, low), high))
    return np.where(finite & (outside | subnormal), safe, values).astype(kind)


def _value(
    style: str,
    drawn: int,
    fraction: float,
    extra: int,
    bounds: tuple[float, float],
    kind: np.dtype[Any],
) -> float:
    """Decode one floating-point number."""
    low, high = bounds
    if style == "round":
        allowed = [v for v in _ROUND if low <= v <= high]
        return allowed[drawn % len(allowed)] if allowed else low
    if style == "grid":
        low, high = max(low, -1024.0), min(high, 1024.0)
        return math.ceil(low * 4) / 4 + drawn % max(1, int((high - low) * 4)) / 4
    if style == "uniform":
        return low * (1 - fraction) + high * fraction
    if style == "special":
        return _SPECIAL[drawn % 4]
    if style == "tiny":  # of magnitude 2**-60 to 1
        value = math.ldexp(0.5 + fraction / 2, -(extra % 60))
        return -value if low < 0 and drawn & 1 else value
    limits = np.finfo(kind)  # of any magnitude that the dtype has
    span = int(limits.maxexp) - int(limits.minexp) - 2
    exponent = int(limits.minexp) + 1 + (extra * 256 + drawn % 256) * span // 65536
    value = math.ldexp(0.5 + fraction / 2, exponent)
    return -value if low < 0 and drawn & 256 else value


def array(
    draw: Draw, name: str, shape: Shape, domain: Domain = MODERATE, label: str = "x"
) -> NumpyArray:
    """Draw an array of a dtype and shape."""
    return draw.draw(arrays(name, shape, domain), label=label)


def typed_array(
    target: Target,
    draw: Draw,
    names: Sequence[str],
    shapes: Sequence[Shape] = SHAPES,
    domain: Domain = MODERATE,
) -> tuple[str, NumpyArray]:
    """Draw a dtype and an array of it; return both."""
    name = dtype(target, draw, names)
    return name, array(draw, name, shape(draw, shapes), domain)


def put(target: Target, draw: Draw, x: NumpyArray, label: str = "layout") -> Any:
    """Move an array to the target, now and then as a strided view of a larger array there."""
    layout = "plain" if x.ndim == 0 else pick(draw, ("plain", "plain", "every second"), label)
    if layout == "plain":
        return target.put(x)
    return target.put(np.repeat(x, 2, axis=-1))[..., ::2]


def shape(draw: Draw, options: Sequence[Shape] = SHAPES) -> Shape:
    """Draw a shape."""
    return tuple(pick(draw, options, "shape"))


def axis(draw: Draw, ndim: int, label: str = "axis") -> int:
    """Draw a valid axis, negative ones too."""
    return whole(draw, -ndim, ndim - 1, label)


def axes(draw: Draw, ndim: int, *, allow_none: bool = True) -> int | tuple[int, ...] | None:
    """Draw an ``axis`` for reductions: an axis, a tuple of axes, or None."""
    axes: int | tuple[int, ...] | None = pick(draw, _axes(ndim, allow_none), "axis")
    return axes


@functools.cache
def _axes(ndim: int, allow_none: bool) -> tuple[int | tuple[int, ...] | None, ...]:
    """Every kind of reduction: all axes, one, several in any order, counted from either end."""
    single = tuple(range(-ndim, ndim))
    orders = [p for n in range(1, ndim + 1) for p in itertools.permutations(range(ndim), n)]
    several = tuple(tuple(a - ndim if a % 2 else a for a in order) for order in orders)
    return (*((None,) if allow_none else ()), *single, *several)
