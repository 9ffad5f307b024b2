"""Sample frequencies and shifts, on the device."""

from __future__ import annotations

from typing import Any

from portarray.clarray.arguments import Axes, array_of, axes_of, dtype_or_default, integer_of
from portarray.clarray.arithmetic import divide
from portarray.clarray.creation import arange
from portarray.clarray.dtypes import kind_of
from portarray.clarray.manipulation import roll
from portarray.clarray.selection import device_of
from portarray.clarray.strided import Array


def _frequencies(first: int, last: int, n: int, d: float, dtype: Any, device: object) -> Array:
    """Return the whole numbers from ``first`` to ``last``, divided by ``d * n``."""
    where = device_of(device)
    target = dtype_or_default(dtype, where, "real floating")
    if kind_of(target) != "real":
        raise TypeError(f"sample frequencies are real numbers; dtype is {target}")
    return divide(arange(first, last, dtype=target, device=where), float(d * n))


def _samples(n: object, function: str) -> int:
    count = integer_of(n, "n")
    if count < 1:
        raise ValueError(f"{function} needs at least one sample, got n={count}")
    return count


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Array:
    """Return the sample frequencies of :func:`fft`, in its order."""
    n = _samples(n, "fftfreq")
    frequencies = _frequencies(-(n // 2), (n + 1) // 2, n, d, dtype, device)
    return roll(frequencies, -(n // 2))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Array:
    """Return the sample frequencies of :func:`rfft`."""
    n = _samples(n, "rfftfreq")
    return _frequencies(0, n // 2 + 1, n, d, dtype, device)


def fftshift(x: Array, /, *, axes: Axes | None = None) -> Array:
    """Return an array with frequency 0 moved to the middle."""
    x = array_of(x, "fftshift")
    places = axes_of(axes, x.ndim, "axes")
    return roll(x, tuple(x.shape[axis] // 2 for axis in places), axis=places)


def ifftshift(x: Array, /, *, axes: Axes | None = None) -> Array:
    """Return an array with frequency 0 moved from the middle to the front."""
    x = array_of(x, "ifftshift")
    places = axes_of(axes, x.ndim, "axes")
    return roll(x, tuple(-(x.shape[axis] // 2) for axis in places), axis=places)
