"""Discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from portarray._namespace import pa
from portarray._numpy_functions.table import category

serves = category("Fourier transforms", "fft.")


def _along_one(function: Callable[..., Any]) -> Callable[..., Any]:
    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        return function(a, n=n, axis=axis, norm=norm or "backward")

    return transform


def _along_several(function: Callable[..., Any], default: Any) -> Callable[..., Any]:
    def transform(a: Any, s: Any = None, axes: Any = default, norm: Any = None) -> Any:
        return function(a, s=s, axes=axes, norm=norm or "backward")

    return transform


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    serves(_name, order="a n axis norm out")(_along_one(getattr(pa.fft, _name)))
for _name in ("fft", "ifft", "rfft", "irfft"):
    _function = getattr(pa.fft, f"{_name}n")
    serves(f"{_name}n", order="a s axes norm out")(_along_several(_function, None))
    serves(f"{_name}2", order="a s axes norm out")(_along_several(_function, (-2, -1)))


# Functions of one expression.
serves("fftshift")(lambda x, axes=None: pa.fft.fftshift(x, axes=axes))
serves("ifftshift")(lambda x, axes=None: pa.fft.ifftshift(x, axes=axes))
