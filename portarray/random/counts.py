"""Discrete distributions with parameters: Poisson, binomial and categorical ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._api import arguments
from portarray._api.creation.values import asarray
from portarray._api.data_type import astype
from portarray._api.manipulation.order import moveaxis
from portarray._api.rounding import floor
from portarray._api.searching import argmin, where
from portarray._api.statistical.totals import max
from portarray._api.utility import all, any
from portarray._array import dtypes
from portarray._array.array import Array
from portarray.random import drawing, laws, parameters, quantiles, repeating
from portarray.random.distributions import F32
from portarray.random.drawing import Block
from portarray.random.keys import one_key
from portarray.random.parameters import (
    NOT_NEGATIVE,
    PROBABILITY,
    Rule,
    integral,
    part_of,
    real,
    shape_of,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portarray.typing import DTypeLike

    DType = np.dtype[Any]

_TRIALS = Rule(lambda x: (x >= 0) & (x < 2.0**63), "at least 0 and below 2**63")
_LOGITS = Rule(lambda x: x < math.inf, "finite or -inf")


def poisson(
    key: Array,
    lam: float | Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return integers of the Poisson distribution.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    lam : float or Array
        The mean, at least 0.
    shape : int or sequence of int, optional
        Shape of the result, to which the parameter is broadcast; by default its own.
    dtype : dtype, optional
        An integer dtype; the default one of the key's device if None.

    Returns
    -------
    Array
        Integers on the key's device, the same on every device and in every dtype that holds them.

    Raises
    ------
    TypeError
        If the dtype is not an integer dtype, `key` is not a key, or `lam` is not a number or an
        array of numbers.
    ValueError
        If `lam` is negative or not finite, too large for the dtype, or does not broadcast.
    DeviceMismatchError
        If `lam` is on another device than the key.

    Notes
    -----
    For means from 10 on Hörmann's transformed rejection (1993), else a count of arrivals, the
    multiplication method of Knuth. Random numbers have 32 bits, so that the largest numbers of a
    mean of more than 2**40 are multiples of larger numbers than 1.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.poisson(pa.random.key(0), 4.0, 1000)
    >>> round(float(pa.mean(pa.astype(x, pa.float32))))
    4
    """
    key = one_key(key, "poisson")
    out_dtype = integral(key, dtype, "poisson")
    lam = real(lam, "lam", NOT_NEGATIVE, key, "poisson")
    part = shape_of(shape, "poisson", lam)
    _check_size(key, lam, 12, out_dtype, "lam", "poisson")
    base, frac, mean = _split(lam, part, key, out_dtype)

    def constants(large: Array, mean: Array) -> tuple[Array, ...]:
        return laws.poisson_constants(mean)

    return _counts(
        key, part, (base, frac, mean), laws.POISSON, constants, mean, mean * 0 + 1, geometric=False
    )


def binomial(
    key: Array,
    n: int | Array,
    p: float | Array,
    shape: int | Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return integers of the binomial distribution: successes in ``n`` trials.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    n : int or Array
        How many trials, at least 0.
    p : float or Array
        The probability of a success.
    shape : int or sequence of int, optional
        Shape of the result, to which the parameters are broadcast; by default their own.
    dtype : dtype, optional
        An integer dtype; the default one of the key's device if None.

    Returns
    -------
    Array
        Integers on the key's device, the same on every device and in every dtype that holds them.

    Raises
    ------
    TypeError
        If the dtype is not an integer dtype, `key` is not a key, or a parameter is not a number or
        an array of numbers.
    ValueError
        If `n` is negative or does not fit the dtype, `p` is not from 0 to 1, or shapes do not
        broadcast.
    DeviceMismatchError
        If a parameter is on another device than the key.

    Notes
    -----
    For means from 10 on Hörmann's transformed rejection (1993), else Devroye's second waiting time
    method. Probabilities in arrays count as float32, and so does their product with `n`.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.random.binomial(pa.random.key(0), 10, 0.5, 1000)
    >>> int(pa.max(x)) <= 10, round(float(pa.mean(pa.astype(x, pa.float32))))
    (True, 5)
    """
    key = one_key(key, "binomial")
    out_dtype = integral(key, dtype, "binomial")
    n = _whole(real(n, "n", _TRIALS, key, "binomial"))
    p = real(p, "p", PROBABILITY, key, "binomial")
    part = shape_of(shape, "binomial", n, p)
    _check_size(key, n, 0, out_dtype, "n", "binomial")
    trials = part_of(n, part, out_dtype, key)
    if type(p) is Array:
        exact = part_of(p, part, p.dtype if p.dtype.kind == "f" else F32, key)
        often = exact > 0.5
        small_p = astype(where(often, 1 - exact, exact), F32, copy=False)
    else:
        often = asarray(p > 0.5, device=key.device)
        small_p = asarray(min(p, 1 - p), dtype=F32, device=key.device)
    count_n = astype(trials, F32)
    if type(n) is Array or type(p) is Array:
        mean = count_n * small_p
        base, frac, mean = _split_array(mean, out_dtype)
    else:
        base, frac, mean = _split(n * min(p, 1 - p), part, key, out_dtype)
    rate = quantiles.exponential32(small_p, 1 - small_p, small_p * 0)
    never = small_p <= 0
    limit, rate = where(never, -1.0, count_n), where(never, 1.0, rate)

    def constants(large: Array, mean: Array) -> tuple[Array, ...]:
        safe_n, safe_p = where(large, count_n, 40.0), where(large, small_p, 0.25)
        return *laws.binomial_constants(safe_p, mean), safe_n, safe_p

    result = _counts(
        key, part, (base, frac, mean), laws.BINOMIAL, constants, limit, rate, geometric=True
    )
    return where(often, trials - result, result)


def categorical(
    key: Array,
    logits: Array,
    shape: int | Sequence[int] | None = None,
    *,
    axis: int = -1,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return indices of categories, each as often as the softmax of its logit says.

    Parameters
    ----------
    key : Array
        The key, which is not used again.
    logits : Array
        Logarithms of probabilities, which need not have the sum 1, along an axis; -inf for 0.
    shape : int or sequence of int, optional
        Shape of the result, to which the other axes of `logits` are broadcast; by default these.
    axis : int, default: -1
        The axis of the categories.
    dtype : dtype, optional
        An integer dtype; the default one of the key's device if None.

    Returns
    -------
    Array
        Indices on the key's device.

    Raises
    ------
    TypeError
        If the dtype is not an integer dtype, `key` is not a key, or `logits` is not an array of
        real floating-point numbers with axes.
    ValueError
        If a logit is NaN or inf, all of them are -inf, or shapes do not broadcast.
    DeviceMismatchError
        If `logits` is on another device than the key.
    AxisError
        If `logits` does not have the axis.

    Notes
    -----
    The category of the first of exponential arrivals, whose rates are the probabilities: the
    Gumbel-max method. It makes a number for each category.

    Examples
    --------
    >>> import portarray as pa
    >>> logits = pa.asarray([-2.0, -pa.inf, 0.0])
    >>> x = pa.random.categorical(pa.random.key(0), logits, 1000)
    >>> pa.unique_values(x).tolist()
    [0, 2]
    """
    function = "categorical"
    key = one_key(key, function)
    out_dtype = integral(key, dtype, function)
    parameters.check_axes(logits, 1, "logits", function)
    if dtypes.kind_of(logits.dtype) != "f":
        raise TypeError(
            f"{function}: logits has dtype {logits.dtype}; it must be a real floating-point dtype"
        )
    real(logits, "logits", _LOGITS, key, function)
    logits = moveaxis(logits, arguments.axis(axis, logits), -1)
    if not logits.shape[-1]:
        raise ValueError(f"{function}: logits has shape {logits.shape}; there are no categories")
    part = parameters.with_axes(shape, logits.shape[:-1], logits.shape[-1:], function)
    kind = parameters.working(logits.dtype)
    logits = part_of(logits, part, kind, key)
    largest = max(logits, axis=-1, keepdims=True)
    if not parameters.is_traced(key, logits) and not bool(all(largest > -math.inf)):
        raise ValueError(f"{function}: all logits are -inf; no category is possible")
    logits = logits - largest  # rounding of large logits would hide the random numbers
    exponential = drawing.block(drawing.exponential(kind), key, part)
    return astype(argmin(laws.log(exponential) - logits, axis=-1), out_dtype, copy=False)


# --- parts --------------------------------------------------------------------------------------


def _whole(n: Any) -> int | Array:
    """Return how many trials there are; raise if they are not integers."""
    if type(n) is Array:
        if n.dtype.kind not in "iu":
            raise TypeError(f"binomial: n has dtype {n.dtype}; it must be an integer dtype")
        return n
    if n != int(n):
        raise ValueError(f"binomial: n is {n!r}; it must be an integer")
    return int(n)


def _check_size(
    key: Array, value: Any, deviations: int, dtype: DType, name: str, function: str
) -> None:
    """Raise for a parameter whose counts do not fit a dtype."""
    if type(value) is Array:
        if parameters.is_traced(key, value) or not value.size:
            return
        value = max(value).item()
    most = int(np.iinfo(dtype).max)
    largest = value + deviations * math.sqrt(value) + (50 if deviations else 0)
    if largest > most:
        raise ValueError(
            f"{function}: {name} is {value!r}; its numbers do not fit {dtype} (up to {most})"
            f"\nHint: pass another dtype="
        )


def _split(value: float | Array, part: Block, key: Array, dtype: DType) -> tuple[Array, ...]:
    """Return a mean as an integer, the small number that is left, and as float32."""
    if type(value) is Array:
        kind = value.dtype if value.dtype.kind == "f" else F32
        return _split_array(part_of(value, part, kind, key), dtype)
    base = math.floor(value)
    return (
        asarray(base, dtype=dtype, device=key.device),
        asarray(value - base, dtype=F32, device=key.device),
        asarray(value, dtype=F32, device=key.device),
    )


def _split_array(value: Array, dtype: DType) -> tuple[Array, Array, Array]:
    base = floor(value)
    return (
        astype(base, dtype),
        astype(value - base, F32, copy=False),
        astype(value, F32, copy=False),
    )


def _counts(
    key: Array,
    part: Block,
    means: tuple[Array, ...],
    law: repeating.Law,
    constants: Callable[[Array, Array], tuple[Array, ...]],
    limit: Array,
    rate: Array,
    *,
    geometric: bool,
) -> Array:
    """Return counts by a law where means are large, and by arrivals where they are small.

    A method that no mean needs is left out, unless the means are traced. ``constants`` returns the
    law's other parameters for where means are large, and for means that are all large.
    """
    base, frac, mean = means
    large = mean >= laws.SMALL_MEAN
    traced = parameters.is_traced(key, mean)
    if not traced and not bool(any(large)):
        return astype(_arrivals(key, part, limit, rate, geometric=geometric), base.dtype)
    safe = where(large, mean, laws.SMALL_MEAN)
    safe_base = where(large, astype(base, F32), laws.SMALL_MEAN)
    values = safe_base, where(large, frac, 0.0), safe, *constants(large, safe)
    offset = repeating.at(law, key, part, values, (safe_base * 0,))
    counts = base + astype(offset, base.dtype)
    if not traced and bool(all(large)):
        return counts
    limit, rate = where(large, 0.0, limit), where(large, 1.0, rate)
    arrivals = _arrivals(key, part, limit, rate, geometric=geometric)
    return where(large, counts, astype(arrivals, base.dtype))


def _arrivals(key: Array, part: Block, limit: Array, rate: Array, *, geometric: bool) -> Array:
    values = limit, rate, asarray(geometric, device=key.device)
    zero = asarray(0.0, dtype=F32, device=key.device)
    return repeating.at(laws.ARRIVALS, key, part, values, (zero, zero))
