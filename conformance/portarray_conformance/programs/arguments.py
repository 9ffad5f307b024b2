"""Drawers: each draws the text of one argument of a call, knowing the arrays there are."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Protocol

from portarray_conformance.programs import values
from portarray_conformance.programs.values import KINDS, Flavor, Shape

# More elements than a result that later statements use may have.
MOST_ELEMENTS = 120


@dataclass(frozen=True, slots=True)
class Info:
    """Shape and dtype of an array variable."""

    shape: Shape
    dtype: str


class Builder(Protocol):
    """The interface of the generator for drawers."""

    rng: random.Random
    extended: bool
    dtypes: list[str]
    everything: list[str]
    arrays: dict[str, Info]
    flavor: Flavor
    special: float

    def make(self, text: str) -> str:
        """Emit a statement that binds a new variable to an expression; return its name."""


@dataclass(slots=True)
class Draft:
    """A call while its arguments are drawn."""

    g: Builder
    x: str = ""
    info: Info = field(default_factory=lambda: Info((), "float32"))
    axis: int | None = None
    memory: dict[str, str] = field(default_factory=dict)


def split(spec: str, extended: bool) -> tuple[str, int]:
    """Return the kinds and the least number of axes of ``"fc+iu:1"``."""
    text, _, least = spec.partition(":")
    if "+" in least:
        least, _, more = least.partition("+")
        text += "+" + more
    plain, _, extra = text.partition("+")
    return (plain + extra if extended else plain), int(least or 0)


def pick_dtype(g: Builder, kinds: str) -> str:
    """Return a dtype of one of these kinds, or any if the target has none of them."""
    candidates = [name for name in g.dtypes if KINDS[name] in kinds]
    candidates = candidates or [name for name in g.everything if KINDS[name] in kinds] or g.dtypes
    return g.rng.choices(candidates, [values.WEIGHTS[name] for name in candidates])[0]


def new_array(g: Builder, shape: Shape, dtype: str, *, plain: bool = False) -> str:
    """Emit an array of that shape and dtype; return its name."""
    return g.make(values.array_text(g.rng, shape, dtype, replace(g.flavor, plain=plain)))


def find(
    g: Builder, kinds: str, least: int = 0, shape: Shape | None = None, fresh: float = 0.15
) -> str:
    """Return an array of these kinds (and this shape): an earlier one, or a new one."""
    if g.rng.random() >= fresh:
        fitting = [
            name
            for name, info in g.arrays.items()
            if KINDS[info.dtype] in kinds
            and len(info.shape) >= least
            and (shape is None or info.shape == shape)
        ]
        if fitting:
            # Later variables more often than the first ones, so that programs hang together.
            return fitting[-1 - min(int(g.rng.expovariate(0.7)), len(fitting) - 1)]
    if shape is None:
        shape = values.shape_of(g.rng, least)
    return new_array(g, shape, pick_dtype(g, kinds))


def partner_shape(rng: random.Random, shape: Shape) -> Shape:
    """Return a shape that broadcasts with this one."""
    chance = rng.random()
    if chance < 0.5:
        return shape
    if chance < 0.65:
        return shape[rng.randrange(len(shape) + 1) :]
    if chance < 0.75:
        return (rng.randint(1, 2), *shape) if len(shape) < 4 else shape
    return tuple(1 if rng.random() < 0.4 else n for n in shape)


def promoted(g: Builder, dtype: str, kinds: str) -> str:
    """Return a dtype for a second operand."""
    if g.rng.random() < 0.6:
        return dtype
    kind = KINDS[dtype]
    if not g.extended:
        kinds = "fc" if kind in "fc" else ("iu" if kind in "iu" else kind)
        fitting = [name for name in g.dtypes if KINDS[name] in kinds]
        if kind in "iu":  # uint64 has no common dtype with signed integers
            fitting = [n for n in fitting if KINDS[n] == kind or "64" not in n + dtype]
        return g.rng.choice(fitting or [dtype])
    return pick_dtype(g, kinds)


def draw_x(d: Draft, spec: str) -> str:
    kinds, least = split(spec or "iufcb", d.g.extended)
    return use(d, find(d.g, kinds, least))


def use(d: Draft, name: str) -> str:
    """Make an array the one that other arguments refer to."""
    d.x, d.info = name, d.g.arrays.get(name, Info((), "float32"))
    return name


def draw_y(d: Draft, spec: str) -> str:
    kinds, _ = split(spec or "iufcb", d.g.extended)
    rng = d.g.rng
    kind = KINDS[d.info.dtype]
    if rng.random() < 0.35:
        allowed = {"b": "b", "i": "i", "u": "u", "f": "if", "c": "ifc"}[kind]
        if d.g.extended and rng.random() < 0.2:
            allowed = "bifc"
        return values.scalar(rng, allowed, wild=0.2 if d.g.extended else 0, numpy=d.g.extended)
    fitting = kinds if kind in kinds else "iufcb"
    dtype = promoted(d.g, d.info.dtype, fitting)
    shape = partner_shape(rng, d.info.shape)
    return (
        find(d.g, KINDS[dtype], shape=shape, fresh=0.3)
        if rng.random() < 0.5
        else (new_array(d.g, shape, dtype))
    )


def draw_shift(d: Draft, spec: str) -> str:
    rng = d.g.rng
    bits = int(d.info.dtype.removeprefix("u").removeprefix("int") or 8)
    if rng.random() < 0.5:
        return str(rng.randint(0, bits - 1))
    few = [str(rng.randint(0, bits - 1)) for _ in range(values.size_of(d.info.shape))]
    if not few:
        return "1"
    return d.g.make(f"xp.asarray({values.nested(few, d.info.shape)}, dtype=xp.{d.info.dtype})")


def draw_same(d: Draft, spec: str) -> str:
    return find(d.g, KINDS[d.info.dtype], shape=d.info.shape)


def draw_same_kind(d: Draft, spec: str) -> str:
    if d.g.extended:
        return draw_y(d, "iufcb")
    return new_array(d.g, d.info.shape, d.info.dtype)


def draw_same_dtype(d: Draft, spec: str) -> str:
    if d.g.rng.random() < 0.3:
        return values.scalar(
            d.g.rng, "f" if KINDS[d.info.dtype] == "f" else "i", wild=0, numpy=False
        )
    return new_array(d.g, values.shape_of(d.g.rng, most=2), d.info.dtype)


def draw_bound(d: Draft, spec: str) -> str:
    rng = d.g.rng
    if rng.random() < 0.1:
        return "None"
    if rng.random() < 0.6:
        kind = "f" if KINDS[d.info.dtype] == "f" or (d.g.extended and rng.random() < 0.2) else "i"
        return values.scalar(rng, kind, wild=0.1 if d.g.extended else 0, numpy=d.g.extended)
    return new_array(d.g, partner_shape(rng, d.info.shape), d.info.dtype)


def draw_vector(d: Draft, spec: str) -> str:
    dtype = d.info.dtype if d.x else pick_dtype(d.g, "iufc")
    name = find(d.g, KINDS[dtype], shape=(d.g.rng.randint(1, 4),))
    return use(d, name)


def draw_condition(d: Draft, spec: str) -> str:
    name = find(d.g, "b", fresh=0.3)
    use(d, name)
    shape = d.info.shape
    dtype = pick_dtype(d.g, "iufc")
    d.info = Info(shape, dtype)
    return name


def draw_increasing(d: Draft, spec: str) -> str:
    dtype = pick_dtype(d.g, "iuf")
    count = d.g.rng.randint(0, 6)
    items = sorted(d.g.rng.randint(0, 12) for _ in range(count))
    elements = [str(n) if KINDS[dtype] in "iu" else float(n).__repr__() for n in items]
    return use(d, d.g.make(f"xp.asarray([{', '.join(elements)}], dtype=xp.{dtype})"))


def draw_edge(d: Draft, spec: str) -> str:
    axis = -1 if d.axis is None else d.axis
    shape = list(d.info.shape)
    if not shape or not -len(shape) <= axis < len(shape):
        return "None"
    shape[axis] = d.g.rng.randint(0, 2)
    return new_array(d.g, tuple(shape), d.info.dtype)


def draw_group(d: Draft, spec: str) -> str:
    rng = d.g.rng
    first = use(d, find(d.g, "iufcb", 1))
    axis = rng.randrange(len(d.info.shape))
    others = []
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        shape = list(d.info.shape)
        shape[axis] = rng.randint(0, 3)
        others.append(find(d.g, KINDS[promoted(d.g, d.info.dtype, "iufc")], shape=tuple(shape)))
    d.memory["axis"] = str(axis if rng.random() < 0.6 else axis - len(d.info.shape))
    return bracket(rng, [first, *others])


def draw_stackable(d: Draft, spec: str) -> str:
    rng = d.g.rng
    first = use(d, find(d.g, "iufcb", 0))
    others = [draw_same(d, "") for _ in range(rng.choice((0, 1, 1, 2)))]
    return bracket(rng, [first, *others])


def bracket(rng: random.Random, items: list[str]) -> str:
    """Return a list or a tuple."""
    if rng.random() < 0.6:
        return f"[{', '.join(items)}]"
    return f"({', '.join(items)},)"


def index_array(g: Builder, shape: Shape, length: int, dtype: str = "") -> str:
    """Return the text of an array of indices into an axis of that length."""
    least = -length if g.extended else 0  # the standard leaves negative ones undefined
    if not dtype:
        dtype = pick_dtype(g, "iu") if g.rng.random() < 0.5 else "int64"
    if dtype not in g.everything:
        dtype = "int32"
    if KINDS[dtype] == "u":
        least = 0
    count = values.size_of(shape)
    if not count or not length:
        return f"xp.zeros({(*shape[:-1], 0) if shape else (0,)!r}, dtype=xp.{dtype})"
    items = [str(g.rng.randint(least, length - 1)) for _ in range(count)]
    return f"xp.asarray({values.nested(items, shape)}, dtype=xp.{dtype})"


def draw_indices(d: Draft, spec: str) -> str:
    d.axis = d.g.rng.randrange(-len(d.info.shape), len(d.info.shape)) if d.info.shape else 0
    d.memory["axis"] = str(d.axis)
    length = d.info.shape[d.axis] if d.info.shape else 1
    shape: Shape = (d.g.rng.randint(0, 4),)
    if d.g.extended and d.g.rng.random() < 0.2:
        shape = values.shape_of(d.g.rng, most=2)
    return index_array(d.g, shape, length)


def draw_along(d: Draft, spec: str) -> str:
    ndim = len(d.info.shape)
    if not ndim:
        return "0"
    d.axis = d.g.rng.randrange(-ndim, ndim)
    shape = list(d.info.shape)
    length = shape[d.axis]
    shape[d.axis] = d.g.rng.randint(1, 3)
    d.memory["axis"] = str(d.axis) if d.axis % ndim != ndim - 1 else d.g.rng.choice(("", "-1"))
    return index_array(d.g, tuple(shape), length)
