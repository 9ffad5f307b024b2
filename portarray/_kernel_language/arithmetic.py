"""Arithmetic of the interpreter, with the results of a device.

Numbers are stored as on a device: a strong integer, float32 and float64 as NumPy's scalar,
float16 and bfloat16 as a float32 that is rounded after each operation, a weak integer as Python's,
a weak float as a scalar of the default dtype, a truth value as Python's or NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from portarray._kernel_language.types import DType

_LOW, _HIGH = -(2**63), 2**63 - 1
_EXACT = 2**53
Convert = Callable[[Any], Any]


class Fault(Exception):  # noqa: N818  (the error of it is made by the runner)
    """An error at run time, without its location; `Run.fail` raises it as a KernelDebugError."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)  # what it is made of when it is unpickled
        self.kind = kind  # "index", "zero" or ""

    def __str__(self) -> str:
        return str(self.args[1])


def whole(x: Any) -> int:
    """Return the integer part: 0 for NaN, clipped to 64 bits."""
    if isinstance(x, (int, np.integer, np.bool_)):
        return int(x)
    value = float(x)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return _HIGH if value > 0 else _LOW
    return max(_LOW, min(_HIGH, int(value)))


def wide(x: int) -> int:
    """Wrap a weak integer to 64 bits."""
    return x if _LOW <= x <= _HIGH else (x - _LOW) % 2**64 + _LOW


@cache
def to(dtype: DType, *, double: bool) -> Convert:
    """Return the conversion of numbers to a dtype; `double`: whether the device has float64."""
    if dtype.kind == "b":
        return lambda x: bool(x != 0)
    if dtype.kind in "iu":
        return _to_integer(dtype)
    if dtype.kind == "c":
        return _to_complex(dtype)
    return _to_half(dtype, double=double) if dtype.itemsize == 2 else _to_float(dtype)


def bits_as(source: DType, dtype: DType) -> Convert:
    """Return a function that reinterprets the bits of one dtype as another."""
    half = dtype.itemsize == 2 and dtype.kind not in "iu"
    return lambda x: np.asarray(x, source).view(dtype).astype(np.float32 if half else dtype)[()]


def _to_integer(dtype: DType) -> Convert:
    kind = dtype.type
    limits = np.iinfo(dtype)
    low, high, size = int(limits.min), int(limits.max), 2**limits.bits

    def convert(x: Any) -> Any:
        if isinstance(x, (np.floating, float)):
            real = float(x)
            if math.isnan(real):
                return kind(0)
            if not low <= real <= high:  # which no device defines
                return kind(low if real < low else high)
            return kind(max(low, min(high, int(real))))
        value = int(x)
        return kind(value if low <= value <= high else (value - low) % size + low)

    return convert


def _to_float(dtype: DType) -> Convert:
    kind = dtype.type

    def convert(x: Any) -> Any:
        if isinstance(x, (int, np.integer)) and not -_EXACT < x < _EXACT:
            integer_type = np.uint64 if x > _HIGH else np.int64
            return np.asarray(int(x), integer_type).astype(dtype)[()]  # rounded once
        return kind(x)

    return convert


def _to_complex(dtype: DType) -> Convert:
    kind = dtype.type
    part = _to_float(np.dtype(f"float{4 * dtype.itemsize}"))

    def convert(x: Any) -> Any:
        return kind(x if isinstance(x, (complex, np.complexfloating)) else part(x))

    return convert


def _to_half(dtype: DType, *, double: bool) -> Convert:
    kind = dtype.type
    first = _to_float(np.dtype(np.float32))
    bfloat = dtype.name == "bfloat16"

    def convert(x: Any) -> Any:
        if double and isinstance(x, (int, np.integer, np.float64)):
            x = np.float64(x)
        if bfloat or not isinstance(x, np.float64):
            x = first(x)
        return np.float32(kind(x))

    return convert


def floor_divide(x: Any, y: Any) -> Any:
    """Return ``x // y`` of integers of one type, 0 if `y` is 0."""
    return type(x)(0) if y == 0 else x // y


def modulo(x: Any, y: Any) -> Any:
    """Return ``x % y`` of integers of one type, 0 if `y` is 0."""
    return type(x)(0) if y == 0 else x % y


def checked_floor_divide(x: Any, y: Any) -> Any:
    if y == 0:
        raise Fault("zero", f"{x} // 0")
    return x // y


def checked_modulo(x: Any, y: Any) -> Any:
    if y == 0:
        raise Fault("zero", f"{x} % 0")
    return x % y


def power(x: Any, y: Any) -> Any:
    """Return ``x ** y`` of integers of one type, which wraps around."""
    base, exponent = int(x), int(y)
    if exponent < 0:
        out = base if base == 1 or (base == -1 and exponent % 2) else abs(base) == 1
    else:
        bits = 64 if isinstance(x, int) else 8 * x.dtype.itemsize
        out = pow(base, exponent, 2**bits)
    return wide(int(out)) if isinstance(x, int) else _to_integer(x.dtype)(int(out))


def float_power(x: Any, y: Any) -> Any:
    return x * x if y == 2 else x**y


def complex_multiply(x: Any, y: Any) -> Any:
    a, b, c, d = x.real, x.imag, y.real, y.imag
    return type(x)(complex(a * c - b * d, a * d + b * c))


def complex_divide(x: Any, y: Any) -> Any:
    """Return a quotient that does not overflow where its parts do not.

    M. Baudin, R. L. Smith, "A Robust Complex Division in Scilab", 2012. Division by zero divides
    both parts by zero, as NumPy does.
    """
    a, b, c, d = x.real, x.imag, y.real, y.imag
    part = type(a)
    limits = np.finfo(part)
    large, small = limits.max / 2, limits.tiny * 2 / limits.eps
    up, scale = part(2 / limits.eps**2), part(1)
    if c == 0 and d == 0:
        return type(x)(complex(a / abs(c), b / abs(c)))
    if abs(a) >= large or abs(b) >= large:
        a, b, scale = a * part(0.5), b * part(0.5), scale * 2
    if abs(c) >= large or abs(d) >= large:
        c, d, scale = c * part(0.5), d * part(0.5), scale * part(0.5)
    if abs(a) <= small and abs(b) <= small:
        a, b, scale = a * up, b * up, scale / up
    if abs(c) <= small and abs(d) <= small:
        c, d, scale = c * up, d * up, scale * up
    swapped = abs(d) > abs(c)
    if swapped:
        a, b, c, d = b, a, d, c
    ratio = d / c
    inverse = 1 / (c + d * ratio)
    real = _quotient_part(a, b, c, d, ratio, inverse) * scale
    imag = _quotient_part(b, -a, c, d, ratio, inverse) * scale
    return type(x)(complex(real, -imag if swapped else imag))


def _quotient_part(a: Any, b: Any, c: Any, d: Any, ratio: Any, inverse: Any) -> Any:
    if ratio == 0:
        return (a + d * (b / c)) * inverse
    product = b * ratio
    return (a + product) * inverse if product != 0 else a * inverse + (b * inverse) * ratio


COMPLEX_OPERATORS: Mapping[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "*": ("complex_multiply", complex_multiply), "/": ("complex_divide", complex_divide),
}  # fmt: skip
"""Operators that NumPy's scalars round differently on some machines, or that overflow."""


@cache
def shift(sign: str, bits: int, dtype: DType | None) -> Callable[[Any, Any], Any]:
    """Return a shift of so many bits; a count out of range shifts out all bits but the sign."""
    convert: Convert = wide if dtype is None else _to_integer(dtype)

    def shift_left(x: Any, count: Any) -> Any:
        return convert(int(x) << int(count)) if 0 <= count < bits else convert(0)

    def shift_right(x: Any, count: Any) -> Any:
        return convert(int(x) >> (int(count) if 0 <= count < bits else bits))

    return shift_left if sign == "<<" else shift_right


def steps(start: Any, stop: Any, step: Any) -> range:
    """Return a range, empty if the step is 0."""
    return range(int(start), int(stop), int(step)) if step != 0 else range(0)


def converted_range(convert: Convert, values: range) -> Iterator[Any]:
    return map(convert, values)


WHOLE: dict[str, Callable[..., Any]] = {
    "abs": lambda x: -x if x < 0 else x,
    "isnan": lambda x: False,
    "isinf": lambda x: False,
    "isfinite": lambda x: True,
    "whole": whole, "whole_floor": whole, "whole_ceil": whole, "whole_round": whole,
    "min": min, "max": max, "minimum": min, "maximum": max,
    "sign": lambda x: type(x)(int(x > 0) - int(x < 0)),
    "square": lambda x: x * x,
}  # fmt: skip
"""Functions of integers."""

FLOATS: dict[str, Callable[..., Any]] = {
    "whole": whole,
    "whole_floor": lambda x: whole(np.floor(x)),
    "whole_ceil": lambda x: whole(np.ceil(x)),
    "whole_round": lambda x: whole(np.rint(x)),
}
"""Functions of floats that are not those of the table."""

COMPLEX: dict[str, Callable[..., Any]] = {
    "square": lambda x: complex_multiply(x, x),
    "reciprocal": lambda x: complex_divide(type(x)(1), x),
}
"""Functions of complex numbers that are not those of the table."""
