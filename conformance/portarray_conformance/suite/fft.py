"""Fourier transforms, against the defining sums."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.bounds import NORMWISE
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.promotion import COMPLEX_OF, COMPLEXES, FLOATING, FLOATS, REAL_PART
from portarray_conformance.target import NumpyArray, Target
from portarray_conformance.ulp import wide

_SHAPES = ((6,), (5,), (3, 4), (1,), (8,), (2, 3, 2), (4, 1))
_ENTRIES = draw.Domain(-8, 8)
_NORMS = (None, "backward", "ortho", "forward")


def _resized(x: NumpyArray, n: int, axis: int) -> NumpyArray:
    """Trim an axis or fill it with zeros."""
    moved = np.moveaxis(x, axis, -1)[..., :n]
    out = np.zeros((*moved.shape[:-1], n), dtype=x.dtype)
    out[..., : moved.shape[-1]] = moved
    return np.moveaxis(out, -1, axis)


def _sums(x: NumpyArray, axis: int, sign: int) -> NumpyArray:
    """Return ``sum_j x_j exp(sign * 2 pi i j k / n)`` along an axis, in the precision of x."""
    real = x.real.dtype.type
    n = x.shape[axis]
    turns = np.array([[j * k % n for j in range(n)] for k in range(n)], dtype=x.real.dtype)
    angles = turns * (2 * _pi(real) / real(n)) if n else turns
    matrix = np.cos(angles) + sign * 1j * np.sin(angles)
    return np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)


def _pi(real: Any) -> Any:
    return 4 * np.arctan(real(1))


def _scale(n: int, norm: str | None, inverse: bool) -> float:
    """Return the factor of a normalization mode: ``backward`` scales only the inverse."""
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") != inverse else 1.0


def _hermitian(x: NumpyArray, n: int, axis: int) -> NumpyArray:
    """Return the n terms whose first half is x: the other half is its conjugate."""
    half = np.moveaxis(_resized(x, n // 2 + 1, axis), axis, -1).copy()
    half[..., 0] = half[..., 0].real
    if n % 2 == 0:
        half[..., -1] = half[..., -1].real
    mirrored = [np.conj(half[..., n - k]) for k in range(n // 2 + 1, n)]
    full = np.concatenate([half, np.stack(mirrored, -1)], -1) if mirrored else half[..., :n]
    return np.moveaxis(full, -1, axis)


def _compare(
    target: Target, out: Any, want: NumpyArray, x: NumpyArray, factor: float, call: Call, name: str
) -> None:
    """Judge a transform at the scale of the sum of the input's magnitudes."""
    size = float(np.sum(np.abs(x))) * abs(factor)
    steps = math.log2(max(want.size, 2))
    if name in FLOATS:
        want = want.real
    compare.within(target, out, want, call, dtype=name, size=size, bound=NORMWISE["fft"] * steps)


def _keywords(data: Draw, norm: str | None, axis: int, n: int | None) -> dict[str, Any]:
    keywords: dict[str, Any] = {} if norm is None else {"norm": norm}
    if axis != -1 or draw.flag(data, "axis said"):
        keywords["axis"] = axis
    if n is not None:
        keywords["n"] = n
    return keywords


def _one_axis(function: str, target: Target, data: Draw) -> None:
    """Check the transforms of one axis, each by its definition."""
    real_input = function in ("rfft", "ihfft")
    name = draw.dtype(target, data, FLOATS if real_input else COMPLEXES)
    half_input = function in ("irfft", "hfft")
    x = draw.array(
        data,
        name,
        draw.shape(data, ((4,), (3, 4), (2, 3), (5,)) if half_input else _SHAPES),
        _ENTRIES,
    )
    axis, norm = draw.axis(data, x.ndim), draw.pick(data, _NORMS, "norm")
    m = x.shape[axis]
    n = draw.pick(data, (None, None, max(m - 1, 1), m + 2, 2 * m), "n")
    result = name
    if function in ("rfft", "ihfft"):
        result = COMPLEX_OF[name]
    elif half_input:
        result = REAL_PART[name]
    target.dtype(result)
    if half_input and m == 1 and n is None:
        n = 1  # the default of 2 * (m - 1) terms would be none
    call = Call(f"fft.{function}(x, n={n}, axis={axis}, norm={norm})", {"x": x})
    out = target.function(f"fft.{function}")(
        draw.put(target, data, x), **_keywords(data, norm, axis, n)
    )
    length = n or (2 * (m - 1) if half_input else m)
    inverse = function in ("ifft", "irfft", "ihfft")
    factor = _scale(length, norm, inverse)
    source = wide(x).astype(wide(np.zeros(0, COMPLEX_OF.get(name, name))).dtype)
    terms = _hermitian(source, length, axis) if half_input else _resized(source, length, axis)
    want = _sums(terms, axis, 1 if inverse else -1) * terms.real.dtype.type(factor)
    if real_input:
        want = np.take(want, range(length // 2 + 1), axis=axis)
    _compare(target, out, want, terms, factor, call, result)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    case(f"fft.{_name}", "values")(partial(_one_axis, _name))


def _several_axes(function: str, target: Target, data: Draw) -> None:
    """Check the transforms of several axes: the transforms of one axis after another."""
    name = draw.dtype(target, data, FLOATS if function == "rfftn" else COMPLEXES)
    shape = draw.shape(data, ((2, 3), (4,), (2, 2, 3), (3, 4)))
    x = draw.array(data, name, shape, _ENTRIES)
    norm = draw.pick(data, _NORMS, "norm")
    axes: tuple[int, ...] | None = draw.pick(
        data, (None, tuple(range(x.ndim)), (-1,), tuple(reversed(range(x.ndim)))), "axes"
    )
    order = tuple(range(x.ndim)) if axes is None else axes
    half = function == "irfftn"
    lengths = [shape[a] for a in order]
    if half:
        lengths[-1] = 2 * (lengths[-1] - 1)
    keywords: dict[str, Any] = {} if norm is None else {"norm": norm}
    if axes is not None:
        keywords["axes"] = axes
        if draw.flag(data, "s"):
            lengths = [draw.pick(data, (2, 3, 4), f"s[{i}]") for i in range(len(order))]
            keywords["s"] = tuple(lengths)
    result = {"rfftn": COMPLEX_OF, "irfftn": REAL_PART}.get(function, {}).get(name, name)
    target.dtype(result)
    call = Call(f"fft.{function}(x, s={keywords.get('s')}, axes={axes}, norm={norm})", {"x": x})
    out = target.function(f"fft.{function}")(draw.put(target, data, x), **keywords)
    inverse = function in ("ifftn", "irfftn")
    sign = 1 if inverse else -1
    terms = wide(x).astype(wide(np.zeros(0, COMPLEX_OF.get(name, name))).dtype)
    for axis, length in list(zip(order, lengths, strict=True))[: -1 if half else None]:
        terms = _sums(_resized(terms, length, axis), axis, sign)
        if function == "rfftn" and axis == order[-1]:
            terms = np.take(terms, range(length // 2 + 1), axis=axis)
    if half:
        terms = _sums(_hermitian(terms, lengths[-1], order[-1]), order[-1], sign)
    factor = math.prod(_scale(n, norm, inverse) for n in lengths)
    want = terms * terms.real.dtype.type(factor)
    twice = 2 if half else 1  # the mirrored half counts too
    _compare(target, out, want, x, factor * twice, call, result)


for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    case(f"fft.{_name}", "values")(partial(_several_axes, _name))


def _frequencies(function: str, target: Target, data: Draw) -> None:
    n = draw.whole(data, 1, 12, "n")
    d = draw.pick(data, (None, 1.0, 0.5, 0.1, 2.0), "d")
    name = draw.pick(data, (None, *draw.available(target, FLOATS)), "dtype=")
    keywords = dict(target.creation_keywords())
    if d is not None:
        keywords["d"] = d
    if name is not None:
        keywords["dtype"] = target.dtype(name)
    call = Call(f"fft.{function}({n}, d={d}, dtype={name})")
    out = target.function(f"fft.{function}")(n, **keywords)
    steps = list(range(n // 2 + 1))
    if function == "fftfreq":
        steps = [k if k < (n + 1) // 2 else k - n for k in range(n)]
    dtype = name or target.default("real floating")
    want = np.array(steps, dtype=np.longdouble) / (n * np.longdouble(d or 1.0))
    compare.close(target, out, want, call, dtype=dtype, bound=2, signed_zeros=False)


def _shift(function: str, target: Target, data: Draw) -> None:
    _, x = draw.typed_array(target, data, FLOATING, (*_SHAPES, (5, 3)), draw.ANY)
    axes = draw.axes(data, x.ndim)
    want = x
    for axis in range(x.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes:
        n = x.shape[axis]
        by = n // 2 if function == "fftshift" else -(n // 2)
        want = np.take(want, [(i - by) % n for i in range(n)], axis=axis)
    keywords = {} if axes is None else {"axes": axes}
    out = target.function(f"fft.{function}")(draw.put(target, data, x), **keywords)
    compare.same(target, out, want, Call(f"fft.{function}(x, axes={axes})", {"x": x}))


for _name in ("fftfreq", "rfftfreq"):
    case(f"fft.{_name}", "values")(partial(_frequencies, _name))
for _name in ("fftshift", "ifftshift"):
    case(f"fft.{_name}", "values")(partial(_shift, _name))
