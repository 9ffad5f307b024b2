"""Fourier transforms along several axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from portarray.clarray.engine import host
from portarray.clarray.fft.transforms import Norm, along_several, checked
from portarray.clarray.strided import Array


@host.served
def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Return discrete Fourier transforms along several axes."""
    return along_several(np.fft.fftn, checked(x, "fftn", norm), s, axes, norm)


@host.served
def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Return inverse discrete Fourier transforms along several axes."""
    return along_several(np.fft.ifftn, checked(x, "ifftn", norm), s, axes, norm)


@host.served
def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Return the Fourier transforms of real numbers along several axes, half of the last one."""
    return along_several(np.fft.rfftn, checked(x, "rfftn", norm, real=True), s, axes, norm)


@host.served
def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Return the real numbers whose frequencies, half of the last axis, are given."""
    return along_several(np.fft.irfftn, checked(x, "irfftn", norm), s, axes, norm)
