"""The rows of the kernels' table: every kernel, size and dtype that is measured.

A row's name describes it completely: ``"rms_norm 512x4096"``, ``"attention 9x1024x64 causal"``,
``"linear decode 1536x576 float16"``. The default dtype is float32. Tuned versions name the row in
which they are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

__all__ = ["GROWTH", "Row", "growth", "rows"]

ROW_COUNT = 512
HIDDEN = (576, 4096)
HEADS = ((9, 64), (32, 128))  # heads, features
GROUPED = ((9, 3, 64), (32, 8, 128))  # query heads, key heads, features
LENGTHS = (128, 1024, 4096)
INTERMEDIATE = 1536
VOCABULARY = 49152
CACHE = 2048  # capacity in keys
FILLED = 1024  # keys in the cache
OTHER_DTYPES = ("float16", "bfloat16", "float64")
ITEM_SIZES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}

ROW_WISE = ("softmax", "log_softmax", "silu", "gelu", "relu", "rms_norm", "layer_norm")
WEIGHTED = {"rms_norm": ("weight",), "layer_norm": ("weight", "bias")}

GROWTH: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(ROW_WISE, (1, 8, 64, 512, 4096)),  # rows
    "rope": (1, 16, 128, 1024, 4096),  # length
    "rope_tables": (1, 16, 128, 1024, 4096),  # length
    "attention": (16, 64, 256, 1024, 4096),  # length
    "linear": (1, 8, 64, 512),  # rows
    "matmul": (16, 64, 256, 1024),  # side
    "gemm": (1, 8, 64, 512, 1024),
    "solve_triangular": (1, 8, 64, 512, 1024),
    "cross_entropy": (1, 8, 64, 512),  # rows
    "embedding": (1, 8, 64, 512, 4096),  # indices
}
"""Growing sizes of each kernel."""

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str  # kernel, sizes, variant, dtype
    kernel: str  # name in :mod:`portarray.kernels`
    # A random generator to the arrays by name, in the order in which the kernel takes them; those
    # of real floating dtype become ``dtype``. ``cos`` and ``sin`` are rope's tables.
    make: Callable[[np.random.Generator], Arrays]
    options: Mapping[str, Any] = field(default_factory=dict)  # keywords that are not arrays
    promised: bool = False  # whether promises are about this row
    dtype: str = "float32"  # of the floating-point arrays

    def arrays(self) -> Arrays:
        """Return the arrays, which are the same in every run."""
        return self.make(np.random.default_rng(7))

    def arguments(self, arrays: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the kernel's arguments for arrays of any library."""
        remaining = dict(arrays)
        options = dict(self.options)
        if "cos" in remaining:
            options["tables"] = (remaining.pop("cos"), remaining.pop("sin"))
        if "mask" in remaining:
            options["mask"] = remaining.pop("mask")
        if "packed" in remaining:
            from portarray.kernels import Packed  # not before the settings of libraries

            remaining["packed"] = Packed(remaining["packed"], self.name.split()[-1])
        positional = list(remaining.values())
        if "dimensions" in options:
            positional.append(options.pop("dimensions"))
        return tuple(positional), options

    def touched(self, arrays: Arrays, size: int) -> int:
        """Return the bytes that a call reads and writes, given the size of its result."""
        sizes = {name: x.size for name, x in arrays.items()}
        if self.kernel == "embedding":
            sizes["weight"] = size
        if "key_length" in self.options:
            sizes.update({n: sizes[n] * self.options["key_length"] // CACHE for n in ("k", "v")})
        floating = size + sum(sizes[name] for name, x in arrays.items() if x.dtype.kind == "f")
        others = sum(x.nbytes for x in arrays.values() if x.dtype.kind != "f")
        return floating * ITEM_SIZES[self.dtype] + others


def rows() -> list[Row]:
    """Return every row in the order of the table."""
    return [*_float32(), *(_in(dtype, row) for dtype in OTHER_DTYPES for row in _some())]


def growth(kernel: str, size: int) -> Row:
    """Return a row of a kernel at a size in :data:`GROWTH`."""
    if kernel in ROW_WISE:
        return _row_wise(kernel, size, HIDDEN[-1])
    if kernel == "rope":
        return _rope(*_between(HEADS[0], size))
    if kernel == "rope_tables":
        return _rope_tables(size, HEADS[0][1])
    if kernel == "attention":
        return _attention(*_between(HEADS[0], size), causal=True)
    if kernel == "linear":
        return _linear("prompt", INTERMEDIATE, HIDDEN[0], size)
    if kernel == "matmul":
        return _matmul(size, size, size)
    if kernel == "gemm":
        return _gemm(size)
    if kernel == "solve_triangular":
        return _solve_triangular(size)
    if kernel == "cross_entropy":
        return _cross_entropy(size, VOCABULARY)
    return _embedding(size)


def _float32() -> Iterator[Row]:
    for kernel in ROW_WISE:
        for hidden in HIDDEN:
            yield _row_wise(kernel, ROW_COUNT, hidden, promised=True)
    yield _row_wise("gelu", ROW_COUNT, HIDDEN[-1], variant="tanh", approximate="tanh")
    yield _row_wise("softmax", 1, VOCABULARY)
    yield _row_wise("rms_norm", 1, HIDDEN[0])
    yield _row_wise("silu", 1, INTERMEDIATE)
    for heads_and_dim in HEADS:
        yield replace(_rope(*_between(heads_and_dim, 1024)), promised=True)
    yield _rope(*_between(HEADS[1], 1024), interleaved=True)
    yield _rope(*_between(HEADS[1], 1024), tables=False)
    yield _rope(*_between(HEADS[0], 1))
    yield _rope_tables(1024, HEADS[1][1])
    for heads_and_dim in HEADS:
        for length in LENGTHS:
            yield replace(_attention(*_between(heads_and_dim, length), causal=True), promised=True)
        for length in LENGTHS[:2]:
            yield replace(_attention(*_between(heads_and_dim, length)), promised=True)
    yield _attention(*_between(HEADS[0], 1024), masked=True)
    for heads, groups, dim in GROUPED:
        yield _attention(heads, 1024, dim, groups=groups, causal=True)
    for heads, groups, dim in GROUPED:
        yield _decode_attention(heads, groups, dim)
    for out, into in ((INTERMEDIATE, HIDDEN[0]), (4096, 4096)):
        yield _linear("prompt", out, into, ROW_COUNT)
    yield _linear("prompt", INTERMEDIATE, HIDDEN[0], ROW_COUNT, bias=True)
    for out, into in (
        (INTERMEDIATE, HIDDEN[0]),
        (HIDDEN[0], INTERMEDIATE),
        (VOCABULARY, HIDDEN[0]),
        (4096, 4096),
    ):
        yield _linear("decode", out, into, 1)
    yield _packed("decode", INTERMEDIATE, HIDDEN[0], 1)
    yield _packed("prompt", INTERMEDIATE, HIDDEN[0], ROW_COUNT)
    yield _matmul(ROW_COUNT, HIDDEN[0], INTERMEDIATE)
    yield _matmul(1024, 1024, 1024)
    yield _gemm(512)
    yield _solve_triangular(512)
    yield _cross_entropy(ROW_COUNT, 4096)
    yield _cross_entropy(ROW_COUNT, VOCABULARY)
    yield _embedding(ROW_COUNT)
    yield _embedding(1)


def _some() -> Iterator[Row]:
    """Yield the rows that are also measured in other dtypes."""
    for kernel in ROW_WISE:
        yield _row_wise(kernel, ROW_COUNT, HIDDEN[-1])
    yield _row_wise("gelu", ROW_COUNT, HIDDEN[-1], variant="tanh", approximate="tanh")
    yield _rope(*_between(HEADS[1], 1024))
    yield _attention(*_between(HEADS[0], 1024), causal=True)
    yield _decode_attention(*GROUPED[0])
    yield _linear("prompt", INTERMEDIATE, HIDDEN[0], ROW_COUNT)
    yield _linear("decode", INTERMEDIATE, HIDDEN[0], 1)
    yield _linear("decode", 4096, 4096, 1)
    yield _matmul(ROW_COUNT, HIDDEN[0], INTERMEDIATE)
    yield _cross_entropy(ROW_COUNT, 4096)
    yield _embedding(ROW_COUNT)


def _in(dtype: str, row: Row) -> Row:
    return replace(row, name=f"{row.name} {dtype}", dtype=dtype)


def _between(heads: tuple[int, int], length: int) -> tuple[int, int, int]:
    return heads[0], length, heads[1]


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(shape, np.float32)


def _row_wise(
    kernel: str,
    count: int,
    hidden: int,
    *,
    variant: str = "",
    promised: bool = False,
    **options: Any,
) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        arrays = {"x": _normal(rng, count, hidden)}
        arrays.update({name: _normal(rng, hidden) for name in WEIGHTED.get(kernel, ())})
        return arrays

    name = f"{kernel} {count}x{hidden} {variant}".rstrip()
    return Row(name, kernel, make, options, promised)


def _rope(
    heads: int, length: int, dim: int, *, interleaved: bool = False, tables: bool = True
) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        x = {"x": _normal(rng, heads, length, dim)}
        if not tables:
            return x
        frequencies = 10000.0 ** (-np.arange(0, dim, 2) / dim)
        angles = np.arange(length)[:, None] * frequencies
        return {**x, "cos": np.cos(angles), "sin": np.sin(angles)}

    variant = " interleaved" if interleaved else "" if tables else " without tables"
    return Row(f"rope {heads}x{length}x{dim}{variant}", "rope", make, {"interleaved": interleaved})


def _rope_tables(length: int, dim: int) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        return {"positions": np.arange(length)}

    return Row(f"rope_tables {length}x{dim}", "rope_tables", make, {"dimensions": dim})


def _attention(
    heads: int,
    length: int,
    dim: int,
    *,
    groups: int | None = None,
    causal: bool = False,
    masked: bool = False,
) -> Row:
    kv_heads = groups or heads

    def make(rng: np.random.Generator) -> Arrays:
        arrays = {
            "q": _normal(rng, heads, length, dim),
            "k": _normal(rng, kv_heads, length, dim),
            "v": _normal(rng, kv_heads, length, dim),
        }
        if masked:  # each query attends to its own key and about half of the others
            arrays["mask"] = (rng.random((length, length)) < 0.5) | np.eye(length, dtype=bool)
        return arrays

    text = f"{heads}" if groups is None else f"{heads}/{groups}"
    variant = " causal" if causal else " mask" if masked else ""
    return Row(f"attention {text}x{length}x{dim}{variant}", "attention", make, {"causal": causal})


def _decode_attention(heads: int, groups: int, dim: int) -> Row:
    """Return one query over a cache that is half full."""

    def make(rng: np.random.Generator) -> Arrays:
        return {
            "q": _normal(rng, heads, 1, dim),
            "k": _normal(rng, groups, CACHE, dim),
            "v": _normal(rng, groups, CACHE, dim),
        }

    return Row(
        f"attention decode {heads}/{groups}x{dim} keys {FILLED}",
        "attention",
        make,
        {"causal": False, "key_length": FILLED},
    )


def _packed(phase: str, out: int, into: int, count: int) -> Row:
    """Return a row with a 4-bit weight whose scales are between -1 and 1."""

    def make(rng: np.random.Generator) -> Arrays:
        blocks = rng.integers(0, 256, (out, into // 32, 20), dtype=np.uint8)
        blocks[:, :, :4] = rng.uniform(-1, 1, (out, into // 32, 2)).astype("<f2").view(np.uint8)
        return {"x": _normal(rng, count, into), "packed": blocks.reshape(out, -1)}

    return Row(f"linear {phase} {out}x{into} Q4_1", "linear", make)


def _linear(phase: str, out: int, into: int, count: int, *, bias: bool = False) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        arrays = {"x": _normal(rng, count, into), "weight": _normal(rng, out, into) / into**0.5}
        if bias:
            arrays["bias"] = _normal(rng, out)
        return arrays

    return Row(f"linear {phase} {out}x{into}{' bias' if bias else ''}", "linear", make)


def _matmul(n: int, k: int, m: int) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        return {"x1": _normal(rng, n, k) / k**0.5, "x2": _normal(rng, k, m)}

    return Row(f"matmul {n}x{k}x{m}", "matmul", make)


def _gemm(n: int) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        return {"a": _normal(rng, n, n), "b": _normal(rng, n, n)}

    return Row(f"gemm {n}x{n}x{n}", "gemm", make, {"transpose_b": True})


def _solve_triangular(n: int) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        eye = np.eye(n, dtype=np.float32)
        return {"a": _normal(rng, n, n) / n + eye, "b": _normal(rng, n, n)}

    return Row(f"solve_triangular {n}x{n}", "solve_triangular", make, {"lower": True})


def _cross_entropy(count: int, classes: int) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        return {"logits": _normal(rng, count, classes), "targets": rng.integers(0, classes, count)}

    return Row(f"cross_entropy {count}x{classes}", "cross_entropy", make)


def _embedding(count: int) -> Row:
    def make(rng: np.random.Generator) -> Arrays:
        weight = _normal(rng, VOCABULARY, HIDDEN[0])
        return {"indices": rng.integers(0, VOCABULARY, count), "weight": weight}

    return Row(f"embedding {count} of {VOCABULARY}x{HIDDEN[0]}", "embedding", make)
