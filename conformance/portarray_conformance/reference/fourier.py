"""Fourier transforms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.elementwise import FLOATING, REAL_FLOATING, converted
from portarray_conformance.reference.kinds import Data, DType
from portarray_conformance.reference.reductions import finished
from portarray_conformance.reference.registry import function

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules

_NORMS = ("backward", "ortho", "forward")
_REAL_INPUT = frozenset(("rfft", "ihfft", "rfftn"))
_REAL_OUTPUT = frozenset(("irfft", "hfft", "irfftn"))


def _transformed(
    rules: Rules, name: str, x: Array, places: tuple[int, ...], sizes: Any, norm: str
) -> Array:
    """Return a transform along axes, of sizes or the array's own."""
    full = f"fft.{name}"
    accepts = REAL_FLOATING if name in _REAL_INPUT else FLOATING
    work = converted(rules, full, accepts, x.dtype)
    result: DType = kinds.COMPLEX.get(work, work)
    if name in _REAL_OUTPUT:
        result = kinds.REAL[rules.available(result)]
    result = rules.available(result)
    lengths = [x.shape[a] for a in places] if sizes is None else list(sizes)
    if name in _REAL_OUTPUT and sizes is None and lengths:
        lengths[-1] = 2 * (lengths[-1] - 1)
    if any(n < 1 for n in (*lengths, *(x.shape[place] for place in places))):
        raise ValueError(f"{full} got {lengths} points; a transform needs at least one")
    arguments.counted(lengths, result)
    data = kinds.rounded(x._data, work).astype(kinds.LAPACK[work])
    options: Any = {"norm": norm}
    if name.endswith("n"):
        options |= {"axes": places, "s": lengths}
    else:
        options |= {"axis": places[0], "n": lengths[0]}
    out = np.asarray(getattr(np.fft, name)(data, **options))
    total = math.prod(lengths)

    def scale() -> Any:
        squares = np.abs(data).astype(np.longdouble) ** 2  # beyond double precision's range
        sums = np.sqrt(np.sum(squares, axis=places, keepdims=True)) * math.sqrt(total)
        inverse = name in ("ifft", "irfft", "ihfft", "ifftn", "irfftn")
        if norm == "ortho":
            sums = sums / math.sqrt(total)
        elif (norm == "backward") == inverse:
            sums = sums / total
        return np.broadcast_to(sums, out.shape) * 2

    bound = NORMWISE["fft"] * math.log2(max(total, 2))
    sums = np.sum(np.abs(data), axis=places, keepdims=True)
    wild = np.broadcast_to(kinds.overflows(sums, result) | ~np.isfinite(sums), out.shape)
    return finished(rules, out, result, scale, bound, exact=False, wild=wild)


def _one(rules: Rules, name: str, x: Any, n: Any, axis: Any, norm: str) -> Array:
    rules.is_array(x, name)
    place = arguments.axis(axis, x.ndim)
    arguments.choice(norm, "norm", _NORMS)
    sizes = None if n is None else [arguments.size(n, "n")]
    if sizes == [0]:
        raise ValueError("n is 0; a transform needs at least one element")
    return _transformed(rules, name, x, (place,), sizes, norm)


def _several(rules: Rules, name: str, x: Any, s: Any, axes: Any, norm: str) -> Array:
    rules.is_array(x, name)
    arguments.choice(norm, "norm", _NORMS)
    sizes = None
    if s is not None:
        sizes = arguments.integers(s, "s")
        axes = tuple(range(-len(sizes), 0)) if axes is None else axes
    if axes is None:
        if x.ndim == 0:
            raise kinds.AxisError(f"{name} got a 0-d array, which has no axes")
        places = tuple(range(x.ndim))
    else:
        places = arguments.axes(arguments.integers(axes, "axes"), x.ndim)
    if sizes is not None and len(places) != len(sizes):
        raise ValueError(f"s={s!r} and axes={axes!r} must have the same length")
    if not places:
        if name in ("rfftn", "irfftn"):
            raise ValueError(f"{name} needs an axis")
        work = converted(rules, name, FLOATING, x.dtype)
        result = rules.available(kinds.COMPLEX.get(work, work))
        return rules.array(kinds.rounded(x._data, work).astype(result))
    return _transformed(rules, name, x, places, sizes, norm)


def _register_one(name: str) -> None:
    def transform(
        rules: Rules, x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward"
    ) -> Array:
        return _one(rules, name, x, n, axis, norm)

    transform.__name__ = name
    function("all", f"fft.{name}")(transform)


def _register_several(name: str) -> None:
    def transform(
        rules: Rules, x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward"
    ) -> Array:
        return _several(rules, name, x, s, axes, norm)

    transform.__name__ = name
    function("all", f"fft.{name}")(transform)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _register_one(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _register_several(_name)


def _frequencies(rules: Rules, n: Any, d: Any, dtype: Any, device: Any, numbers: Any) -> Array:
    count = arguments.size(n, "n")
    if count == 0:
        raise ValueError("n is 0; a transform needs at least one element")
    wanted = rules.default_of("f") if dtype is None else rules.dtype(dtype)
    if kinds.letter(wanted) != "f":
        raise TypeError(f"frequencies are real floating-point numbers, not {wanted}")
    spacing = arguments.real_number(d, "d")
    if spacing == 0:
        raise ValueError("d is 0; the spacing of samples must not be zero")
    rules.place(device)
    arguments.counted((count,), wanted)
    wide = kinds.WIDE[wanted]
    out: Data = numbers(count).astype(wide) / (wide.type(count) * wide.type(spacing))
    return finished(rules, out, wanted, lambda: np.abs(out), 2, exact=False)


@function("own", "fft.fftfreq")
def fftfreq(
    rules: Rules, n: int, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None
) -> Array:
    return _frequencies(rules, n, d, dtype, device, lambda k: (np.arange(k) + k // 2) % k - k // 2)


@function("own", "fft.rfftfreq")
def rfftfreq(
    rules: Rules, n: int, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None
) -> Array:
    return _frequencies(rules, n, d, dtype, device, lambda k: np.arange(k // 2 + 1))


def _shifted(rules: Rules, name: str, x: Any, axes: Any, sign: int) -> Array:
    rules.is_array(x, name)
    given = None if axes is None else arguments.integers(axes, "axes")
    data = x._data.copy()
    for a in arguments.axes(given, x.ndim):
        data = np.roll(data, sign * (x.shape[a] // 2), a)
    return Array(data, rules)


@function("moves", "fft.fftshift")
def fftshift(rules: Rules, x: Any, /, *, axes: Any = None) -> Array:
    return _shifted(rules, "fftshift", x, axes, 1)


@function("moves", "fft.ifftshift")
def ifftshift(rules: Rules, x: Any, /, *, axes: Any = None) -> Array:
    return _shifted(rules, "ifftshift", x, axes, -1)
