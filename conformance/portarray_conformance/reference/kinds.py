"""Dtypes, promotion and the exceptions of the reference, written down independently of portarray.

A dtype is NumPy's object, or ml_dtypes' for bfloat16.
"""

from __future__ import annotations

import contextlib
import operator
from functools import cache, reduce
from typing import Any, TypeAlias

import numpy as np

try:
    import ml_dtypes
except ImportError:  # no bfloat16 then
    ml_dtypes = None  # type: ignore[assignment]

DType: TypeAlias = np.dtype[Any]
Data: TypeAlias = np.ndarray[Any, Any]

STANDARD = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
EXTRA = ("float16", "bfloat16")
BFLOAT16: DType = np.dtype(getattr(ml_dtypes, "bfloat16", "V2"))
"""Of ml_dtypes; without it a dtype that no array has."""
BOOL = np.dtype(bool)
NAMED: dict[str, DType] = {
    **{name: np.dtype(name) for name in (*STANDARD, "float16")},
    "bfloat16": BFLOAT16,
}
KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
LETTERS: dict[DType, str] = {
    dtype: "f" if name == "bfloat16" else dtype.kind for name, dtype in NAMED.items()
}
WIDE: dict[DType, DType] = {
    **dict.fromkeys((NAMED["float16"], BFLOAT16, NAMED["float32"]), NAMED["float64"]),
    NAMED["float64"]: np.dtype(np.longdouble),
    NAMED["complex64"]: NAMED["complex128"],
    NAMED["complex128"]: np.dtype(np.clongdouble),
}
"""The format in which a floating-point dtype is computed, the widest that NumPy supports."""

LAPACK: dict[DType, DType] = {
    dtype: NAMED["complex128" if letter == "c" else "float64"] for dtype, letter in LETTERS.items()
}
"""The format in which linear algebra and transforms are computed."""

REAL: dict[DType, DType] = {
    NAMED["complex64"]: NAMED["float32"],
    NAMED["complex128"]: NAMED["float64"],
}
COMPLEX: dict[DType, DType] = {
    **dict.fromkeys((NAMED["float16"], BFLOAT16, NAMED["float32"]), NAMED["complex64"]),
    NAMED["float64"]: NAMED["complex128"],
}
DIGITS: dict[DType, tuple[int, int]] = {
    NAMED["float16"]: (10, -14),
    BFLOAT16: (7, -126),
    NAMED["float32"]: (23, -126),
    NAMED["float64"]: (52, -1022),
}
"""Bits of the mantissa behind the point, and the exponent of the smallest normal number."""


@cache
def largest(dtype: DType) -> float:
    """Return the largest finite number of a floating-point dtype, of its parts if complex."""
    digits, least = DIGITS[REAL.get(dtype, dtype)]
    return float(np.ldexp(2.0 - 2.0**-digits, -least))


def overflows(sizes: Any, dtype: DType) -> Data:
    """Return where finite sizes that a computation passes through come near overflow."""
    return np.asarray(np.isfinite(sizes) & (sizes > largest(dtype) / 4))


def finite(sizes: Data) -> Data:
    """Return sizes with 0 in place of infinities and NaN."""
    return np.where(np.isfinite(sizes), sizes, np.zeros((), sizes.dtype))


def underflows(sizes: Any, dtype: DType) -> Data:
    """Return where sizes that are not zero come near the smallest normal number."""
    return np.asarray((sizes != 0) & (sizes < 16 / largest(dtype)))


class DTypeNotSupportedError(TypeError):
    """The modelled device does not support a dtype."""


class UnknownDeviceError(ValueError):
    """A text that does not name a device."""


class Undefined(Exception):  # noqa: N818  (not an error of the program)
    """The next step depends on a value that portarray leaves undefined.

    A shape, a Python number, or whether an exception is raised. Nothing can be compared from here.
    """


def with_alternatives(error: Exception, *classes: type[Exception]) -> Exception:
    """Note the classes of other mistakes in the same call: either error is right."""
    error.alternatives = (*getattr(error, "alternatives", ()), *classes)  # type: ignore[attr-defined]
    return error


def broadcast(*shapes: tuple[int, ...]) -> bool:
    """Return whether shapes broadcast."""
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def not_array(x: Any, name: str) -> TypeError:
    """Return the error for an operand that is neither an array nor a scalar."""
    return TypeError(f"{name} takes arrays and Python scalars, not {type(x).__name__}")


LinAlgError = np.linalg.LinAlgError
AxisError = np.exceptions.AxisError


def letter(dtype: DType) -> str:
    """Return the letter of a dtype's kind."""
    return LETTERS[dtype]


@cache
def _canonical(dtype: Any) -> DType | None:
    if isinstance(dtype, str) and dtype == "bfloat16":
        return BFLOAT16
    # NumPy raises any of these for what it cannot interpret.
    with contextlib.suppress(TypeError, ValueError, SyntaxError):
        candidate = np.dtype(dtype).newbyteorder("=")
        if candidate == BFLOAT16:
            return BFLOAT16
        if candidate.name in NAMED:
            return NAMED[candidate.name]
    return None


def canonical(dtype: Any) -> DType:
    """Return the dtype for a dtype-like; a TypeError for anything else."""
    # NumPy takes anything with a dtype for that.
    like = isinstance(dtype, type) or not hasattr(dtype, "dtype")
    try:
        result = None if dtype is None or not like else _canonical(dtype)
    except TypeError:  # not hashable
        result = None
    if result is None:
        raise TypeError(f"unsupported dtype {dtype!r}; supported: {', '.join(NAMED)}")
    return result


@cache
def _promote_two(first: DType, second: DType) -> DType:
    if first == second:
        return first
    a, b = LETTERS[first], LETTERS[second]
    if ORDER[a] > ORDER[b]:
        first, second, a, b = second, first, b, a
    if a == "f" and b == "c":
        return NAMED["complex128"] if first.itemsize == 8 else second
    if ORDER[a] < ORDER[b]:
        return second
    if a == b:
        if first.itemsize == second.itemsize:  # float16 with bfloat16
            return NAMED["float32"]
        return max(first, second, key=operator.attrgetter("itemsize"))
    unsigned, signed = (first, second) if a == "u" else (second, first)
    if unsigned.itemsize == 8:
        raise TypeError(f"uint64 and {signed} do not promote: no integer dtype holds both")
    return NAMED[f"int{8 * max(signed.itemsize, 2 * unsigned.itemsize)}"]


def promote(*dtypes: DType) -> DType:
    """Return the dtype that dtypes promote to; a TypeError for uint64 with a signed integer."""
    return reduce(_promote_two, dtypes)


def scalar(x: Any) -> Any:
    """Return a Python number for a Python or NumPy scalar, None for anything else."""
    if type(x) in (bool, int, float, complex):
        return x
    if isinstance(x, np.generic):
        item = x.item()
        return item if type(item) in (bool, int, float, complex) else None
    base: Any
    for base in (bool, int, float, complex):
        if isinstance(x, base):  # subclasses, like IntEnum
            return base(x)
    return None


@cache
def limits(dtype: DType) -> tuple[int, int]:
    """Return the range of an integer dtype."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def python_number(value: Any, dtype: DType) -> Any:
    """Return a Python number as the Python type of a dtype's kind; OverflowError if outside."""
    kind = LETTERS[dtype]
    if kind in "iu":
        whole = int(value)
        low, high = limits(dtype)
        if not low <= whole <= high:
            raise OverflowError(f"Python integer {whole} is out of bounds for {dtype}")
        return whole
    if kind == "f":
        return float(value)
    return complex(value) if kind == "c" else bool(value)


def rounded_number(value: Any, dtype: DType) -> Data:
    """Return a Python number as a 0-d array of a dtype; OverflowError if outside."""
    scalar_value = python_number(value, dtype)
    if LETTERS[dtype] in "fc":
        return rounded(np.asarray(scalar_value), dtype)
    return np.asarray(scalar_value, dtype=dtype)


def rounded(x: Data, dtype: DType) -> Data:
    """Return wide values in a dtype, rounded once."""
    if x.dtype == dtype:
        return x
    with np.errstate(all="ignore"):
        if dtype == BFLOAT16 and x.dtype.kind in "iu":
            x = x.astype(np.longdouble)
        if dtype == BFLOAT16 and x.dtype.kind == "f" and x.dtype.itemsize > 4:
            # Through float32 with rounding to odd, as the second rounding is then the only one.
            near = np.atleast_1d(x.astype(np.float32))
            wide = np.atleast_1d(x)
            beyond = np.isfinite(wide) & (np.abs(near.astype(wide.dtype)) > np.abs(wide))
            cut = np.where(beyond, np.nextafter(near, np.float32(0)), near)
            inexact = np.isfinite(wide) & (cut.astype(wide.dtype) != wide)
            cut.view(np.uint32)[inexact] |= 1
            return cut.astype(dtype).reshape(x.shape)
        return x.astype(dtype)
