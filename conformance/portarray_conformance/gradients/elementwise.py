"""Cases of elementwise functions, reductions and sorting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import portarray as pa
from portarray_conformance.gradients.case import Case, Draw, Drawn, Sample, standard

__all__ = ["CASES"]

REAL = (
    "abs", "acos", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "expm1",
    "floor", "imag", "negative", "positive", "real", "reciprocal", "round", "sign", "sin", "sinh",
    "square", "tan", "tanh", "trunc",
)  # fmt: skip
POSITIVE = ("log", "log1p", "log2", "log10", "sqrt")
COMPLEX = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp", "expm1",
    "imag", "log", "log1p", "log2", "log10", "negative", "positive", "real", "reciprocal", "sign",
    "sin", "sinh", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
BINARY = (
    "add", "atan2", "copysign", "divide", "floor_divide", "hypot", "logaddexp", "maximum",
    "minimum", "multiply", "nextafter", "remainder", "subtract",
)  # fmt: skip


def _above_one(d: Draw, *shape: int) -> Any:
    return 1 + d.positive(*shape)


def unary(title: str, name: str, sample: Sample) -> Case:
    """Return a case of a function of one array of any shape."""
    return Case(title, name, lambda d: Drawn(standard(name), (sample(d, *d.shape()),)))


def binary(title: str, name: str, first: Sample, second: Sample) -> Case:
    """Return a case of a function of two arrays that broadcast."""

    def make(d: Draw) -> Drawn:
        shape = d.shape()
        shapes = [shape, d.partner(shape)]
        a, b = shapes if d.flag() else reversed(shapes)
        return Drawn(standard(name), (first(d, *a), second(d, *b)))

    return Case(title, name, make)


# An array and a Python number, on either side.
def _with_number(title: str, name: str, sample: Sample, *numbers: Any) -> Iterator[Case]:
    function = standard(name)

    def number_second(d: Draw) -> Drawn:
        p = d.of(*numbers)
        return Drawn(lambda x: function(x, p), (sample(d, *d.shape()),))

    def number_first(d: Draw) -> Drawn:
        p = d.of(*numbers)
        return Drawn(lambda x: function(p, x), (sample(d, *d.shape()),))

    yield Case(f"{title}, number second", name, number_second)
    yield Case(f"{title}, number first", name, number_first)


def _elementwise() -> Iterator[Case]:
    for name in REAL:
        yield unary(name, name, Draw.real)
    for name in POSITIVE:
        yield unary(name, name, Draw.positive)
    yield unary("acosh", "acosh", _above_one)
    for name in COMPLEX:
        yield unary(f"complex {name}", name, Draw.complex)
    for name in BINARY:
        yield binary(name, name, Draw.real, Draw.real)
        yield from _with_number(name, name, Draw.real, 0.3, -2.0, 3)
    for name in ("add", "divide", "multiply", "pow", "subtract"):
        yield binary(f"complex {name}", name, Draw.complex, Draw.complex)
        yield binary(f"complex {name} of real", name, Draw.positive, Draw.complex)
        yield binary(f"{name} of real and complex", name, Draw.complex, Draw.positive)
        yield from _with_number(f"complex {name}", name, Draw.complex, 0.3, 2, 0.5 - 1j)
    yield binary("pow", "pow", Draw.positive, Draw.real)
    yield from _with_number("pow", "pow", Draw.positive, 3, 0.5, 2, 1)
    yield Case("pow of negative", "pow", lambda d: Drawn(lambda x: x**3, (-d.positive(3),)))
    yield Case("pow of itself", "pow", lambda d: Drawn(lambda x: x**x, (d.positive(*d.shape()),)))
    yield Case(
        "where", "where", lambda d: Drawn(lambda x: pa.where(x > 0, x * 2, x * x), (d.real(5),))
    )
    yield Case("where of arrays", "where", _where)
    yield Case("where of a number", "where", _where_number)
    yield Case("clip", "clip", lambda d: Drawn(lambda x: pa.clip(x, -0.5, 0.5), (d.real(6),)))
    yield Case("clip from below", "clip", lambda d: Drawn(_clipped_below, (d.real(6),)))
    yield Case("clip by arrays", "clip", _clip)


def _where(d: Draw) -> Drawn:
    shape = d.shape()
    condition = d.rng.random(d.partner(shape)) < 0.5
    return Drawn(
        lambda x, y, condition: pa.where(condition, x, y),
        (d.real(*shape), d.of(Draw.real, Draw.complex)(d, *d.partner(shape)), condition),
    )


def _where_number(d: Draw) -> Drawn:
    condition = d.rng.random(4) < 0.5
    first = d.flag()
    return Drawn(
        lambda x, c: pa.where(c, x, 2.0) if first else pa.where(c, 2.0, x), (d.real(4), condition)
    )


def _clipped_below(x: Any) -> Any:
    return pa.clip(x, min=-0.5) + pa.clip(x, max=0.25)


def _clip(d: Draw) -> Drawn:
    shape = d.shape(1)
    shapes = [shape, d.partner(shape), d.partner(shape)]
    x, low, high = (d.real(*shapes[n]) for n in d.rng.permutation(3))
    return Drawn(lambda x, low, high: pa.clip(x, low, high), (x, low, high))


AXES = {"all": lambda d, ndim: None, "one axis": Draw.axis, "several axes": Draw.axes}


def _reductions() -> Iterator[Case]:
    for name in ("max", "mean", "min", "prod", "std", "sum", "var"):
        for title, drawer in AXES.items():
            yield Case(f"{name} over {title}", name, _reduction(name, drawer, Draw.real))
    for name in ("mean", "prod", "sum"):
        yield Case(f"complex {name}", name, _reduction(name, Draw.axes, Draw.complex))
    for name in ("prod", "sum"):
        yield Case(f"{name} as complex", name, _widened(name))
    yield Case("prod with zeros", "prod", _with_zeros("prod"))
    for name in ("cumulative_prod", "cumulative_sum"):
        for kind, sample in (("", Draw.real), ("complex ", Draw.complex)):
            yield Case(f"{kind}{name}", name, _cumulative(name, sample))
        yield Case(f"{name} as complex", name, _widened(name))
    yield Case("cumulative_prod with zeros", "cumulative_prod", _with_zeros("cumulative_prod"))
    yield Case("sort", "sort", _sort)
    yield Case("diff", "diff", _diff)
    yield Case("diff with edges", "diff", _diff_with_edges)


def _reduction(name: str, drawer: Any, sample: Sample) -> Any:
    function = standard(name)

    def make(d: Draw) -> Drawn:
        shape = tuple(d.size(2, 3) for _ in range(d.size(1, 3)))
        options = {"axis": drawer(d, len(shape)), "keepdims": d.flag()}
        if name in ("std", "var"):
            options["correction"] = d.of(0, 1, 0.5)
        return Drawn(lambda x: function(x, **options), (sample(d, *shape),))

    return make


def _widened(name: str) -> Any:
    function = standard(name)

    def complex_of(x: Any) -> Any:
        dtype = pa.complex128 if x.dtype == pa.float64 else pa.complex64
        return function(x, axis=0, dtype=dtype)

    return lambda d: Drawn(complex_of, (d.real(d.size(2, 4)),))


def _with_zeros(name: str) -> Any:
    def make(d: Draw) -> Drawn:
        x = d.real(5)
        x[d.rng.permutation(5)[: d.size(1, 2)]] = 0
        return Drawn(standard(name), (x,))

    return make


def _cumulative(name: str, sample: Sample) -> Any:
    def make(d: Draw) -> Drawn:
        shape = d.shape(1)
        options = {"axis": d.axis(len(shape)), "include_initial": d.flag()}
        return Drawn(lambda x: standard(name)(x, **options), (sample(d, *shape),))

    return make


def _sort(d: Draw) -> Drawn:
    shape = d.shape(1)
    options: dict[str, Any] = {"axis": d.axis(len(shape)), "descending": d.flag()}
    return Drawn(lambda x: pa.sort(x, **options), (d.real(*shape),))


def _diff(d: Draw) -> Drawn:
    shape = (d.size(3, 4), d.size(3, 4))
    options: dict[str, Any] = {"axis": d.axis(2), "n": d.size(0, 2)}
    return Drawn(lambda x: pa.diff(x, **options), (d.real(*shape),))


def _diff_with_edges(d: Draw) -> Drawn:
    x, prepend, append = d.real(3, 2), d.real(d.size(0, 2), 2), d.real(1, 2)
    n = d.size(1, 2)
    return Drawn(
        lambda x, prepend, append: pa.diff(x, axis=0, n=n, prepend=prepend, append=append),
        (x, prepend, append),
    )


CASES = (*_elementwise(), *_reductions())
