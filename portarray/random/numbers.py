"""Random bits, floating-point numbers and integers."""

from __future__ import annotations

import math
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._api import arguments
from portarray._api.data_type import astype
from portarray._array import dispatch, dtypes
from portarray._array.array import Array
from portarray.random import distributions, drawing, parameters
from portarray.random.drawing import Draw, Prepared
from portarray.random.keys import one_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portarray.typing import DTypeLike

    DType = np.dtype[Any]

# How uniform numbers are made of 32 bits: bits that are left out, and the distance of neighbours.
_STEPS = {"float16": (21, 2.0**-11), "bfloat16": (24, 2.0**-8), "float32": (8, 2.0**-24)}
_BITS32 = Draw(distributions.BITS32)
_BITS64 = Draw(distributions.BITS64)


def bits(key: Array, shape: int | Sequence[int] = (), *, dtype: DTypeLike = np.uint32) -> Array:
    """Return random bits, as unsigned integers.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    shape : int or sequence of int, default: ()
        Shape of the result.
    dtype : dtype, default: uint32
        uint8, uint16, uint32 or uint64.

    Returns
    -------
    Array
        Bits, on the key's device: those of ``jax.random.bits``.

    Raises
    ------
    TypeError
        If the dtype is not an unsigned integer, or `key` is not a key.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.random.bits(pa.random.key(42), 2).tolist()
    [2098992034, 2919706841]
    """
    return drawing.drawn(_bits, key, shape, dtype)


def _bits(key: Array, dtype: DTypeLike) -> Prepared:
    key = one_key(key, "bits")
    out_dtype = dtypes.canonical(dtype)
    if out_dtype.kind != "u":
        raise TypeError(
            f"bits: unsupported dtype {out_dtype}; supported: unsigned integers, uint8 to uint64"
            f"\nHint: use pa.random.integers"
        )
    dispatch.table_of(key.device, out_dtype)
    if out_dtype.itemsize >= 4:
        return _BITS64 if out_dtype.itemsize == 8 else _BITS32, None
    largest = int(np.iinfo(out_dtype).max)
    return _BITS32, lambda words: astype(words & largest, out_dtype)


def uniform(
    key: Array,
    shape: int | Sequence[int] = (),
    *,
    dtype: DTypeLike | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> Array:
    """Return numbers that are uniformly distributed from ``low`` to ``high``, which is not one.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    shape : int or sequence of int, default: ()
        Shape of the result.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.
    low, high : float, default: 0.0, 1.0
        The range.

    Returns
    -------
    Array
        Numbers on the key's device, the same on every device. Before they are scaled to the range
        they are multiples of 2**-53 in float64, 2**-24 in float32, 2**-11 in float16 and 2**-8 in
        bfloat16, all equally probable.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or a bound is not a
        number.
    ValueError
        If ``low`` is not less than ``high`` in the dtype, or the range overflows it.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.uniform(pa.random.key(0), (2, 3), low=-1.0)
    >>> x.shape, bool(pa.all((x >= -1) & (x < 1)))
    ((2, 3), True)
    """
    return drawing.drawn(_uniform, key, shape, dtype, low, high)


def _uniform(key: Array, dtype: DTypeLike | None, low: float, high: float) -> Prepared:
    key = one_key(key, "uniform")
    out_dtype = parameters.floating(key, dtype, "uniform")
    least, most = _rounded(low, out_dtype, "low"), _rounded(high, out_dtype, "high")
    if not least < most:
        raise ValueError(
            f"uniform: low={low!r} and high={high!r}; in {out_dtype} low must be less than high"
        )
    return _in_dtype(_between(out_dtype, least, most), out_dtype)


@lru_cache(maxsize=256)
def _between(dtype: DType, least: float, most: float) -> Draw:
    """Return the draw of uniform numbers from one number of a dtype to another."""
    width = _rounded(most - least, dtype, "high - low")
    below = float(np.nextafter(dtype.type(most), dtype.type(least)))
    if dtype.itemsize == 8:
        return Draw(distributions.UNIFORM64, (width, least, below))
    return Draw(distributions.UNIFORM32, (*_STEPS[dtype.name], width, least, below))


def normal(
    key: Array,
    shape: int | Sequence[int] = (),
    *,
    dtype: DTypeLike | None = None,
    loc: float = 0.0,
    scale: float = 1.0,
) -> Array:
    """Return numbers of the normal distribution.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    shape : int or sequence of int, default: ()
        Shape of the result.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.
    loc, scale : float, default: 0.0, 1.0
        Mean and standard deviation.

    Returns
    -------
    Array
        Numbers on the key's device: quantiles of equally probable numbers, 2**64 in float64 and
        2**32 in the other dtypes, so that they reach to 9.1 and 6.2 standard deviations.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or a parameter is not a
        number.
    ValueError
        If ``scale`` is negative, or a parameter is not finite.

    Notes
    -----
    The error of the standard normal numbers is at most 4 units in the last place, and they are the
    same on all devices that round ``+ - * /`` and the square root correctly. Others, and functions
    that a library compiles as a whole, may differ from them by 4 units in the last place.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.normal(pa.random.key(0), 1000, loc=3.0)
    >>> round(float(pa.mean(x)), 1)
    3.0
    """
    return drawing.drawn(_normal, key, shape, dtype, loc, scale)


def _normal(key: Array, dtype: DTypeLike | None, loc: float, scale: float) -> Prepared:
    key = one_key(key, "normal")
    out_dtype = parameters.floating(key, dtype, "normal")
    draw = drawing.normal(out_dtype, _scale(scale, out_dtype), _rounded(loc, out_dtype, "loc"))
    return _in_dtype(draw, out_dtype)


def exponential(
    key: Array,
    shape: int | Sequence[int] = (),
    *,
    dtype: DTypeLike | None = None,
    scale: float = 1.0,
) -> Array:
    """Return numbers of the exponential distribution, which are positive.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    shape : int or sequence of int, default: ()
        Shape of the result.
    dtype : dtype, optional
        A real floating-point dtype; the default one of the key's device if None.
    scale : float, default: 1.0
        Mean.

    Returns
    -------
    Array
        Numbers on the key's device; as for :func:`normal`, they are quantiles, up to 45 in float64
        and to 22.9 in the other dtypes.

    Raises
    ------
    TypeError
        If the dtype is not a real floating-point dtype, `key` is not a key, or the scale is not a
        number.
    ValueError
        If ``scale`` is negative or not finite.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.exponential(pa.random.key(0), 1000)
    >>> bool(pa.all(x > 0)), round(float(pa.mean(x)), 1)
    (True, 1.0)
    """
    return drawing.drawn(_exponential, key, shape, dtype, scale)


def _exponential(key: Array, dtype: DTypeLike | None, scale: float) -> Prepared:
    key = one_key(key, "exponential")
    out_dtype = parameters.floating(key, dtype, "exponential")
    return _in_dtype(drawing.exponential(out_dtype, _scale(scale, out_dtype)), out_dtype)


def _in_dtype(draw: Draw, dtype: DType) -> Prepared:
    """Return a draw with the conversion of its numbers to a dtype, if they are of another."""
    return draw, None if dtype == draw.sampler.dtype else lambda x: astype(x, dtype)


def integers(
    key: Array,
    low: int,
    high: int | None = None,
    shape: int | Sequence[int] = (),
    *,
    dtype: DTypeLike | None = None,
    endpoint: bool = False,
) -> Array:
    """Return integers from ``low`` up to, but not including, ``high``, all equally probable.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    low : int
        The smallest integer; if `high` is None, the integers are from 0 up to, but not including,
        `low`.
    high : int, optional
        The end of the range.
    shape : int or sequence of int, default: ()
        Shape of the result.
    dtype : dtype, optional
        An integer dtype; the default one of the key's device if None.
    endpoint : bool, default: False
        Whether `high` is one of the integers.

    Returns
    -------
    Array
        Integers on the key's device, the same on every device and in every dtype that holds them.

    Raises
    ------
    TypeError
        If the dtype is not an integer dtype, `key` is not a key, or a bound is not an integer.
    ValueError
        If the range is empty or does not fit the dtype.

    Notes
    -----
    A range of n integers takes 64 random bits x where n is at most 2**32, else 96:
    ``floor(n * x / 2**64)``. No integer's probability differs by more than 2**-32 of itself from
    1/n, and in ranges of a power of two by nothing.

    Examples
    --------
    >>> import portarray as pa
    >>> dice = pa.random.integers(pa.random.key(0), 1, 6, (1000,), endpoint=True)
    >>> pa.unique_values(dice).tolist()
    [1, 2, 3, 4, 5, 6]
    """
    return drawing.drawn(_integers, key, shape, low, high, dtype, endpoint)


def _integers(
    key: Array, low: int, high: int | None, dtype: DTypeLike | None, endpoint: bool
) -> Prepared:
    key = one_key(key, "integers")
    out_dtype = (
        dispatch.default_dtype(key.device, "i") if dtype is None else dtypes.canonical(dtype)
    )
    if out_dtype.kind not in "iu":
        fix = "pa.random.integers(key, 2, shape=shape).astype(pa.bool)"
        raise TypeError(
            f"integers: unsupported dtype {out_dtype}; supported: integers"
            f"\nHint: use {fix if out_dtype.kind == 'b' else 'pa.random.uniform'}"
        )
    dispatch.table_of(key.device, out_dtype)
    least, most = (0, low) if high is None else (low, high)
    least, most = _integer(least, "low"), _integer(most, "low" if high is None else "high")
    if not arguments.flag(endpoint, "endpoint"):
        most -= 1
    if most < least:
        raise ValueError(
            f"integers: the range from {least} to {most} is empty; "
            + ("low must be positive" if high is None else "low must be less than high")
            + (", or equal to it" if endpoint else "")
        )
    smallest, largest = dtypes.limits(out_dtype)
    if least < smallest or most > largest:
        raise ValueError(
            f"integers: {least} to {most} do not fit {out_dtype} ({smallest} to {largest})"
            f"\nHint: pass another dtype="
        )
    count = most - least + 1
    draw = _offsets(count, out_dtype == distributions.I64)
    if not least and draw.sampler.dtype == out_dtype:
        return draw, None
    return draw, lambda offsets: _placed(offsets, least, out_dtype)


@lru_cache(maxsize=256)
def _offsets(count: int, is_int64: bool) -> Draw:
    """Return the draw of integers below a number."""
    if count == 2**64:
        return _BITS64
    if count == 2**32:
        return Draw(distributions.FIRST_WORDS)
    if count < 2**32:
        n1, n0 = divmod(count, 2**16)
        sampler = distributions.INTEGERS64 if is_int64 else distributions.INTEGERS
        return Draw(sampler, (n0, n1))
    n1, n0 = divmod(count, 2**32)
    return Draw(distributions.WIDE_INTEGERS, (n0, n1))


def _placed(offsets: Array, least: int, dtype: DType) -> Array:
    """Return offsets plus the least integer, in wrapping arithmetic."""
    if dtype.itemsize == 8 and offsets.dtype != distributions.U64:
        converted = astype(offsets, dtype, copy=False)
        return converted + least if least else converted
    if least:
        offsets = offsets + least % (1 << (8 * offsets.dtype.itemsize))
    if dtype.kind == "i" and dtype.itemsize < 4:  # with its sign, which narrower ones keep
        offsets = astype(offsets, dtypes.STANDARD["int32"])
    return astype(offsets, dtype)


# --- arguments ----------------------------------------------------------------------------------


def _rounded(value: Any, dtype: DType, name: str) -> float:
    """Return a finite number, rounded to the dtype."""
    if type(value) in (int, float) and value in (-1, 0, 1):  # most are, in any dtype
        return float(value)
    if type(value) is Array and value.ndim:
        raise TypeError(
            f"{name} is an array of shape {value.shape}; it must be a number"
            f"\nHint: scale and shift standard numbers by your arrays"
        )
    real = float(arguments.real_number(value, name))
    with np.errstate(over="ignore"):
        rounded = float(dtype.type(real))
    if not math.isfinite(rounded):
        raise ValueError(f"{name} is {real!r}; it must be finite in {dtype}")
    return rounded


def _scale(value: Any, dtype: DType) -> float:
    rounded = _rounded(value, dtype, "scale")
    if rounded < 0:
        raise ValueError(f"scale is {value!r}; it must not be negative")
    return rounded


def _integer(value: Any, name: str) -> int:
    try:
        return +index(value)
    except TypeError:
        raise TypeError(
            f"{name} is {value!r}; it must be an integer"
            + ("\nHint: pass int(value)" if isinstance(value, float) else "")
        ) from None
