"""Values that programs are made of, drawn as text: dtypes, shapes, scalars and arrays."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]

KINDS = {
    "bool": "b",
    **{f"int{bits}": "i" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": "u" for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), "f"),
    **dict.fromkeys(("complex64", "complex128"), "c"),
}
WEIGHTS = {
    "bool": 4, "int8": 2, "int16": 1, "int32": 4, "int64": 5, "uint8": 3, "uint16": 1,
    "uint32": 1, "uint64": 2, "float16": 2, "bfloat16": 1, "float32": 6, "float64": 6,
    "complex64": 3, "complex128": 3,
}  # fmt: skip

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
TINY = {"float16": 6.0e-8, "bfloat16": 9.2e-41, "float32": 1.4e-45, "float64": 5e-324}


def limits(dtype: str) -> tuple[int, int]:
    """Return the smallest and largest value of an integer dtype."""
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    if dtype.startswith("u"):
        return 0, 2**bits - 1
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def float_text(value: float) -> str:
    """Return a float as it is typed."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def complex_text(value: complex) -> str:
    """Return a complex number as it is typed; signs of zeros and infinities need the function."""
    return f"complex({float_text(value.real)}, {float_text(value.imag)})"


def text_of_element(value: bool | int | float | complex) -> str:
    """Return a Python number as it is typed."""
    if type(value) is complex:
        return complex_text(value)
    return float_text(value) if isinstance(value, float) else repr(value)


@dataclass(frozen=True, slots=True)
class Flavor:
    """How the values of one array are drawn.

    ``plain`` draws small numbers without zeros or special values, for matrices that must be
    solved; ``subnormal`` allows numbers below the smallest normal one. ``apart`` draws
    floating-point numbers of moderate size of which no two are equal, where most functions have
    derivatives, and integers that fit in any dtype.
    """

    plain: bool = False
    subnormal: bool = True
    apart: bool = False


def real(rng: random.Random, dtype: str, special: float, flavor: Flavor) -> float:
    """Return one real number that the dtype represents, at least nearly."""
    if rng.random() < special:
        pick = rng.randrange(14)
        if pick < 3:
            return math.nan
        if pick < 6:
            return math.inf if pick % 2 else -math.inf
        if pick < 9:
            return -0.0
        if pick < 11:
            return 0.0
        if pick == 11:
            return LARGEST.get(dtype, 1.7976931348623157e308)
        if pick == 12 and flavor.subnormal and rng.random() < 0.3:
            return TINY.get(dtype, 5e-324)
        return rng.choice((1e4, -1e-4, 1e10, -1e18, 0.1))
    style = rng.randrange(4)
    if style == 0:
        return float(rng.randint(-4, 9))
    if style == 1:
        return rng.randint(-24, 24) / 8
    return round(rng.gauss(0, 3), rng.choice((1, 2, 4)))


def element(rng: random.Random, dtype: str, special: float, flavor: Flavor) -> str:
    """Return one element of a dtype as text."""
    kind = KINDS[dtype]
    if kind == "b":
        return rng.choice(("True", "False"))
    if kind in "iu":
        low, high = limits(dtype)
        if rng.random() < special and not flavor.apart:
            return str(rng.choice((low, high, low, high, high - 1, low + 1, high // 2 + 1)))
        return str(rng.randint(max(low, -9), min(high, 12)))
    if kind == "f":
        return float_text(real(rng, dtype, special, flavor))
    part = "float32" if dtype == "complex64" else "float64"
    value = complex(real(rng, part, special, flavor), real(rng, part, special, flavor))
    if math.isfinite(value.real) and math.isfinite(value.imag) and rng.random() < 0.8:
        return repr(value + 0).strip("()")  # the sum makes zeros positive
    return complex_text(value)


def size_of(shape: Sequence[int]) -> int:
    """Return the number of elements."""
    return math.prod(shape)


def nested(elements: list[str], shape: Shape) -> str:
    """Return the elements as nested lists."""
    if not shape:
        return elements[0]
    if not size_of(shape):
        return "[" + ", ".join(nested([], shape[1:]) for _ in range(shape[0])) + "]"
    step = len(elements) // shape[0]
    rows = (nested(elements[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))
    return "[" + ", ".join(rows) + "]"


def array_text(rng: random.Random, shape: Shape, dtype: str, flavor: Flavor) -> str:
    """Return an expression that makes an array of that shape and dtype."""
    count = size_of(shape)
    if not count:
        return f"xp.zeros({shape!r}, dtype=xp.{dtype})"
    if flavor.apart and KINDS[dtype] in "fc":
        elements = _apart(rng, dtype, shape, count, diagonal=2.0 if flavor.plain else 0.0)
        return f"xp.asarray({nested(elements, shape)}, dtype=xp.{dtype})"
    chance = rng.random()
    if chance < 0.06 and dtype != "bool" and not flavor.plain:
        return f"xp.full({shape!r}, {element(rng, dtype, 0, flavor)}, dtype=xp.{dtype})"
    if chance < 0.2 and dtype != "bool" and not flavor.plain and count > 3:
        base = f"xp.arange({count}, dtype=xp.{dtype if KINDS[dtype] != 'c' else 'int32'})"
        if KINDS[dtype] == "c":
            base = f"xp.astype({base}, xp.{dtype})"
        return base if len(shape) == 1 else f"xp.reshape({base}, {shape!r})"
    if flavor.plain:
        elements = [_well_behaved(rng, dtype, shape, i) for i in range(count)]
    else:
        special = rng.choice((0, 0, 0, 0.05, 0.3))
        elements = [element(rng, dtype, special, flavor) for _ in range(count)]
    return f"xp.asarray({nested(elements, shape)}, dtype=xp.{dtype})"


def _apart(
    rng: random.Random, dtype: str, shape: Shape, count: int, *, diagonal: float
) -> list[str]:
    """Return numbers of which no two are equal, at times positive ones or all below 1.

    With a ``diagonal`` matrices have singular values that are apart too.
    """
    signs = rng.choice(((1,), (-1, 1), (-1, 1)))
    most = rng.choice((0.9, 2.0)) if not diagonal else 0.4

    def draw_number() -> float:
        return rng.choice(signs) * round(rng.uniform(0.1, most), 4)

    numbers = []
    rows, columns = (1, 1, *shape)[-2:]
    for index in range(count):
        row, column = divmod(index % (rows * columns), columns)
        value = draw_number() + (diagonal * (row + 1) if row == column else 0)
        numbers.append(
            repr(complex(value, draw_number())).strip("()") if KINDS[dtype] == "c" else repr(value)
        )
    return numbers


def _well_behaved(rng: random.Random, dtype: str, shape: Shape, index: int) -> str:
    """Return an element of a matrix with a large diagonal, which is far from singular."""
    rows, columns = (1, *shape)[-2:]
    row, column = divmod(index % (rows * columns), columns)
    extra = 4 if row == column else 0
    value = rng.randint(-8, 8) / 4 + extra
    if KINDS[dtype] == "c":
        return repr(complex(value, rng.randint(-4, 4) / 4)).strip("()")
    if KINDS[dtype] == "b":
        return str(value > 0)
    if KINDS[dtype] in "iu":
        return str(max(0, int(value)))
    return float_text(value)


def shape_of(rng: random.Random, least: int = 0, most: int = 4, empty: float = 0.04) -> Shape:
    """Return a small shape."""
    ndim = rng.choice((0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4))
    ndim = min(max(ndim, least), most)
    shape = tuple(rng.choice((1, 2, 2, 3, 3, 4, 5)) for _ in range(ndim))
    while size_of(shape) > 40:
        shape = tuple(max(1, n - 1) for n in shape)
    if shape and rng.random() < empty:
        hole = rng.randrange(ndim)
        shape = (*shape[:hole], 0, *shape[hole + 1 :])
    return shape


def scalar(rng: random.Random, kinds: str, *, wild: float, numpy: bool) -> str:
    """Return a Python scalar of one of the kinds, seldom a NumPy scalar."""
    kind = rng.choice(kinds)
    if numpy and rng.random() < 0.06:
        return rng.choice(
            {
                "b": ("np.bool_(True)", "np.False_"),
                "i": ("np.int8(3)", "np.int64(-2)", "np.int32(100)"),
                "u": ("np.uint8(200)", "np.uint64(2)"),
                "f": ("np.float32(1.5)", "np.float64(0.1)", "np.float16(2.5)"),
                "c": ("np.complex64(1+2j)", "np.complex128(2j)"),
            }[kind]
        )
    if kind == "b":
        return rng.choice(("True", "False"))
    if kind in "iu":
        if rng.random() < wild:
            return rng.choice(
                ("127", "128", "-129", "255", "256", "2**31", "-2**31", "2**32", "2**53 + 1",
                 "2**63", "-2**63", "2**64 - 1", "2**64", "10**30", "-10**30")
            )  # fmt: skip
        return str(rng.randint(0 if kind == "u" else -4, 9))
    if kind == "f":
        if rng.random() < wild:
            return rng.choice(
                (
                    "nan",
                    "inf",
                    "-inf",
                    "-0.0",
                    "1e30",
                    "1e300",
                    "-1e-30",
                    "0.1",
                    "65520.0",
                    "5e-324",
                )
            )
        return rng.choice(("0.5", "2.0", "-1.5", "0.25", "3.0", "1e-3", "-0.0", "0.1", "1.0"))
    if rng.random() < wild:
        return rng.choice(
            ("complex(nan, 0.0)", "complex(0.0, -inf)", "complex(-0.0, -0.0)", "1e30j")
        )
    return rng.choice(("1j", "2-0.5j", "(-1.5+2j)", "(0.25+0j)"))
