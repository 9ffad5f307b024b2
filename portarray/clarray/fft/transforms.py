"""Checks of transforms, and their computation by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from portarray.clarray.arguments import array_of, axes_of, axis_of, integer_of
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine import host
from portarray.clarray.strided import Array

Norm: TypeAlias = Literal["backward", "ortho", "forward"]
_NORMS = ("backward", "ortho", "forward")


def checked(x: object, function: str, norm: str, real: bool = False) -> Array:
    """Return an argument that must be a floating-point array, a real one if ``real``."""
    array = array_of(x, function)
    kinds = ("real",) if real else ("real", "complex")
    if kind_of(array.dtype) not in kinds:
        accepted = "real floating-point" if real else "floating-point"
        raise TypeError(
            f"{function} takes {accepted} arrays, got dtype {array.dtype}; "
            + ("use fft" if real and array.dtype.kind == "c" else "convert with astype first")
        )
    if norm not in _NORMS:
        raise ValueError(
            f"{function}: norm is {norm!r}\nHint: use 'backward', 'ortho' or 'forward'"
        )
    return array


def _result_dtype(x: Array, real: bool) -> np.dtype[Any]:
    """Return the dtype of results in the precision of an array."""
    double = x.dtype.itemsize == (16 if x.dtype.kind == "c" else 8)
    if real:
        return np.dtype(np.float64 if double else np.float32)
    return np.dtype(np.complex128 if double else np.complex64)


def along_one(
    function: Callable[..., Any],
    x: Array,
    n: int | None,
    axis: int,
    norm: str,
    *,
    inverse: bool = False,
    half: bool = False,
) -> Array:
    """Return a transform along one axis."""
    name = function.__name__
    position = axis_of(axis, x.ndim)
    size = x.shape[position]
    length = (2 * (size - 1) if inverse else size) if n is None else integer_of(n, "n")
    if length < 1:
        raise ValueError(f"{name} needs at least one sample, got n={length} for shape {x.shape}")
    side = length // 2 + 1 if half else length
    shape = (*x.shape[:position], side, *x.shape[position + 1 :])

    def transform(out: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
        result = function(host.full(values), n=length, axis=position, norm=norm, out=out)
        if result is not out:  # hfft ignores ``out``, at least up to NumPy 2.4
            out[...] = result

    return host.fill(shape, _result_dtype(x, inverse), x.device, transform, x)


def along_several(
    function: Callable[..., Any],
    x: Array,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str,
) -> Array:
    """Return a transform along several axes, all by default."""
    name = function.__name__
    places = axes_of(axes, x.ndim, "axes")
    if s is not None:
        if axes is None:
            raise ValueError(
                f"{name}: s is {s!r}, but axes is None\nHint: name the axes it belongs to"
            )
        if len(s) != len(places):
            raise ValueError(f"{name}: s is {s!r} and axes are {axes!r}; they must pair up")
        if any(integer_of(length, "s") < 1 for length in s):
            raise ValueError(f"{name} needs at least one sample along each axis, got s={s!r}")

    def transform(values: np.ndarray[Any, Any]) -> Any:
        return function(host.full(values), s=s, axes=places, norm=norm)

    result: Array = host.run(transform, x)
    return result
