"""What is drawn: dtypes, shapes, axes and arrays, through Hypothesis.

Strategies are made once and kept, and arrays are tuples of independently drawn elements: dense,
so that one example says much. Subnormal numbers are not drawn, for the standard lets libraries
flush them to zero.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt

from portarray_conformance.cases import Draw, NotApplicable
from portarray_conformance.promotion import PAIRS
from portarray_conformance.target import Target

NumpyArray: TypeAlias = npt.NDArray[Any]
Shape: TypeAlias = tuple[int, ...]

SHAPES: tuple[Shape, ...] = (
    (6,),
    (2, 3),
    (3, 2, 2),
    (9,),
    (3, 1),
    (),
    (4, 4),
    (1,),
    (0,),
    (2, 0, 3),
    (13,),
    (1, 3, 2),
)
"""Shapes for functions that take any; the first is what failing examples shrink to."""

AXIS_SHAPES: tuple[Shape, ...] = (
    (5,),
    (2, 3),
    (3, 2, 4),
    (4, 2),
    (8,),
    (1, 4),
    (3, 1, 2),
    (5, 3),
    (2, 2, 2),
    (17,),
)
"""Shapes with at least one axis and no empty one."""

BROADCASTS: tuple[tuple[Shape, Shape], ...] = (
    ((5,), (5,)),
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((4,), ()),
    ((), (4,)),
    ((3, 1), (1, 4)),
    ((3, 2), (2, 1, 2)),
    ((8,), (8,)),
    ((), ()),
    ((0, 2), (1, 2)),
    ((1,), (6,)),
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
    return draw.draw(_sampled(tuple(options)), label=label)


@functools.lru_cache(maxsize=None)
def _sampled(options: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(options)


@functools.lru_cache(maxsize=None)
def _integer(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


def whole(draw: Draw, low: int, high: int, label: str) -> int:
    """Draw an integer, both bounds included."""
    return draw.draw(_integer(low, high), label=label)


def flag(draw: Draw, label: str) -> bool:
    """Draw a truth value."""
    return bool(pick(draw, (False, True), label))


def available(target: Target, names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the dtypes that the target has; NotApplicable where it has none."""
    found = tuple(name for name in names if name in target.dtypes())
    if not found:
        raise NotApplicable(f"{target.label} has none of {', '.join(names)}")
    return found


def dtype(target: Target, draw: Draw, names: Sequence[str], label: str = "dtype") -> str:
    """Draw one of the dtypes that the target has."""
    return str(pick(draw, available(target, names), label))


def dtype_pair(target: Target, draw: Draw, names: Sequence[str]) -> tuple[str, str, str]:
    """Draw two dtypes that the standard promotes, with the result: half of the pairs are equal."""
    return tuple(pick(draw, _pairs(available(target, names)), "dtypes"))  # type: ignore[return-value]


@functools.lru_cache(maxsize=None)
def _pairs(names: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    equal = tuple((name, name, name) for name in names)
    mixed = tuple(
        p for p in PAIRS if p[0] in names and p[1] in names and p[2] in names and p[0] != p[1]
    )
    return equal * max(1, len(mixed) // len(equal)) + mixed


@functools.lru_cache(maxsize=None)
def elements(name: str, domain: Domain) -> st.SearchStrategy[Any]:
    """Return the strategy for one element of a dtype."""
    if name == "bool":
        return st.booleans()
    kind = np.dtype(name)
    if kind.kind in "iu":
        return _integers(kind, domain)
    if kind.kind == "c":
        part = elements("float32" if name == "complex64" else "float64", domain)
        return st.builds(complex, part, part)
    return _floats(kind, domain)


def _integers(kind: np.dtype[Any], domain: Domain) -> st.SearchStrategy[int]:
    limits = np.iinfo(kind)
    low = int(max(limits.min + (kind.kind == "i" and domain.symmetric), domain.low))
    high = int(min(limits.max, domain.high))
    strategy: st.SearchStrategy[int] = st.integers(low, high)
    if high - low > 20 and low <= 9 and high >= -9:  # small numbers make ties and zeros
        strategy = st.integers(max(low, -9), min(high, 9)) | strategy
    return strategy.filter(bool) if domain.nonzero else strategy


def _floats(kind: np.dtype[Any], domain: Domain) -> st.SearchStrategy[float]:
    limits = np.finfo(kind)
    low = float(max(float(limits.min), kind.type(domain.low)))
    high = float(min(float(limits.max), kind.type(domain.high)))
    width = 32 if kind.itemsize == 4 else 64
    options: list[st.SearchStrategy[float]] = [
        st.floats(low, high, width=width, allow_subnormal=False)
    ]
    round_numbers = [v for v in (0.0, 1.0, -1.0, 2.0, 0.5, -0.5, -0.0, -3.0) if low <= v <= high]
    if round_numbers:
        options.append(st.sampled_from(round_numbers))
    if high - low > 1000 and low <= 8 and high >= -8:
        options.append(
            st.floats(max(low, -8.0), min(high, 8.0), width=width, allow_subnormal=False)
        )
    if domain.tiny:
        options.append(_small(kind, low < 0))
    if domain.special:
        options.append(st.sampled_from([math.nan, math.inf, -math.inf, math.nan]))
    strategy = st.one_of(options)
    return strategy.filter(bool) if domain.nonzero else strategy


def _small(kind: np.dtype[Any], negative: bool) -> st.SearchStrategy[float]:
    """Numbers of every magnitude from 2**-60 to 1 with a full mantissa."""
    digits = int(np.finfo(kind).nmant) + 1
    low = -(2**digits) + 1 if negative else 1
    mantissa = st.integers(low, 2**digits - 1)
    return st.builds(lambda m, e: math.ldexp(m, e - digits), mantissa, st.integers(-60, 0))


@functools.lru_cache(maxsize=None)
def arrays(name: str, shape: Shape, domain: Domain) -> st.SearchStrategy[NumpyArray]:
    """Return the strategy for arrays of a dtype and shape."""
    element = elements(name, domain)
    kind = np.dtype(name)

    def make(values: tuple[Any, ...]) -> NumpyArray:
        return np.array(values, dtype=kind).reshape(shape)

    return st.tuples(*[element] * math.prod(shape)).map(make)


def array(
    draw: Draw, name: str, shape: Shape, domain: Domain = MODERATE, label: str = "x"
) -> NumpyArray:
    """Draw an array of a dtype and shape."""
    return draw.draw(arrays(name, shape, domain), label=label)


def place(target: Target, draw: Draw, x: NumpyArray, label: str = "layout") -> Any:
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


def axes(draw: Draw, ndim: int, *, none: bool = True) -> int | tuple[int, ...] | None:
    """Draw what reductions accept as ``axis``: an axis, a tuple of axes, or None."""
    return draw.draw(_axes(ndim, none), label="axis")


@functools.lru_cache(maxsize=None)
def _axes(ndim: int, none: bool) -> st.SearchStrategy[int | tuple[int, ...] | None]:
    options: list[st.SearchStrategy[Any]] = [st.none()] if none else []
    if ndim:
        options.append(st.integers(-ndim, ndim - 1))
        options.append(
            st.lists(
                st.integers(-ndim, ndim - 1), min_size=1, unique_by=lambda a: a % ndim
            ).map(tuple)
        )
    return st.one_of(options)
