"""Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray_conformance.bounds import NORMWISE
from portarray_conformance.reference import arguments, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.elementwise import FLOATING, REAL_FLOATING, computation_dtype
from portarray_conformance.reference.kinds import Data, DType
from portarray_conformance.reference.reductions import round_with_noise
from portarray_conformance.reference.registry import function

_NORMS = ("backward", "ortho", "forward")
_REAL_INPUT = frozenset(("rfft", "ihfft", "rfftn"))
_REAL_OUTPUT = frozenset(("irfft", "hfft", "irfftn"))


def _transformed(
    ctx: Context, name: str, x: Array, axes: tuple[int, ...], sizes: Any, norm: str
) -> Array:
    """Return a transform along axes, by default with the array's sizes."""
    full = f"fft.{name}"
    accepts = REAL_FLOATING if name in _REAL_INPUT else FLOATING
    work = computation_dtype(ctx, full, accepts, x.dtype)
    result: DType = kinds.COMPLEX.get(work, work)
    if name in _REAL_OUTPUT:
        result = kinds.REAL[ctx.available(result)]
    result = ctx.available(result)
    lengths = [x.shape[a] for a in axes] if sizes is None else list(sizes)
    if name in _REAL_OUTPUT and sizes is None and lengths:
        lengths[-1] = 2 * (lengths[-1] - 1)
    if any(n < 1 for n in (*lengths, *(x.shape[axis] for axis in axes))):
        raise ValueError(f"{full} got {lengths} points; a transform needs at least one")
    arguments.require_memory(lengths, result)
    data = kinds.rounded(x._data, work).astype(kinds.LAPACK[work])
    options: Any = {"norm": norm}
    if name.endswith("n"):
        options |= {"axes": axes, "s": lengths}
    else:
        options |= {"axis": axes[0], "n": lengths[0]}
    out = np.asarray(getattr(np.fft, name)(data, **options))
    total = math.prod(lengths)

    def scale() -> Any:
        squares = np.abs(data).astype(np.longdouble) ** 2  # beyond double precision's range
        sums = np.sqrt(np.sum(squares, axis=axes, keepdims=True)) * math.sqrt(total)
        inverse = name in ("ifft", "irfft", "ihfft", "ifftn", "irfftn")
        if norm == "ortho":
            sums = sums / math.sqrt(total)
        elif (norm == "backward") == inverse:
            sums = sums / total
        return np.broadcast_to(sums, out.shape) * 2

    bound = NORMWISE["fft"] * math.log2(max(total, 2))
    sums = np.sum(np.abs(data), axis=axes, keepdims=True)
    unreliable = np.broadcast_to(kinds.overflows(sums, result) | ~np.isfinite(sums), out.shape)
    return round_with_noise(ctx, out, result, scale, bound, exact=False, unreliable=unreliable)


def _along_axis(ctx: Context, name: str, x: Any, n: Any, axis: Any, norm: str) -> Array:
    ctx.require_array(x, name)
    position = arguments.axis(axis, x.ndim)
    arguments.choice(norm, "norm", _NORMS)
    sizes = None if n is None else [arguments.size(n, "n")]
    if sizes == [0]:
        raise ValueError("n is 0; a transform needs at least one element")
    return _transformed(ctx, name, x, (position,), sizes, norm)


def _along_axes(ctx: Context, name: str, x: Any, s: Any, axes: Any, norm: str) -> Array:
    ctx.require_array(x, name)
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
        work = computation_dtype(ctx, name, FLOATING, x.dtype)
        result = ctx.available(kinds.COMPLEX.get(work, work))
        return ctx.array(kinds.rounded(x._data, work).astype(result))
    return _transformed(ctx, name, x, places, sizes, norm)


def _register_along_axis(name: str) -> None:
    def transform(
        ctx: Context, x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward"
    ) -> Array:
        return _along_axis(ctx, name, x, n, axis, norm)

    transform.__name__ = name
    function("all", f"fft.{name}")(transform)


def _register_along_axes(name: str) -> None:
    def transform(
        ctx: Context, x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward"
    ) -> Array:
        return _along_axes(ctx, name, x, s, axes, norm)

    transform.__name__ = name
    function("all", f"fft.{name}")(transform)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _register_along_axis(_name)
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    _register_along_axes(_name)


def _frequencies(ctx: Context, n: Any, d: Any, dtype: Any, device: Any, numbers: Any) -> Array:
    count = arguments.size(n, "n")
    if count == 0:
        raise ValueError("n is 0; a transform needs at least one element")
    target = ctx.default_of("f") if dtype is None else ctx.dtype(dtype)
    if kinds.letter(target) != "f":
        raise TypeError(f"frequencies are real floating-point numbers, not {target}")
    spacing = arguments.real_number(d, "d")
    if spacing == 0:
        raise ValueError("d is 0; the spacing of samples must not be zero")
    ctx.check_device(device)
    arguments.require_memory((count,), target)
    wide = kinds.WIDE[target]
    out: Data = numbers(count).astype(wide) / (wide.type(count) * wide.type(spacing))
    return round_with_noise(ctx, out, target, lambda: np.abs(out), 2, exact=False)


def _register_frequencies(name: str, numbers: Any) -> None:
    def frequencies(
        ctx: Context, n: int, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None
    ) -> Array:
        return _frequencies(ctx, n, d, dtype, device, numbers)

    function("custom", name)(frequencies)


_register_frequencies("fft.fftfreq", lambda k: (np.arange(k) + k // 2) % k - k // 2)
_register_frequencies("fft.rfftfreq", lambda k: np.arange(k // 2 + 1))


def _shifted(ctx: Context, name: str, x: Any, axes: Any, sign: int) -> Array:
    ctx.require_array(x, name)
    positions = None if axes is None else arguments.integers(axes, "axes")
    data = x._data.copy()
    for a in arguments.axes(positions, x.ndim):
        data = np.roll(data, sign * (x.shape[a] // 2), a)
    return Array(data, ctx)


@function("moves", "fft.fftshift")
def fftshift(ctx: Context, x: Any, /, *, axes: Any = None) -> Array:
    return _shifted(ctx, "fftshift", x, axes, 1)


@function("moves", "fft.ifftshift")
def ifftshift(ctx: Context, x: Any, /, *, axes: Any = None) -> Array:
    return _shifted(ctx, "ifftshift", x, axes, -1)
