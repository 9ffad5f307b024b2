"""Drawers of axes, shapes, dtypes and scalars."""

from __future__ import annotations

from collections.abc import Callable

from portarray_conformance.programs import values
from portarray_conformance.programs.arguments import Draft, Info, draw_x, partner_shape, pick_dtype
from portarray_conformance.programs.values import KINDS


def draw_axis(d: Draft, spec: str) -> str:
    if "axis" in d.memory:
        return d.memory["axis"]
    ndim = len(d.info.shape)
    if not ndim and not d.g.extended:
        return "None"
    d.axis = d.g.rng.randrange(-ndim, ndim) if ndim else 0
    return str(d.axis)


def draw_axes(d: Draft, spec: str) -> str:
    rng, ndim = d.g.rng, len(d.info.shape)
    chance = rng.random()
    if chance < 0.1:
        return "None"
    if chance < 0.5 and ndim and spec != "tuple":
        return draw_axis(d, "")
    axes = rng.sample(range(ndim), rng.randint(min(1, ndim), ndim))
    return repr(tuple(a - ndim if rng.random() < 0.4 else a for a in axes))


def draw_new_axis(d: Draft, spec: str) -> str:
    ndim = len(d.info.shape)
    return str(d.g.rng.randint(-ndim - 1, ndim))


def draw_unit_axes(d: Draft, spec: str) -> str:
    units = [i for i, n in enumerate(d.info.shape) if n == 1]
    if not units:
        return "()"
    few = d.g.rng.sample(units, d.g.rng.randint(1, len(units)))
    return str(few[0]) if len(few) == 1 else repr(tuple(few))


def draw_permutation(d: Draft, spec: str) -> str:
    order = list(range(len(d.info.shape)))
    d.g.rng.shuffle(order)
    return repr(tuple(order))


def draw_last_axis(d: Draft, spec: str) -> str:
    return str(-d.g.rng.randint(1, max(1, len(d.info.shape))))


def draw_rolls(d: Draft, spec: str) -> str:
    rng, ndim = d.g.rng, len(d.info.shape)
    if rng.random() < 0.25 and ndim:
        count = rng.randint(1, ndim)
        d.memory["axis"] = repr(tuple(rng.sample(range(ndim), count)))
        return repr(tuple(rng.randint(-3, 5) for _ in range(count)))
    return str(rng.randint(-4, 7))


def draw_shape(d: Draft, spec: str) -> str:
    shape = values.shape_of(d.g.rng, empty=0.08)
    d.info = Info(shape, d.info.dtype)
    return str(shape[0]) if len(shape) == 1 and d.g.rng.random() < 0.4 and not spec else repr(shape)


def draw_other_shape(d: Draft, spec: str) -> str:
    return repr(partner_shape(d.g.rng, d.info.shape))


def draw_larger_shape(d: Draft, spec: str) -> str:
    rng = d.g.rng
    shape = tuple(rng.randint(1, 3) if n == 1 else n for n in d.info.shape)
    more = tuple(rng.randint(1, 2) for _ in range(rng.choice((0, 1, 1, 2))))
    return repr((*more, *shape) if len(shape) < 4 else shape)


def draw_new_shape(d: Draft, spec: str) -> str:
    rng, size = d.g.rng, values.size_of(d.info.shape)
    parts: list[int] = []
    remaining = size
    while remaining > 1 and len(parts) < 4 and rng.random() < 0.8:
        divisors = [n for n in range(1, remaining + 1) if remaining % n == 0]
        parts.append(rng.choice(divisors))
        remaining //= parts[-1]
    parts.append(remaining)
    rng.shuffle(parts)
    if size and rng.random() < 0.35:
        parts[rng.randrange(len(parts))] = -1
    if size == 1 and rng.random() < 0.4:
        parts = []
    return repr(tuple(parts))


def draw_repetitions(d: Draft, spec: str) -> str:
    rng = d.g.rng
    return repr(tuple(rng.choice((0, 1, 1, 2, 2)) for _ in range(rng.randint(0, 3))))


def draw_repeats(d: Draft, spec: str) -> str:
    rng = d.g.rng
    if rng.random() < 0.7:
        return str(rng.choice((0, 1, 2, 2, 3)))
    d.axis = rng.randrange(len(d.info.shape)) if d.info.shape else None
    length = values.size_of(d.info.shape) if d.axis is None else d.info.shape[d.axis]
    d.memory["axis"] = "None" if d.axis is None else str(d.axis)
    items = ", ".join(str(rng.randint(0, 2)) for _ in range(length))
    return f"xp.asarray([{items}], dtype=xp.int64)" if "int64" in d.g.dtypes else "2"


def choice(*options: str) -> Callable[[Draft, str], str]:
    """Return a drawer that takes one of these."""
    return lambda d, spec: d.g.rng.choice(options)


def dtype_of(kinds: str) -> Callable[[Draft, str], str]:
    """Return a drawer of dtypes."""
    return lambda d, spec: f"xp.{pick_dtype(d.g, kinds)}"


def draw_sum_dtype(d: Draft, spec: str) -> str:
    kind = KINDS[d.info.dtype]
    if d.g.extended and d.g.rng.random() < 0.2:
        return f"xp.{pick_dtype(d.g, 'iufc')}"
    return f"xp.{pick_dtype(d.g, {'i': 'if', 'u': 'uf', 'f': 'fc', 'c': 'c', 'b': 'i'}[kind])}"


def draw_x_or_dtype(d: Draft, spec: str) -> str:
    return draw_x(d, "") if d.g.rng.random() < 0.5 else f"xp.{pick_dtype(d.g, 'iufcb')}"


def draw_x_or_dtype_or_scalar(d: Draft, spec: str) -> str:
    if d.g.rng.random() < 0.5:
        return values.scalar(d.g.rng, "bifc", wild=0.1, numpy=False)
    return draw_x_or_dtype(d, "")


def draw_anything(d: Draft, spec: str) -> str:
    rng = d.g.rng
    chance = rng.random()
    if chance < 0.25:
        return draw_x(d, "")
    if chance < 0.45:
        return values.scalar(rng, "bifc", wild=0.3 if d.g.extended else 0, numpy=d.g.extended)
    shape = values.shape_of(rng, least=1, most=3, empty=0)
    kinds = rng.choice(("b", "i", "i", "f", "f", "c", "if", "bi", "ifc"))
    wild = rng.choice((0, 0, 0.1)) if d.g.extended else 0
    numpy = d.g.extended and rng.random() < 0.1
    items = [
        values.scalar(rng, kinds, wild=wild, numpy=numpy) for _ in range(values.size_of(shape))
    ]
    return values.nested(items, shape)


def draw_scalar(d: Draft, spec: str) -> str:
    kinds = "bifc" if d.g.extended else "if"
    return values.scalar(d.g.rng, kinds, wild=0.1 if d.g.extended else 0, numpy=d.g.extended)
