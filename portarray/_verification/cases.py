"""What kernels are verified with: drawn shapes, values, options and views, each from its index.

A case is drawn from a seed and its index alone, so that these say how to make it again. Its
shapes are those that tuned versions are made for (one query against a cache, prompts, hidden states
of a small model, lengths beyond the size of a block), and every now and then one of no pattern.
They are few, since libraries that compile do so again for every new shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

import numpy as np

from portarray._array import dtypes
from portarray._verification import packed_reference

Values = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]
View = Literal["plain", "transposed", "strided", "offset"]

VIEWS: tuple[View, ...] = ("transposed", "strided", "offset")

# Scales of large values, for kernels that multiply two of them or cube one, and for those that
# square. float16 overflows at 65504 in kernels that compute in it.
_LARGE = {"float64": 1e90, "float32": 1e12, "bfloat16": 1e12, "float16": 60.0}
_LARGE_SQUARED = {**_LARGE, "float16": 8000.0}
_TINY = {"float64": 1e-100, "float32": 1e-15, "bfloat16": 1e-15, "float16": 1e-4}
_EXPONENTS = 500.0  # their exponentials are beyond all dtypes but float64

SHAPES: dict[str, tuple[Shape, ...]] = {
    "any": ((300, 576), (7,), (1, 1536), (2, 3, 129)),
    "rows": ((129, 576), (1, 7), (2, 3, 129), (3, 4096)),
}
"""Shapes of kernels of single values, and of rows."""


@dataclass(frozen=True, slots=True)
class Part:
    """One array of a case."""

    name: str  # the argument's
    values: Values
    # Memory layout: C order, reversed axes, or a last axis with a step of two or behind an offset
    view: View = "plain"
    kind: str = ""  # of the values, as "large"

    def __str__(self) -> str:
        parts = [self.name, self.values.dtype.name, str(self.values.shape)]
        parts += [word for word in (self.kind, self.view) if word not in ("", "plain")]
        return " ".join(parts)

    @property
    def exact(self) -> Values:
        """The values in float64; integers and booleans as they are."""
        return self.values if self.values.dtype.kind in "iub" else self.values.astype(np.float64)


@dataclass(frozen=True, slots=True)
class PackedPart:
    """A packed matrix of a case."""

    layout: str
    data: Part
    scales: Part | None
    interleaved: bool = False

    @property
    def stored(self) -> Part:
        """The bytes in the order in which they are stored."""
        if not self.interleaved:
            return self.data
        out, nbytes = self.data.values.shape
        tiles = self.data.values.reshape(
            out // packed_reference.INTERLEAVED, packed_reference.INTERLEAVED, nbytes
        )
        return Part("data", tiles.transpose(0, 2, 1))

    def __str__(self) -> str:
        return f"{self.layout} {self.stored}" + ("" if self.scales is None else f", {self.scales}")

    @property
    def exact(self) -> Values:
        """The weights in float64."""
        scales = None if self.scales is None else self.scales.values
        return packed_reference.weights(self.layout, self.data.values, scales)


@dataclass(frozen=True, slots=True)
class Drawn:
    """The arguments of one call."""

    arrays: tuple[Part | PackedPart | int | None, ...]  # None where an array is left out
    # Keyword arguments; arrays are parts
    options: Mapping[str, Any]

    def __str__(self) -> str:
        shown = [str(array) for array in self.arrays]
        for name, value in self.options.items():
            if isinstance(value, tuple):
                value = ", ".join(map(str, value))
            shown.append(str(value) if isinstance(value, Part) else f"{name}={value}")
        return "; ".join(shown)

    def parts(self) -> Iterator[Part]:
        """Yield every array."""
        for value in (*self.arrays, *self.options.values()):
            if isinstance(value, PackedPart):
                value = value.stored, value.scales
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Part):
                    yield part


@dataclass(slots=True)
class Drawing:
    """One case while it is drawn."""

    rng: np.random.Generator
    index: int
    dtype: str
    seed: int = 0
    floating: int = 0  # arrays of floating-point numbers so far

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return bool(self.rng.random() < probability)

    def one_of(self, *values: Any) -> Any:
        """Return one of some values."""
        return values[int(self.rng.integers(len(values)))]

    def in_turn(self, *values: Any) -> Any:
        """Return each of some values in turn, from case to case."""
        return values[(self.seed + self.index) % len(values)]

    def shape(self, *fixed: Any, free: Callable[[], Any]) -> Any:
        """Return one of some shapes in turn, and one without a pattern when all had theirs."""
        position = self.index % (len(fixed) + 1)
        return fixed[position] if position < len(fixed) else free()

    def size(self, most: int) -> int:
        """Return a size between 1 and a limit, small ones as often as large ones."""
        return round(float(np.exp(self.rng.uniform(0, np.log(most)))))

    def view(self, shape: Shape) -> View:
        """Return the memory layout of an array: four in five are plain."""
        if len(shape) == 0 or self.chance(0.8):
            return "plain"
        view: View = self.one_of(*VIEWS)
        return view

    def floats(
        self,
        name: str,
        shape: Shape,
        *,
        large: Mapping[str, float] | float = _LARGE,
        kinds: tuple[str, ...] = ("normal", "normal", "large", "tiny", "near", "wide"),
        masked: float = 0.0,
    ) -> Part:
        """Return floating-point numbers of a kind: the first array's kinds in turn, else by chance.

        ``"near"`` are 1000 and a little more or less, ``"wide"`` of all magnitudes from 2**-8 to
        2**8, ``"large"`` multiples of ``large``; of ``masked`` of them -inf is put in the place.
        """
        kind = str(self.one_of(*kinds) if self.floating else self.in_turn(*kinds))
        self.floating += 1
        values = np.asarray(self.rng.standard_normal(shape))
        if kind == "large":
            values = values * (large if isinstance(large, float) else large[self.dtype])
        elif kind == "tiny":
            values = values * _TINY[self.dtype]
        elif kind == "near":
            values = values + 1000.0
        elif kind == "wide":
            values = values * np.exp2(self.rng.uniform(-8, 8, shape))
        if masked and values.ndim:
            kind += " masked"
            values = np.where(self.rng.random(shape) < masked, -np.inf, values)
            if values.ndim > 1 and self.chance(0.5):
                values[(0,) * (values.ndim - 1)] = -np.inf
        return Part(name, values.astype(dtypes.canonical(self.dtype)), self.view(shape), kind)

    def integers(self, name: str, shape: Shape, low: int, high: int) -> Part:
        """Return integers from ``low`` up to but without ``high``."""
        dtype = self.one_of("int32", "int64")
        values = np.asarray(self.rng.integers(low, high, shape)).astype(dtype)
        return Part(name, values, self.view(shape))

    def optional(self, name: str, shape: Shape) -> Part | None:
        """Return numbers around 1, or None."""
        if self.chance(0.4):
            return None
        return self.floats(name, shape, kinds=("normal", "wide"))


def draw(kernel: str, dtype: str, seed: int, index: int) -> Drawn:
    """Draw one case."""
    rng = np.random.default_rng([seed, crc32(kernel.encode()), index])
    return DRAWN[kernel](Drawing(rng, index, dtype, seed))


def _any_shape(d: Drawing, name: str) -> Shape:
    """Return the shape of an array of single values or of rows."""

    def free() -> Shape:
        return tuple(d.size(40) for _ in range(int(d.rng.integers(1, 4))))

    shape: Shape = d.shape(*SHAPES[name], free=free)
    return shape


def _activation(d: Drawing) -> Drawn:
    return Drawn((d.floats("x", _any_shape(d, "any"), large=_LARGE_SQUARED),), {})


def _gelu(d: Drawing) -> Drawn:
    x = d.floats("x", _any_shape(d, "any"), large=_LARGE_SQUARED)
    return Drawn((x,), {"approximate": d.one_of("none", "tanh")})


def _softmax(d: Drawing) -> Drawn:
    shape = _any_shape(d, "rows")
    x = d.floats("x", shape, large=_EXPONENTS, masked=d.one_of(0.0, 0.0, 0.3))
    axis = int(d.rng.integers(-len(shape), len(shape))) if d.chance(0.3) else -1
    return Drawn((x,), {"axis": axis})


def _rms_norm(d: Drawing) -> Drawn:
    shape = _any_shape(d, "rows")
    x = d.floats("x", shape, large=_LARGE_SQUARED)
    return Drawn((x, d.optional("weight", shape[-1:])), {"eps": d.one_of(1e-6, 1e-5)})


def _layer_norm(d: Drawing) -> Drawn:
    shape = _any_shape(d, "rows")
    x = d.floats("x", shape, large=_LARGE_SQUARED)
    weight = d.optional("weight", shape[-1:])
    bias = None if weight is None else d.optional("bias", shape[-1:])
    return Drawn((x, weight, bias), {"eps": d.one_of(1e-5, 1e-6)})


def _matmul(d: Drawing) -> Drawn:
    def free() -> tuple[Shape, Shape]:
        m, n, k = d.size(80), d.size(80), d.size(400)
        shapes: tuple[Shape, Shape] = d.one_of(
            ((m, k), (k, n)), ((k,), (k, n)), ((2, 1, m, k), (3, k, n))
        )
        return shapes

    first, second = d.shape(
        ((1, 576), (576, 300)),
        ((129, 300), (300, 64)),
        ((3, 7, 64), (3, 64, 129)),
        ((129, 7), (7, 300)),
        free=free,
    )
    return Drawn((d.floats("x1", first), d.floats("x2", second)), {})


def _gemm(d: Drawing) -> Drawn:
    m, k, n = d.shape(
        (129, 129, 129), (64, 300, 7), (1, 64, 300), free=lambda: tuple(map(d.size, (80, 400, 80)))
    )
    transposes = {"transpose_a": d.chance(0.5), "transpose_b": d.chance(0.5)}
    first = (k, m) if transposes["transpose_a"] else (m, k)
    second = (n, k) if transposes["transpose_b"] else (k, n)
    options: dict[str, Any] = {"alpha": d.in_turn(-1.0, 1.0, 0.3), **transposes}
    a, b = d.floats("a", first), d.floats("b", second)
    if d.chance(0.75):
        options["out"] = d.floats("out", (m, n))
        options["beta"] = d.in_turn(1.0, 0.0, -0.7, 1.0)
    return Drawn((a, b), options)


def _solve_triangular(d: Drawing) -> Drawn:
    def free() -> tuple[Shape, Shape]:
        n = d.size(80)
        right: Shape = d.one_of((n,), (n, d.size(40)), (3, n, 2))
        return ((2, 1, n, n) if len(right) == 3 else (n, n)), right

    first, second = d.shape(
        ((129, 129), (129, 64)), ((64, 64), (64,)), ((3, 20, 20), (3, 20, 7)), free=free
    )
    # Small compared with the diagonal, since other inverses grow without bound. The half that is
    # not read holds large numbers.
    n = first[-1]
    options = {key: d.chance(0.5) for key in ("lower", "transpose", "unit_diagonal")}
    beside = d.rng.uniform(-0.3, 0.3, first)
    unread = (
        np.tri(n, k=-1, dtype=np.bool).T if options["lower"] else np.tri(n, k=-1, dtype=np.bool)
    )
    diagonal = d.rng.uniform(0.5, 2, n) * d.rng.choice([-1, 1], n)
    values = np.where(np.eye(n, dtype=np.bool), diagonal, np.where(unread, 1e3, beside))
    a = Part("a", values.astype(dtypes.canonical(d.dtype)), d.view(first))
    return Drawn((a, d.floats("b", second)), options)


def _linear(d: Drawing) -> Drawn:
    def free() -> tuple[Shape, int]:
        leading = d.one_of((), (d.size(20),), (2, d.size(20)))
        return (*leading, d.size(400)), d.size(80)

    shape, out = d.shape(
        ((1, 576), 192), ((129, 576), 64), ((2, 7, 129), 300), ((1, 1, 64), 1536), free=free
    )
    x, weight = d.floats("x", shape), d.floats("weight", (out, shape[-1]))
    return Drawn((x, weight, d.optional("bias", (out,))), {})


def _packed_linear(d: Drawing) -> Drawn:
    name, (block, nbytes, halves) = d.in_turn(*packed_reference.BLOCKS.items())
    width = block * d.one_of(1, 3, -(-512 // block))
    out = d.one_of(1, 37, 32, d.size(80))
    shape = (*d.one_of((), (1,), (3,), (129,), (2, d.size(20))), width)
    blocks = d.rng.integers(0, 256, (out, width // block, nbytes), dtype=np.uint8)
    for at in halves:
        values = d.rng.standard_normal(blocks.shape[:2]) * 2.0 ** d.rng.integers(-12, 2)
        blocks[:, :, at : at + 2] = values.astype("<f2")[:, :, None].view(np.uint8)
    scales = None
    if not halves:
        groups = width // block if d.chance(0.5) else 1
        scales = Part("scales", d.rng.standard_normal((out, groups)).astype(np.float32))
    data = Part("data", blocks.reshape(out, -1))
    x = d.floats("x", shape, kinds=("normal", "tiny", "wide"))
    interleaved = scales is None and out % packed_reference.INTERLEAVED == 0 and d.chance(0.5)
    packed = PackedPart(name, data, scales, interleaved)
    return Drawn((x, packed, d.optional("bias", (out,))), {})


def _embedding(d: Drawing) -> Drawn:
    def free() -> tuple[Shape, Shape]:
        return tuple(d.size(20) for _ in range(int(d.rng.integers(0, 3)))), (d.size(99), d.size(99))

    shape, table = d.shape(((300,), (999, 64)), ((1, 1), (300, 576)), ((2, 7), (129, 7)), free=free)
    indices = d.integers("indices", shape, 0, table[0])
    indices.values[(0,) * len(shape)] = table[0] - 1
    return Drawn((indices, d.floats("weight", table)), {})


def _rope_tables(d: Drawing) -> Drawn:
    shape, dimensions = d.shape(
        ((300,), 64), ((1,), 128), ((2, 7), 10), free=lambda: ((d.size(99),), 2 * d.size(64))
    )
    positions = d.integers("positions", shape, 0, 4096)
    return Drawn((positions, dimensions), {"theta": d.one_of(1e4, 1e5), "dtype": d.dtype})


def _rope(d: Drawing) -> Drawn:
    def free() -> Shape:
        return (d.size(4), d.size(40), 2 * d.size(40))

    shape: Shape = d.shape((9, 129, 64), (1, 9, 1, 64), (2, 3, 7, 128), (129, 10), free=free)
    x = d.floats("x", shape)
    options: dict[str, Any] = {"interleaved": d.chance(0.5)}
    if d.chance(0.4):
        half = shape[-1] // 2 if d.chance(0.6) else d.size(shape[-1] // 2)
        leading = d.one_of(shape[-2:-1], (1, *shape[-2:-1])) if len(shape) > 2 else shape[-2:-1]
        angles = d.rng.uniform(-4, 4, (*leading, half))
        cos, sin = (f(angles).astype(dtypes.canonical(d.dtype)) for f in (np.cos, np.sin))
        options["tables"] = Part("cos", cos), Part("sin", sin)
        return Drawn((x, None), options)
    options["theta"] = d.one_of(1e4, 1e5)
    which = d.one_of(shape[-2:-1], (1,) * (len(shape) - 2) + shape[-2:-1], shape[:-1], None)
    positions = None if which is None else d.integers("positions", which, 0, 4096)
    return Drawn((x, positions), options)


def _attention(d: Drawing) -> Drawn:
    # Leading axes, heads, key heads, queries, keys, features, features of values.
    def free() -> tuple[Any, ...]:
        groups = d.size(3)
        leading = d.one_of((), (2,))
        sizes = (d.size(50), d.size(50), d.size(40), d.size(40))
        return leading, groups * d.size(3), groups, *sizes

    leading, heads, kv_heads, length, keys, features, out = d.shape(
        ((), 9, 3, 1, 1100, 64, 64),
        ((1,), 9, 3, 129, 129, 64, 64),
        ((), 4, 4, 7, 300, 128, 128),
        ((2,), 2, 1, 129, 7, 16, 8),
        (None, 1, 1, 129, 300, 16, 16),
        free=free,
    )
    flat = leading is None
    front: Shape = () if flat else (*leading, heads)
    back: Shape = () if flat else (*leading, kv_heads)
    # Scores of some thousands are far apart, and overflow float16 on the way.
    kinds = ("normal", "large", "normal", "wide", "normal", "large", "normal")
    extents: dict[str, Any] = {"large": d.one_of(30.0, 100.0), "kinds": kinds}
    q = d.floats("q", (*front, length, features), **extents)
    k = d.floats("k", (*back, keys, features), **extents)
    v = d.floats("v", (*back, keys, out))
    options: dict[str, Any] = {
        "scale": d.one_of(None, None, 0.2),
        "causal": d.chance(0.5),
        "mask": None,
        "key_length": None,
    }
    kind = d.in_turn("none", "boolean", "added", "none", "added")
    if kind != "none":
        shape = d.one_of((length, keys), (1, keys), (*front, length, keys), (length, 1))
        if kind == "boolean":
            options["mask"] = Part("mask", _boolean_mask(d, shape), d.view(shape))
        else:
            options["mask"] = d.floats("mask", shape, kinds=("normal",), masked=0.3)
    if d.chance(0.4):
        n = int(d.rng.integers(0 if d.chance(0.1) else 1, keys + 1))
        length_part = Part("key_length", np.asarray(n, dtype=d.one_of("int32", "int64")))
        options["key_length"] = d.one_of(n, length_part)
    return Drawn((q, k, v), options)


def _boolean_mask(d: Drawing, shape: Shape) -> Values:
    mask = np.asarray(d.rng.random(shape) < 0.7)
    if d.chance(0.5):
        mask[(0,) * (len(shape) - 1)] = False
    return mask


def _cross_entropy(d: Drawing) -> Drawn:
    def free() -> Shape:
        return (d.size(40), d.size(99))

    shape: Shape = d.shape((129, 576), (1, 10), (2, 5, 129), (2, 9999), free=free)
    smoothing = d.one_of(0.0, 0.0, 0.1)
    logits = d.floats("logits", shape, large=_EXPONENTS, kinds=("normal", "large", "near", "wide"))
    targets = d.integers("targets", shape[:-1], 0, shape[-1])
    ignored = d.one_of(-100, -100, 0)
    if d.chance(0.75):
        values = np.where(d.rng.random(shape[:-1]) < 0.3, ignored, targets.values)
        values[(0,) * values.ndim] = ignored
        targets = Part("targets", values.astype(targets.values.dtype), targets.view, "ignored")
    options = {
        "reduction": d.in_turn("mean", "sum", "none"),
        "ignore_index": ignored,
        "label_smoothing": smoothing,
    }
    return Drawn((logits, targets), options)


DRAWN: dict[str, Callable[[Drawing], Drawn]] = {
    "matmul": _matmul,
    "linear": _linear,
    "packed_linear": _packed_linear,
    "embedding": _embedding,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "silu": _activation,
    "gelu": _gelu,
    "relu": _activation,
    "rms_norm": _rms_norm,
    "layer_norm": _layer_norm,
    "rope_tables": _rope_tables,
    "rope": _rope,
    "attention": _attention,
    "cross_entropy": _cross_entropy,
    "gemm": _gemm,
    "solve_triangular": _solve_triangular,
}
"""How each kernel's arguments are drawn."""
